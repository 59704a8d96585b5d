"""Tables of code keyed by operator. They are registered so that a test can check every key.

The facts about an operator are on its record (`engine/operators/op.py`). A table is for code that
belongs to another package, for example the kernels that a static plan calls for single operators.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection

Table = TypeVar("Table", bound="Collection[str]")

record_tables: dict[str, Collection[str]] = {}  # by qualified name
function_tables: dict[str, Collection[str]] = {}


def record_table(place: str, table: Table) -> Table:
    """Register a table, whose keys are names of records, under its qualified name `place`, and
    return the table.
    """
    record_tables[place] = table
    return table


def function_table(place: str, table: Table) -> Table:
    """Register a table, whose keys are names of public functions or methods, and return the
    table.
    """
    function_tables[place] = table
    return table
