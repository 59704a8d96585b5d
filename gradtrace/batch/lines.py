"""Where the rows of a file of text begin, in bytes, so that several processes can each read a range of it.

The file is gone through once, without parsing cells: a row of CSV ends at the end of a line that leaves no quote open.
Where a quote stands inside an unquoted cell that is not so; whoever reads a range checks that it holds as many rows as
it is to, so such a file is refused and not misread.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

from gradtrace.batch.columns import Chunk
from gradtrace.batch.formats import text_reader
from gradtrace.errors import UsageError


class Ranges(NamedTuple):
    """How many rows there are, and where each part begins; `offsets` ends with the end of the file."""

    rows: int
    offsets: tuple[int, ...]


def ranges(name: str, part_rows: int, table: bool) -> Ranges:
    """The ranges of `part_rows` rows; `table`: of CSV or TSV, whose first row names the columns (else JSON Lines)."""
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
    """The offset of each row; blank lines are none."""
    offset = start = 0
    within = False
    for line in stream:
        if not within:
            start = offset
        offset += len(line)
        if quoted and line.count(b'"') % 2:
            within = not within
        if quoted and line.count(b"\r") > line.endswith(b"\r\n"):
            raise UsageError(f"{name}: lines end in carriage returns alone", "end them in newlines to share them out")
        if not within and (line.strip(b"\r\n") if quoted else line.strip()):
            yield start
    if within:
        yield start


class Range(io.RawIOBase):
    """The bytes of a file from `start` to `end`, as a stream."""

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
    """A reader of a range of a CSV, TSV or JSON Lines file whose columns are `names`."""
    stream: Any = io.BufferedReader(Range(name, start, end))
    return text_reader(stream, name, kind, names)


def counted(chunks: Iterator[Chunk], name: str, first: int, wanted: int) -> Iterator[Chunk]:
    """The chunks of a range, which is to hold `wanted` rows from row `first` on; UsageError as soon as it does not."""
    found = 0
    for chunk in chunks:
        found += chunk.size
        rest = sum(more.size for more in chunks) if found == wanted else 0
        if found + rest > wanted:
            raise miscounted(name, first, found + rest, wanted)
        yield chunk._replace(first=chunk.first + first)
    if found < wanted:
        raise miscounted(name, first, found, wanted)


def miscounted(name: str, first: int, found: int, wanted: int) -> UsageError:
    return UsageError(
        f"{name}: {found} rows are read where {wanted} were counted, from row {first + 1} on",
        "quote the cells that hold quotes, or run it without --scheduler",
    )
