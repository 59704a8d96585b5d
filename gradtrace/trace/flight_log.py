"""The file of a flight log: the numbers of the last training steps, in a ring of rows of bounded
size.

    the header twice: GTLOG 2, a line break, and a line padded with spaces to HEADER bytes, with
        the CRC-32 of a JSON object in 8 hexadecimal digits and the object: {"schema", "version",
        "rows", "columns", "start"}, of several processes also "rank" and "shares"; the first row
        begins at the byte "start"
    `rows` slots of float64, little-endian: step, the columns, and the CRC-32 of these bytes

Step s, counted from 1, is in slot (s - 1) % rows, so a file never grows beyond its first bound. A
row is written in one call; one that was cut off or damaged does not have its checksum, and is left
out by the reader. Files of version 1 have one header without a checksum, and the step again in
place of a row's. The first column is the time of the step in seconds since 1970: rows with a later
step than the last written one are of a run that was taken up again from an earlier checkpoint, and
are left out too. A number that was not noted is the NaN with the bits of NOT_NOTED, as R marks
missing values; any other NaN was computed.
"""

from __future__ import annotations

import json
import os
import zlib

from gradtrace.annotations import Any, NamedTuple, Sequence
from gradtrace.engine.data.lazy import np
from gradtrace.errors import UsageError
from gradtrace.trace import fields
from gradtrace.trace.fields import Damaged

MAGIC = b"GTLOG 2\n"
FORMER = b"GTLOG 1\n"
SCHEMA = "gradtrace/flight"
TIME = "time"
NOT_NOTED = 0x7FF8_0000_0000_07A2  # the bits of a float64
HEADER = 4096  # the header's length is a multiple of this
LONGEST_HEADER = 1 << 20
ROOM = 64  # bytes of a header besides its facts: magic, checksum, where the first row begins
SEALS = 2  # numbers of a row besides its columns: the step, and the checksum
MOST_ROWS = 100_000_000


class FlightLog(NamedTuple):
    """The rows of a flight log in the order of their steps. `numbers` and `noted` have the shape
    (rows, columns); `noted` is False for a number that was not noted.
    """

    name: str
    columns: tuple[str, ...]
    steps: Any
    numbers: Any
    noted: Any
    rows: int  # that the file has room for
    rank: int | None = None  # the process that wrote it, if there were several
    # Whether each rank holds parts of parameters: the squares of norms then add up over the ranks.
    shares: bool = False


def not_noted(*shape: int) -> Any:
    """Return an array of numbers that were not noted."""
    return np.full(shape, NOT_NOTED, np.uint64).view(np.float64)


