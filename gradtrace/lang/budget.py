"""The meter, which counts a program's resource use at run time and compares it with its budget."""

from __future__ import annotations

import time

from gradtrace.errors import BudgetError, GradtraceError
from gradtrace.limits import DEEPEST, Budget
from gradtrace.program.budget import exceeded, is_out_of_memory, memory_limit, out_of_memory, process_end

__all__ = ["Meter", "exceeded", "is_out_of_memory", "memory_limit", "out_of_memory", "process_end"]

LOOK = 4096  # steps between two clock readings
MANY = 1 << 20  # steps, items or characters from which one step of Python's takes long enough to be foreseen
# Seconds that Python takes at most: for what is counted as a step, for an item (mostly the wait for the memory that it
# lies in), for a character.
LATE = 0.1  # seconds after the deadline at which a step may end
A_STEP, AN_ITEM, A_CHARACTER = 1e-7, 2.5e-8, 2e-9


class Meter:
    """A counter of a program's resource use. Programs cannot catch its errors; after the first, every check raises it.

    Compiled code decrements `left` and requests more steps when they are used up:

        meter.left -= 1
        if meter.left < 0:
            meter.grant()
    """

    __slots__ = ("budget", "deadline", "deepest", "depth", "flops", "kept", "left", "made", "output", "over", "rest")

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.left = 0
        self.rest = budget.steps
        self.depth = 0
        self.deepest = min(budget.call_depth, DEEPEST)
        self.output = 0
        self.flops = 0
        self.deadline = min(time.monotonic() + budget.seconds, process_end.at)
        self.over: tuple[str, str] | None = None  # the limit that was reached, and the message
        self.kept: GradtraceError | None = None
        self.made: set[str] = set()  # real paths of the files and folders that the program made

    def grant(self) -> None:
        """Add steps to `left` and check the clock; raise BudgetError if no steps or no time remain."""
        self.raise_kept()
        if self.left < -MANY:
            self.foresee(-self.left * A_STEP)
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

    def keep(self, error: BaseException) -> None:
        """Store an error that Python would ignore, raised while an object is deallocated; the next check raises it."""
        if isinstance(error, GradtraceError) and self.kept is None:
            self.kept = error
            self.left = 0

    def raise_kept(self) -> None:
        """Raise the stored error."""
        if self.kept is not None:
            self.left = 0
            raise self.kept

    def deadline_error(self) -> BudgetError:
        """Record that the time limit was reached and return the error to raise."""
        self.over = self.over or ("seconds", f"the program ran longer than {self.budget.seconds:g} s")
        return exceeded(*self.over)

    def count_steps(self, steps: int) -> None:
        """Count several steps at once."""
        self.left -= steps
        if self.left < 0:
            self.grant()

    def foresee(self, seconds: float) -> None:
        """Raise the error of the time limit now, if one step that cannot be interrupted would reach it."""
        if self.over is None and time.monotonic() + seconds > self.deadline + LATE:
            raise self.deadline_error()

    def count_items(self, number: int) -> None:
        """Count items that Python copies or compares in one step, 16 of them as one."""
        if number > 64:
            self.count_steps(number >> 4)
            if number > MANY:
                self.foresee(number * AN_ITEM)

    def count_text(self, length: int) -> None:
        """Count characters that Python copies or compares in one step, 512 of them as one."""
        if length > 4096:
            self.count_steps(length >> 9)
            if length > MANY:
                self.foresee(length * A_CHARACTER)

    def reserve(self, size: int) -> None:
        """Check the size of a value, in bytes, before it is allocated."""
        if size > self.budget.memory_bytes:
            raise exceeded("memory_bytes", f"a value of {size} bytes is larger than {self.budget.memory_bytes}")

    def reserve_integer(self, bits: int) -> None:
        """Check and count an integer of `bits` bits before it is computed; that takes more than linear time."""
        if bits > 8192:
            self.reserve(bits // 8)
            self.count_numbers((bits / 1024) ** 1.6)

    def count_numbers(self, steps: float) -> None:
        """Count arithmetic on huge integers, of which a step takes three times as long as others."""
        self.count_steps(int(min(steps, 1e15)))
        if steps > MANY:
            self.foresee(3 * steps * A_STEP)

    def count_product(self, bits: int, other: int) -> None:
        """Check and count a product of integers of so many bits: Python multiplies the long one in pieces."""
        self.reserve((bits + other) // 8)
        self.count_numbers((bits + other) / 1024 * (2 * min(bits, other) / 1024 + 1) ** 0.6)

    def count_division(self, bits: int, other: int) -> None:
        """Count a division of integers of so many bits: each digit of the quotient takes all of the divisor."""
        if bits > 8192 and other > 60:
            self.count_numbers(max(bits - other, 60) / 900 * other / 200)

    def count_flops(self, flops: int) -> None:
        """Count the operations of a matrix product, convolution or decomposition before it starts."""
        self.flops += flops
        if self.flops > self.budget.flops:
            raise exceeded("flops", f"the program's tensors need more than {self.budget.flops} operations")

    def count_output(self, size: int) -> None:
        """Count `size` bytes before they are printed or written to a file."""
        self.output += size
        if self.output > self.budget.output_bytes:
            raise exceeded("output_bytes", f"the program wrote more than {self.budget.output_bytes} bytes")
