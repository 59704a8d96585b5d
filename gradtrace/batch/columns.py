"""Columns of a chunk of a table, and conversion of cells to numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

from gradtrace.engine.data.lazy import np

SHOWN = 40  # characters of a cell shown in a message


class Chunk(NamedTuple):
    """A chunk of consecutive rows; `first` is the number of its first row, from 0.

    A column is an ndarray (first axis: rows), or a list of cells as they were read (text, numbers,
    lists, None). `faults` are invalid rows.
    """

    first: int
    size: int
    columns: dict[str, Any]
    faults: tuple[Bad, ...] = ()


class TableReader:
    """A reader of a table's rows. `names` are its columns; `rows` is None if their number is
    unknown.
    """

    name: str
    names: list[str]
    rows: Any = None

    def line(self, row: int) -> str:
        """Return a description of a row's position, for messages."""
        return f"{self.name}: row {row + 1}"


class TableWriter:
    """A writer of a table to a stream, chunk by chunk; in the `missing` rows the `computed` columns
    are empty.
    """

    as_read = False  # whether columns that were read as text are written unchanged

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.file: Any = None  # made for the first chunk, which determines the columns

    def close(self) -> None:
        if self.file is not None:
            self.file.close()


class Bad(NamedTuple):
    """A cell that does not hold a number, or a row that cannot be read (then `column` is "")."""

    row: int  # within the chunk
    column: str
    problem: str


def numbers(
    column: Any, name: str, shape: tuple[int, ...] | None, dtype: Any
) -> tuple[Any, list[Bad]]:
    """Convert a column to an array of shape (rows, *shape); return it and the invalid cells, for
    which it has NaN.

    A `shape` of None is inferred from the first readable cell. A cell that contains NaN is valid.
    """
    if hasattr(column, "dtype") and column.dtype.kind in "biuf":
        if shape is None or column.shape[1:] == shape:
            return (column if column.dtype == dtype else column.astype(dtype)), []
        column = list(column)
    try:
        array = (
            np.array(list(map(float, column)), dtype)
            if shape in (None, ())
            else np.array(column, dtype)
        )
        if shape is None or array.shape[1:] == shape:
            return array, []
    except (ValueError, TypeError):
        pass
    return one_by_one(column, name, shape, dtype)


def one_by_one(
    column: Any, name: str, shape: tuple[int, ...] | None, dtype: Any
) -> tuple[Any, list[Bad]]:
    """Do what `numbers` does, cell by cell: slower, for a column with an invalid cell."""
    cells = [number(cell) for cell in column]
    if shape is None:
        shape = next((c.shape for c in cells if c is not None), ())
    array = np.full((len(cells), *shape), np.nan, dtype)
    bad = []
    for row, cell in enumerate(cells):
        if cell is not None and cell.shape == shape:
            array[row] = cell
        else:
            bad.append(Bad(row, name, fault(column[row], cell, shape)))
    return array, bad


def number(cell: Any) -> Any:
    """Convert a cell to an array of floats; None if it does not hold a number."""
    try:
        if isinstance(cell, (list, tuple)):
            return np.array(cell, np.float64)
        if isinstance(cell, bool):
            return None
        array = np.asarray(cell if hasattr(cell, "dtype") else float(cell))
        return array if array.dtype.kind in "biuf" else None  # not records, text, dates
    except (ValueError, TypeError):
        return None


def fault(cell: Any, array: Any, shape: tuple[int, ...]) -> str:
    if cell is None or (isinstance(cell, str) and not cell):
        return "is missing"
    if array is not None:
        return f"has the shape {array.shape}, not {shape}"
    text = str(cell)
    return f"'{text if len(text) <= SHOWN else text[:SHOWN] + '…'}' is not a number"


def python_values(column: Any, missing: set[int]) -> list[Any]:
    """Return a column as Python values, with None for missing rows."""
    cells = column.tolist() if hasattr(column, "tolist") else list(column)
    for row in missing:
        cells[row] = None
    return cells


def take_rows(column: Any, rows: Any) -> Any:
    """Return a column's rows at these positions."""
    return column[rows] if hasattr(column, "dtype") else [column[row] for row in rows]


def twice_in(names: list[str]) -> str | None:
    """Return the first name that stands twice in a list."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def widths(column: Any) -> int:
    """Return the number of elements in each row of a column of vectors; 0 for a column of
    scalars.
    """
    return int(np.prod(column.shape[1:])) if hasattr(column, "ndim") and column.ndim > 1 else 0
