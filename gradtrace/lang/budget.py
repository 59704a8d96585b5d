"""What a program may use, and the meter that counts it while the program runs.

LIMITS is the one list of limits: the fields of Budget, the messages, and the options of the command line come from it.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from gradtrace.errors import BudgetError


class Limit(NamedTuple):
    """One limit: its field in Budget, the option and the environment variable that change it."""

    field: str
    flag: str
    variable: str
    default: int | float
    help: str


LIMITS = (
    Limit("source_bytes", "--max-source", "GRADTRACE_MAX_SOURCE", 1_000_000, "Bytes of source."),
    Limit("steps", "--max-steps", "GRADTRACE_MAX_STEPS", 1_000_000_000, "Passes of loops, calls, items consumed."),
    Limit("call_depth", "--max-depth", "GRADTRACE_MAX_DEPTH", 1000, "Calls of the program's functions in each other."),
    Limit("memory_bytes", "--max-memory", "GRADTRACE_MAX_MEMORY", 4_000_000_000, "Bytes of one text, list or number."),
    Limit("output_bytes", "--max-output", "GRADTRACE_MAX_OUTPUT", 100_000_000, "Bytes that the program prints."),
    Limit("seconds", "--max-seconds", "GRADTRACE_MAX_SECONDS", 3600.0, "Seconds of running."),
)
BY_FIELD = {limit.field: limit for limit in LIMITS}
LOOK = 4096  # steps between two looks at the clock


class Budget(NamedTuple):
    """The limits of one run."""

    source_bytes: int = 1_000_000
    steps: int = 1_000_000_000
    call_depth: int = 1000
    memory_bytes: int = 4_000_000_000
    output_bytes: int = 100_000_000
    seconds: float = 3600.0


def advice(field: str) -> str:
    """What to do about a limit: its option and its variable."""
    limit = BY_FIELD[field]
    return f"raise the limit with {limit.flag} or {limit.variable}"


class Meter:
    """Counts what a program uses. What it raises no program can catch, and once it has raised it raises again.

    `left` is what the compiled program counts down, a look at the clock being due when it is used up:

        meter.left -= 1
        if meter.left < 0:
            meter.more()
    """

    __slots__ = ("budget", "deadline", "depth", "left", "output", "over", "rest")

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.left = 0
        self.rest = budget.steps
        self.depth = 0
        self.output = 0
        self.deadline = time.monotonic() + budget.seconds
        self.over: tuple[str, str] | None = None  # the limit that was reached, and what to say

    def more(self) -> None:
        """Grants the next steps, which `left` is short of; BudgetError if there are none, or no time."""
        granted = min(max(LOOK, -self.left), self.rest)
        if self.over is None and granted < -self.left:
            self.over = ("steps", f"the program took more than {self.budget.steps} steps")
        elif self.over is None and time.monotonic() > self.deadline:
            self.over = ("seconds", f"the program ran longer than {self.budget.seconds:g} s")
        if self.over is not None:
            self.left = self.rest = 0
            raise exceeded(*self.over)
        self.rest -= granted
        self.left += granted

    def take(self, steps: int) -> None:
        """Counts several steps at once."""
        self.left -= steps
        if self.left < 0:
            self.more()

    def reserve(self, size: int) -> None:
        """Called before a value of `size` bytes is made."""
        if size > self.budget.memory_bytes:
            raise exceeded("memory_bytes", f"a value of {size} bytes is larger than {self.budget.memory_bytes}")

    def integer(self, bits: int) -> None:
        """Called before a product of `bits` bits is computed, which takes more than linear time."""
        if bits > 8192:
            self.reserve(bits // 8)
            self.take(int((bits / 1024) ** 1.6))

    def wrote(self, size: int) -> None:
        """Called before `size` bytes are printed."""
        self.output += size
        if self.output > self.budget.output_bytes:
            raise exceeded("output_bytes", f"the program printed more than {self.budget.output_bytes} bytes")


def exceeded(field: str, message: str) -> BudgetError:
    return BudgetError(message, advice(field))
