"""What a program may use, counted while it runs."""

from __future__ import annotations

import time
from typing import NamedTuple

from gradtrace.errors import BudgetError


class Budget(NamedTuple):
    """The limits of one run; each has a flag of the same name on the command line."""

    source_bytes: int = 1_000_000
    steps: int = 100_000_000
    call_depth: int = 200
    output_bytes: int = 100_000_000
    seconds: float = 3600.0


class Meter:
    """Counts steps, call depth and output against a budget. Programs cannot catch what it raises."""

    __slots__ = ("budget", "deadline", "depth", "left", "output")

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.left = budget.steps
        self.depth = 0
        self.output = 0
        self.deadline = time.monotonic() + budget.seconds

    def step(self) -> None:
        """One pass of a loop, one call, one item of a comprehension."""
        self.left -= 1
        if self.left < 0:
            raise BudgetError(f"the program took more than {self.budget.steps} steps", "raise it with --max-steps")
        if not self.left & 4095 and time.monotonic() > self.deadline:
            raise BudgetError(f"the program ran longer than {self.budget.seconds:g} s", "raise it with --max-seconds")

    def wrote(self, size: int) -> None:
        self.output += size
        if self.output > self.budget.output_bytes:
            raise BudgetError(
                f"the program printed more than {self.budget.output_bytes} bytes", "raise it with --max-output"
            )
