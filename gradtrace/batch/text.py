"""CSV, TSV and JSON Lines, read and written as streams.

A table's first line names its columns. Numbers are written with Python's repr, so they round-trip
exactly; a column of vectors becomes one column for each element, `dy/dx[0]`, `dy/dx[1]`. JSON Lines
has no NaN or infinities, which are written as the strings "NaN", "Infinity" and "-Infinity".
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from itertools import chain, islice
from typing import IO, Any

from gradtrace.batch.columns import (
    Bad,
    Chunk,
    TableReader,
    TableWriter,
    python_values,
    twice_in,
    widths,
)
from gradtrace.errors import UsageError


class SeparatedReader(TableReader):
    """A reader of a CSV or TSV table."""

    def __init__(
        self, stream: Iterator[str], name: str, separator: str, names: list[str] | None = None
    ) -> None:
        self.name = name
        self.reader = csv.reader(stream, delimiter=separator)
        self.names = self.head() if names is None else names

    def head(self) -> list[str]:
        """Read the column names from the first row; raise UsageError if there are none, or
        duplicates.
        """
        try:
            names = [cell.strip() for cell in next((row for row in self.reader if row), [])]
        except csv.Error as error:
            raise UsageError(f"{self.name}:1: {error}") from None
        if not names:
            raise UsageError(f"{self.name} is empty", "its first line must name the columns")
        twice = twice_in(names)
        if twice is not None:
            raise UsageError(
                f"{self.name}:1: two columns are called '{twice}'", "give them different names"
            )
        return names

    def chunks(self, size: int, skip: int = 0) -> Iterator[Chunk]:
        """Yield the rows from `skip` on, at most `size` at a time."""
        rows = (row for row in self.reader if row)  # skips blank lines
        try:
            first = sum(1 for _ in islice(rows, skip))
            while block := list(islice(rows, size)):
                yield self.chunk(first, block)
                first += len(block)
        except csv.Error as error:
            raise UsageError(f"{self.name}:{self.reader.line_num}: {error}") from None

    def chunk(self, first: int, block: list[list[str]]) -> Chunk:
        """Return the rows as columns. Missing cells of a short row are empty; a row that is too
        long is a fault.
        """
        n = len(self.names)
        faults = []
        for i, row in enumerate(block):
            if len(row) != n:
                block[i] = (row + [""] * n)[:n]
                if len(row) > n:
                    message = (
                        f"has {len(row)} cells, the table {n} columns (quote a cell that "
                        "holds the separator)"
                    )
                    faults.append(Bad(i, "", message))
        columns = dict(zip(self.names, zip(*block, strict=True), strict=True))
        return Chunk(first, len(block), columns, tuple(faults))


LINE = 'each line is to look like {"x": 2, "w": 1}'


def parsed(line: str) -> dict[str, Any] | str:
    """Return the JSON object on a line as a dict, or a description of the error as text."""
    try:
        value = json.loads(line)
    except ValueError as error:
        return f"is not JSON: {error}"
    except RecursionError:
        return "is nested too deeply"
    return value if isinstance(value, dict) else "is not an object"


class LinesReader(TableReader):
    """A reader of JSON Lines: an object on each line; the columns are the keys of the first
    object.
    """

    def __init__(self, stream: Iterator[str], name: str, names: list[str] | None = None) -> None:
        self.name = name
        self.lines = (line for line in stream if not line.isspace())
        self.first: list[dict[str, Any] | str] = []
        self.names = self.keys() if names is None else names

    def keys(self) -> list[str]:
        """Return the keys of the object on the first line, and store this object as the first
        row.
        """
        first = next(self.lines, None)
        if first is None:
            raise UsageError(f"{self.name} is empty", "each line must be an object of columns")
        result = parsed(first)
        if isinstance(result, str):
            raise UsageError(f"{self.line(0)} {result}", LINE)
        self.first.append(result)
        return list(result)

    def chunks(self, size: int, skip: int = 0) -> Iterator[Chunk]:
        """Yield the rows from `skip` on, at most `size` at a time."""
        rows = chain(self.first, map(parsed, self.lines))
        row = sum(1 for _ in islice(rows, skip))
        while block := list(islice(rows, size)):
            faults = tuple(Bad(i, "", o) for i, o in enumerate(block) if isinstance(o, str))
            objects = [{} if isinstance(o, str) else o for o in block] if faults else block
            columns = {name: [o.get(name) for o in objects] for name in self.names}  # type: ignore[union-attr]
            yield Chunk(row, len(block), columns, faults)
            row += len(block)


class SeparatedWriter(TableWriter):
    """A writer of a CSV or TSV table; the first chunk determines the columns."""

    as_read = True  # columns that were read as text are written unchanged

    def __init__(self, stream: IO[str], separator: str) -> None:
        super().__init__(stream)
        self.writer = csv.writer(stream, delimiter=separator, lineterminator="\n")
        self.begun = False

    def write(self, columns: dict[str, Any], missing: set[int], computed: set[str]) -> None:
        """Write rows; in the `missing` rows the `computed` columns are empty."""
        names: list[str] = []
        cells: list[list[Any]] = []
        for name, column in columns.items():
            gone = missing if name in computed else set()
            n = widths(column)
            names += [f"{name}[{i}]" for i in range(n)] if n else [name]
            parts = column.reshape(len(column), n).T if n else [column]
            cells += [python_values(part, gone) for part in parts]
        if not self.begun:
            self.writer.writerow(names)
            self.begun = True
        self.writer.writerows(zip(*cells, strict=True))

    def close(self) -> None:
        self.stream.flush()


class LinesWriter(TableWriter):
    """A writer of JSON Lines."""

    def write(self, columns: dict[str, Any], missing: set[int], computed: set[str]) -> None:
        names = list(columns)
        cells = [
            strict(python_values(c, missing if n in computed else set()))
            for n, c in columns.items()
        ]
        for row in zip(*cells, strict=True):
            self.stream.write(
                json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n"
            )

    def close(self) -> None:
        self.stream.flush()


def strict(values: list[Any]) -> list[Any]:
    """Return values in a form that JSON supports: NaN and infinities as strings."""
    from gradtrace.trace.fields import number

    return [strict(value) if type(value) is list else number(value) for value in values]
