"""The clock of a run, and the errors for what exceeds its limits."""

from __future__ import annotations

import io
import time

from gradtrace.errors import BudgetError
from gradtrace.limits import Budget, advice


class process_end:
    """The time until which this process may run; a confined one is ended soon after."""

    at = float("inf")


class memory_limit:
    """The limit on a run's memory: a field of Budget, or "" for the machine's memory."""

    field = "process_bytes"


class Clock:
    """The time limit of a run, of which some seconds may have been spent before."""

    def __init__(self, budget: Budget, spent: float = 0.0) -> None:
        self.budget = budget
        self.deadline = min(time.monotonic() + budget.seconds, process_end.at) - min(
            spent, budget.seconds
        )

    def deadline_error(self) -> BudgetError:
        return exceeded("seconds", f"the program ran longer than {self.budget.seconds:g} s")


def exceeded(field: str, message: str) -> BudgetError:
    return BudgetError(message, advice(field))


class Output(io.StringIO):
    """What a program prints, where it is kept instead of shown: at most so many letters as
    --max-output has bytes.
    """

    def __init__(self, budget: Budget) -> None:
        super().__init__()
        self.most = budget.output_bytes

    def write(self, text: str, /) -> int:
        if self.tell() + len(text) > self.most:
            raise exceeded("output_bytes", f"the program wrote more than {self.most} bytes")
        return super().write(text)


def out_of_memory(field: str | None = None) -> BudgetError:
    """Return the error for a lack of memory, of the limit in force or of the named one."""
    field = memory_limit.field if field is None else field
    if not field:
        return BudgetError("the program needs more memory than the machine has", "make it smaller")
    whose = "its values may have" if field == "memory_bytes" else "the process can have"
    return exceeded(field, f"the program needs more memory than {whose}")


# What the dynamic linker says when it cannot load an extension module for lack of memory.
UNLOADED = ("failed to map segment", "cannot allocate memory", "cannot map zero-fill pages")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory ran out; a MemoryError raised by the program itself has a
    message.

    The import of an extension module can also fail with ImportError for lack of memory.
    """
    if isinstance(error, MemoryError):
        return type(error) is not MemoryError or not error.args
    return isinstance(error, ImportError) and any(text in str(error).lower() for text in UNLOADED)