def header_of(
    columns: Sequence[str], rows: int, rank: int | None = None, shares: bool = False
) -> bytes:
    """Return the bytes before the first row."""
    about: dict[str, Any] = {"schema": SCHEMA, "version": 2, "rows": rows, "columns": list(columns)}
    if rank is not None:
        about |= {"rank": rank, "shares": shares}
    size = -(-(len(json.dumps(about)) + ROOM) // HEADER) * HEADER
    if size > LONGEST_HEADER:
        raise ValueError(f"a flight log cannot have {len(columns):,} columns; group the modules")
    document = json.dumps({**about, "start": 2 * size}).encode()
    plain = MAGIC + b"%08x " % zlib.crc32(document) + document
    return 2 * (plain.ljust(size - 1) + b"\n")


def rows_within(columns: Sequence[str], most: int) -> int:
    """Return how many rows of these columns fit in `most` bytes after their header, at least
    one.
    """
    header = len(header_of(columns, MOST_ROWS, MOST_ROWS, False))
    return min(max(1, (most - header) // (8 * (len(columns) + SEALS))), MOST_ROWS)


def write_at(file: int, content: bytes, offset: int) -> None:
    """Write at an offset of a file, also on systems without os.pwrite."""
    os.lseek(file, offset, os.SEEK_SET)
    os.write(file, content)


class FlightWriter:
    """Append rows to a flight log, a new or an existing one. OSError if it cannot be written."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        columns: Sequence[str],
        rows: int,
        rank: int | None = None,
        shares: bool = False,
    ) -> None:
        self.file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        try:
            self.last = self.begin(os.fspath(path), columns, rows, rank, shares)
        except BaseException:
            os.close(self.file)
            raise
        self.width = len(columns) + SEALS

    def begin(
        self, path: str, columns: Sequence[str], rows: int, rank: int | None, shares: bool
    ) -> int:
        """Write the header of a new file, or check that of an old one; return the number of the
        last step in the file.
        """
        if not os.fstat(self.file).st_size:
            header = header_of(columns, rows, rank, shares)
            self.start = len(header)
            self.rows = rows
            write_at(self.file, header, 0)
            return 0
        with os.fdopen(os.dup(self.file), "rb") as stream:
            is_former = stream.read(len(FORMER)) == FORMER
            log, self.start = read_with_start(path, stream)
        if is_former:
            raise ValueError(
                f"{path} is a flight log of an earlier version; give another name, or remove it"
            )
        self.rows = log.rows
        if log.columns != tuple(columns):
            raise ValueError(
                f"{path} is the flight log of another model or optimizer; give another name, or "
                "remove it"
            )
        return int(log.steps[-1]) if len(log.steps) else 0

    def append(self, first: int, numbers: Any) -> None:
        """Write the rows of the steps `first`, `first` + 1, ..., an array of shape (rows,
        columns).
        """
        count = len(numbers)
        steps = np.arange(first, first + count, dtype=np.float64)[:, None]
        block = np.concatenate([steps, np.asarray(numbers, np.float64), steps], 1).astype("<f8")
        block[:, -1] = checksums(block)
        at = 0
        while at < count:  # once, or twice at the end of the ring
            slot = (first - 1 + at) % self.rows
            part = min(count - at, self.rows - slot)
            write_at(self.file, block[at : at + part].tobytes(), self.start + slot * self.width * 8)
            at += part
        self.last = first + count - 1

    def close(self) -> None:
        if self.file >= 0:
            os.close(self.file)
            self.file = -1


def read(name: str, stream: Any) -> FlightLog:
    """Return the rows of a flight log; UsageError if the file is damaged. The file may still be
    written to.
    """
    return read_with_start(name, stream)[0]


def read_with_start(name: str, stream: Any) -> tuple[FlightLog, int]:
    """Return the flight log, and where its first row begins."""
    try:
        return opened(name, stream)
    except (Damaged, ValueError, KeyError, RecursionError) as error:
        raise UsageError(
            f"'{name}' is damaged: {error}", "a flight log is written by gradtrace.torch.flight"
        ) from None


def opened(name: str, stream: Any) -> tuple[FlightLog, int]:
    """As `read_with_start`, but raise Damaged or another error if the file is damaged."""
    stream.seek(0)
    version, document, start = header_in(stream.read(2 * LONGEST_HEADER))
    if document.get("schema") != SCHEMA or document.get("version") != version:
        raise Damaged("its header is not a flight log's of version 1 or 2")
    columns = tuple(fields.text(title) for title in fields.listed(document.get("columns")))
    rows = fields.integer(document.get("rows"))
    if not all(title.split() for title in columns):
        raise Damaged("its header has a column without a name")
    if not 0 < rows <= MOST_ROWS or columns[:1] != (TIME,) or len(set(columns)) != len(columns):
        raise Damaged("its header has no rows, no time, or two columns of one name")
    if not 0 < start <= 2 * LONGEST_HEADER:
        raise Damaged("its rows begin nowhere")
    stream.seek(start)
    width = len(columns) + SEALS
    content = stream.read(rows * width * 8)
    table = np.frombuffer(content[: len(content) // (8 * width) * (8 * width)], "<f8").reshape(
        -1, width
    )
    seals = table[:, 0] if version == 1 else checksums(table)
    log = ordered(name, columns, table, rows, seals)
    if "rank" in document:
        log = log._replace(
            rank=fields.integer(document["rank"]), shares=fields.boolean(document.get("shares"))
        )
    return log, start


def header_in(head: bytes) -> tuple[int, dict[str, Any], int]:
    """Return the version, the header, and where the first row begins, from a file's beginning."""
    if head.startswith(FORMER):
        start = head.index(b"\n", len(FORMER)) + 1
        text = head[len(FORMER) : start].decode("utf-8", "replace")
        return 1, fields.mapped(json.loads(text)), start
    at = head.find(MAGIC)
    while at >= 0:
        end = head.find(b"\n", at + len(MAGIC)) + 1
        checksum, _, document = head[at + len(MAGIC) : end].rstrip().partition(b" ")
        if checksum == b"%08x" % zlib.crc32(document):
            about = fields.mapped(json.loads(document))
            return 2, about, fields.integer(about.get("start"))
        at = head.find(MAGIC, at + 1)
    raise Damaged("it has no header of a flight log")


def checksums(table: Any) -> Any:
    """Return the checksum of each row of little-endian numbers, of all but its last one."""
    octets = np.ascontiguousarray(table).view(np.uint8)
    return np.array([zlib.crc32(row[:-8]) for row in octets], np.float64)


def ordered(name: str, columns: tuple[str, ...], table: Any, rows: int, seals: Any) -> FlightLog:
    """Return the whole rows of a ring, whose last numbers are `seals`, in the order of their
    steps.
    """
    slots = np.arange(len(table), dtype=np.float64)
    steps = table[:, 0]
    with np.errstate(invalid="ignore"):
        whole = (
            (table[:, -1] == seals)
            & (steps >= 1)
            & (steps < 2.0**53)
            & ((steps - 1) % rows == slots)
        )
    table = table[whole]
    if len(table):
        table = table[table[:, 0] <= table[np.argmax(table[:, 1]), 0]]
    table = table[np.argsort(table[:, 0])]
    numbers = np.ascontiguousarray(table[:, 1:-1])
    return FlightLog(
        name, columns, table[:, 0].astype(np.int64), numbers, numbers.view("<u8") != NOT_NOTED, rows
    )
