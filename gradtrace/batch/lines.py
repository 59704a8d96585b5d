"""Byte offsets of the rows of a text file, so that several processes can each read a range of it.

The file is scanned once, without parsing cells: a CSV row ends at a line end outside quotes. This
is wrong if a quote occurs inside an unquoted cell, so every reader of a range checks its number of
rows: such a file raises an error and is not misread.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

from gradtrace.batch.columns import Chunk
from gradtrace.batch.formats import text_reader
from gradtrace.errors import UsageError


class Ranges(NamedTuple):
    """The number of rows, and the offset of each part; `offsets` ends with the end of the file."""

    rows: int
    offsets: tuple[int, ...]


def ranges(name: str, part_rows: int, table: bool) -> Ranges:
    """Return the ranges of parts of `part_rows` rows. `table` says that the file is CSV or TSV with
    a header, not JSON Lines.
    """
    offsets: list[int] = []
    rows = -1 if table else 0
    with open(name, "rb") as stream:
        for start in starts(stream, name, table):
            if rows >= 0 and rows % part_rows == 0:
                offsets.append(start)
            rows += 1
        offsets.append(stream.tell())
    return Ranges(max(rows, 0), tuple(offsets))


def starts(stream: IO[bytes], name: str, quoted: bool) -> Iterator[int]:
    """Yield the byte offset of each row, leaving out blank lines. In a `quoted` file a line end in
    quotes does not end a row. UsageError if lines end in carriage returns only.
    """
    offset = start = 0
    within = False
    for line in stream:
        if not within:
            start = offset
        offset += len(line)
        if quoted and line.count(b'"') % 2:
            within = not within
        if quoted and line.count(b"\r") > line.endswith(b"\r\n"):
            raise UsageError(
                f"{name}: lines end in carriage returns only",
                "convert the line endings to newlines",
            )
        if not within and (line.strip(b"\r\n") if quoted else line.strip()):
            yield start
    if within:
        yield start


class Range(io.RawIOBase):
    """A stream of the bytes of a file from `start` to `end`."""

    def __init__(self, name: str, start: int, end: int) -> None:
        self.file = open(name, "rb", buffering=0)  # noqa: SIM115  closed with this
        self.file.seek(start)
        self.left = end - start

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")[: self.left]
        count = self.file.readinto(view) or 0
        self.left -= count
        return count

    def close(self) -> None:
        self.file.close()
        super().close()


def range_reader(name: str, kind: str, start: int, end: int, names: list[str]) -> Any:
    """Return a reader of a range of a CSV, TSV or JSON Lines file with the columns `names`."""
    stream: Any = io.BufferedReader(Range(name, start, end))
    return text_reader(stream, name, kind, names)


def counted(chunks: Iterator[Chunk], name: str, first: int, wanted: int) -> Iterator[Chunk]:
    """Yield the chunks of a range; raise UsageError unless it holds `wanted` rows from row `first`
    on.
    """
    rows_read = 0
    for chunk in chunks:
        rows_read += chunk.size
        rest = sum(more.size for more in chunks) if rows_read == wanted else 0
        if rows_read + rest > wanted:
            raise miscounted(name, first, rows_read + rest, wanted)
        yield chunk._replace(first=chunk.first + first)
    if rows_read < wanted:
        raise miscounted(name, first, rows_read, wanted)


def miscounted(name: str, first: int, count: int, wanted: int) -> UsageError:
    return UsageError(
        f"{name}: read {count} rows instead of {wanted}, from row {first + 1} on",
        "quote cells that contain quotes, or run without --scheduler",
    )
