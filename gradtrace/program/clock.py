"""The time that a run may take."""

from __future__ import annotations

import time

from gradtrace.errors import BudgetError
from gradtrace.limits import Budget, advice


class process_end:
    """The time until which this process may run; a confined one is ended soon after."""

    at = float("inf")


class Clock:
    """The limits of a run that begins now. Seconds that went by before count towards its time."""

    def __init__(self, budget: Budget, passed: float = 0.0) -> None:
        self.budget = budget
        self.deadline = min(time.monotonic() + budget.seconds - min(passed, budget.seconds), process_end.at)

    def late(self) -> BudgetError:
        """Return the error of a run that is over its time."""
        return BudgetError(f"the program ran longer than {self.budget.seconds:g} s", advice("seconds"))
