"""The errors of a program that needs more memory than it may have."""

from __future__ import annotations

from gradtrace.errors import BudgetError
from gradtrace.limits import advice


class memory_limit:
    """The limit on a run's memory: a field of Budget, or "" for the machine's memory."""

    field = "process_bytes"


def out_of_memory(field: str | None = None) -> BudgetError:
    """Return the error for a lack of memory, of the limit in force or of the named one."""
    field = memory_limit.field if field is None else field
    if not field:
        return BudgetError("the program needs more memory than the machine has", "make it smaller")
    whose = "its values may have" if field == "memory_bytes" else "the process can have"
    return BudgetError(f"the program needs more memory than {whose}", advice(field))


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory ran out; a MemoryError raised by the program itself has a message.

    An import can also fail with ImportError for lack of memory.
    """
    if isinstance(error, MemoryError):
        return type(error) is not MemoryError or not error.args
    return isinstance(error, ImportError) and "failed to map segment" in str(error)
