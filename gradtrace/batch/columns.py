"""Columns of a stretch of a table, and the cells of one as numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

from gradtrace.engine.lazy import np

SHOWN = 40  # characters of a cell in a message


class Chunk(NamedTuple):
    """Neighbouring rows: `first` is the number of the first, from 0.

    A column is an ndarray (its first axis the rows), or a list of cells as they were read (text, numbers, lists, None).
    `faults` are the rows that are no rows of the table.
    """

    first: int
    size: int
    columns: dict[str, Any]
    faults: tuple[Bad, ...] = ()


class Bad(NamedTuple):
    """A cell that holds no number, or, with no column, a row that cannot be read."""

    row: int  # within the chunk
    column: str
    what: str


def numbers(column: Any, name: str, shape: tuple[int, ...] | None, dtype: Any) -> tuple[Any, list[Bad]]:
    """A column as an array of shape (rows, *shape), and the cells that hold no such number (there the array has NaN).

    `shape` None takes the first readable cell's. A NaN that was written as one is a number.
    """
    if hasattr(column, "dtype") and column.dtype.kind in "biuf":
        if shape is None or column.shape[1:] == shape:
            return (column if column.dtype == dtype else column.astype(dtype)), []
        column = list(column)
    try:
        found = np.array(list(map(float, column)), dtype) if shape in (None, ()) else np.array(column, dtype)
        if shape is None or found.shape[1:] == shape:
            return found, []
    except (ValueError, TypeError):
        pass
    return one_by_one(column, name, shape, dtype)


def one_by_one(column: Any, name: str, shape: tuple[int, ...] | None, dtype: Any) -> tuple[Any, list[Bad]]:
    """The same where something is wrong: cell by cell."""
    cells = [number(cell) for cell in column]
    if shape is None:
        shape = next((c.shape for c in cells if c is not None), ())
    found = np.full((len(cells), *shape), np.nan, dtype)
    bad = []
    for row, cell in enumerate(cells):
        if cell is not None and cell.shape == shape:
            found[row] = cell
        else:
            bad.append(Bad(row, name, fault(column[row], cell, shape)))
    return found, bad


def number(cell: Any) -> Any:
    """A cell as an array of floats; None if it holds no number."""
    try:
        if isinstance(cell, (list, tuple)):
            return np.array(cell, np.float64)
        if isinstance(cell, bool):
            return None
        found = np.asarray(cell if hasattr(cell, "dtype") else float(cell))
        return found if found.dtype.kind in "biuf" else None  # not records, texts, dates
    except (ValueError, TypeError):
        return None


def fault(cell: Any, found: Any, shape: tuple[int, ...]) -> str:
    if cell is None or (isinstance(cell, str) and not cell):
        return "is missing"
    if found is not None:
        return f"has the shape {found.shape}, not {shape}"
    text = str(cell)
    return f"'{text if len(text) <= SHOWN else text[:SHOWN] + '…'}' is not a number"


def plain(column: Any, missing: set[int]) -> list[Any]:
    """A column as Python values, None in the missing rows."""
    cells = column.tolist() if hasattr(column, "tolist") else list(column)
    for row in missing:
        cells[row] = None
    return cells


def taken(column: Any, rows: Any) -> Any:
    """A column's rows at these positions."""
    return column[rows] if hasattr(column, "dtype") else [column[row] for row in rows]


def widths(column: Any) -> int:
    """How many numbers a row of an array column holds; 0 for one number."""
    return int(np.prod(column.shape[1:])) if hasattr(column, "ndim") and column.ndim > 1 else 0
