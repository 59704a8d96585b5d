"""Tables of code keyed by operator, registered where they are made so that a test can check every key.

What is known about an operator stands on its record (`engine/op.py`). A table is for code that belongs to another
package: how vmap runs one operator on a batch, how a static plan writes it into a buffer.
"""

from __future__ import annotations

from gradtrace.annotations import Any

record_tables: dict[str, Any] = {}  # by place: a table or a set whose keys are names of records
function_tables: dict[str, Any] = {}  # by place: one whose keys are names of public functions or methods


def record_table(place: str, table: Any) -> Any:
    """Registers a table whose keys are names of records; `place` says where it stands. Returns the table."""
    record_tables[place] = table
    return table


def function_table(place: str, table: Any) -> Any:
    """Registers a table whose keys are names of public functions or methods. Returns the table."""
    function_tables[place] = table
    return table
