"""The meter that counts what a program uses, while it runs, against its budget."""

from __future__ import annotations

import time

from gradtrace.errors import BudgetError
from gradtrace.limits import DEEPEST, Budget, advice

LOOK = 4096  # steps between two looks at the clock


class Meter:
    """Counts what a program uses. What it raises no program can catch, and once it has raised it raises again.

    `left` is what the compiled program counts down, a look at the clock being due when it is used up:

        meter.left -= 1
        if meter.left < 0:
            meter.more()
    """

    __slots__ = ("budget", "deadline", "deepest", "depth", "flops", "left", "output", "over", "rest")

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.left = 0
        self.rest = budget.steps
        self.depth = 0
        self.deepest = min(budget.call_depth, DEEPEST)
        self.output = 0
        self.flops = 0
        self.deadline = time.monotonic() + budget.seconds
        self.over: tuple[str, str] | None = None  # the limit that was reached, and what to say

    def grant(self) -> None:
        """Grants the next steps, which `left` is short of; BudgetError if there are none, or no time."""
        granted = min(max(LOOK, -self.left), self.rest)
        if self.over is None and granted < -self.left:
            self.over = ("steps", f"the program took more than {self.budget.steps} steps")
        elif self.over is None and time.monotonic() > self.deadline:
            self.deadline_error()
        if self.over is not None:
            self.left = self.rest = 0
            raise exceeded(*self.over)
        self.rest -= granted
        self.left += granted

    def deadline_error(self) -> BudgetError:
        """Notes that the time is over, and gives the error to raise."""
        self.over = self.over or ("seconds", f"the program ran longer than {self.budget.seconds:g} s")
        return exceeded(*self.over)

    def count_steps(self, steps: int) -> None:
        """Counts several steps at once."""
        self.left -= steps
        if self.left < 0:
            self.grant()

    def reserve(self, size: int) -> None:
        """Called before a value of `size` bytes is made."""
        if size > self.budget.memory_bytes:
            raise exceeded("memory_bytes", f"a value of {size} bytes is larger than {self.budget.memory_bytes}")

    def reserve_integer(self, bits: int) -> None:
        """Called before a product of `bits` bits is computed, which takes more than linear time."""
        if bits > 8192:
            self.reserve(bits // 8)
            self.count_steps(int((bits / 1024) ** 1.6))

    def count_flops(self, flops: int) -> None:
        """Called before a product of matrices, a convolution, a decomposition of so many operations starts."""
        self.flops += flops
        if self.flops > self.budget.flops:
            raise exceeded("flops", f"the program's tensors take more than {self.budget.flops} operations")

    def count_output(self, size: int) -> None:
        """Called before `size` bytes are printed, or written to a file."""
        self.output += size
        if self.output > self.budget.output_bytes:
            raise exceeded("output_bytes", f"the program put out more than {self.budget.output_bytes} bytes")


def exceeded(field: str, message: str) -> BudgetError:
    return BudgetError(message, advice(field))


class _MemoryLimit:
    """Which limit holds the memory of a run: a field of Budget, or "" where it is the machine itself."""

    __slots__ = ("field",)

    def __init__(self) -> None:
        self.field = "process_bytes"


memory_limit = _MemoryLimit()


def out_of_memory() -> BudgetError:
    if not memory_limit.field:
        return BudgetError("the program needs more memory than the machine has", "make it smaller")
    whose = "its values may have" if memory_limit.field == "memory_bytes" else "the process can have"
    return exceeded(memory_limit.field, f"the program needs more memory than {whose}")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory is short in truth; a MemoryError that the program raised, with words, is its own.

    A module of numpy's or Python's that is loaded just then does not find room either, and says so in its own way.
    """
    if isinstance(error, MemoryError):
        return type(error) is not MemoryError or not error.args
    return isinstance(error, ImportError) and error.path is not None
