"""The values of a record's file: their elements in chunks of a few megabytes, one npy array each,
and a table of rows.

A row is (dtype, shape, chunk, place, order). `dtype` is an index into DTYPES, `shape` an index into
the file's table of tuples, `chunk` the chunk's number or SUMMARY, `place` the index of the first
element in the chunk (or of the summary in its table), `order` 1 for column-major order. An array
that several values share is stored once. Arrays begin at multiples of 16 bytes, as numpy's own do.
A single number is an element of a chunk of float64, int64 or bool.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable
from gradtrace.engine.data.lazy import np
from gradtrace.trace.array_sketch import BUCKETS
from gradtrace.trace.array_summary import BINS, Summary
from gradtrace.trace.fields import Damaged, integer, listed, number, real, text, whole
from gradtrace.trace.values import Value

DTYPES = (
    *(
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "bool",
    ),
    # of these only summaries are kept
    *(
        "complex32",
        "complex64",
        "complex128",
        "uint16",
        "uint32",
        "uint64",
        "float8_e4m3fn",
        "float8_e5m2",
        "other",
    ),
)
# the dtype of the array in the file, where numpy has no such dtype
STORED = {"bfloat16": "float32"}
SUMMARY = -1
ALIGNED = 16  # bytes
CHUNK = 1 << 22  # bytes


def type_of_number(dtype: str) -> str:
    """Return the dtype of the chunk that holds a single number."""
    if "float" in dtype:
        return "float64"
    return "bool" if dtype == "bool" else "int64"


class Chunk:
    """A chunk of elements that are not written yet."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.parts: list[Any] = []  # arrays; of single numbers the numbers
        self.count = 0  # elements


class ValueWriter:
    """A table that gives values numbers, and writes each full chunk with `put(number, parts, count,
    dtype)`.
    """

    def __init__(self, put: Callable[[int, list[Any], int, str], None], shapes: Any) -> None:
        self.put = put
        self.shapes = shapes  # gives the number of a tuple
        self.rows: list[int] = []
        self.summaries: list[Any] = []
        self.chunks = 0
        self._open: dict[tuple[str, bool], Chunk] = {}
        self._places: dict[Any, tuple[int, int]] = {}  # by memory and size of an array

    def add(self, value: Value) -> int:
        row = len(self.rows) // 5
        chunk, place, order = self.place(value)
        dtype = value.dtype if value.dtype in DTYPES else "other"
        self.rows += (DTYPES.index(dtype), self.shapes[value.shape], chunk, place, order)
        return row

    def place(self, value: Value) -> tuple[int, int, int]:
        if value.kept is not None:
            self.summaries.append([*written(value.kept), self.sketch(value.kept.sketch)])
            return SUMMARY, len(self.summaries) - 1, 0
        if not value.shape:
            return *self.append(type_of_number(value.dtype), True, value.elements, 1), 0
        array = value.elements
        order = int(not array.flags.c_contiguous)
        where = array.__array_interface__["data"][0], array.nbytes, value.dtype
        position = self._places.get(where)
        if position is None:
            position = self._places[where] = self.append(
                value.dtype, False, array.reshape(-1, order="A"), array.size
            )
        return *position, order

    def sketch(self, sketch: tuple[float, ...] | None) -> tuple[int, int] | None:
        """Return the chunk and the place of a sketch, which is stored as an array."""
        return (
            None if sketch is None else self.append("float64", False, np.array(sketch), len(sketch))
        )

    def append(self, dtype: str, single: bool, part: Any, count: int) -> tuple[int, int]:
        """Append elements; return the chunk's number, and the position in it."""
        chunk = self._open.get((dtype, single))
        if chunk is None:
            chunk = self._open[dtype, single] = Chunk(self.chunks)
            self.chunks += 1
        position = chunk.number, chunk.count
        chunk.parts.append(part)
        chunk.count += count
        size = 8 if single else part.itemsize
        if not single and (rest := chunk.count * size % ALIGNED):
            chunk.parts.append(np.zeros((ALIGNED - rest) // size, STORED.get(dtype, dtype)))
            chunk.count += chunk.parts[-1].size
        if chunk.count * size >= CHUNK:
            self.flush(dtype, single)
        return position

    def flush(self, dtype: str, single: bool) -> None:
        chunk = self._open.pop((dtype, single))
        parts = [np.array(chunk.parts, dtype)] if single else chunk.parts
        self.put(chunk.number, parts, chunk.count, STORED.get(dtype, dtype))

    def end(self) -> Any:
        """Write the remaining chunks, and return the table's rows."""
        for dtype, single in list(self._open):
            self.flush(dtype, single)
        return np.array(self.rows, np.int64).reshape(-1, 5)


def written(s: Summary) -> list[Any]:
    ends = [number(x) for x in (s.minimum, s.maximum, s.mean, s.absolute, s.norm)]
    return [*ends, s.zeros, s.nan, s.inf, list(s.histogram), s.device, s.checksum]


class ValueReader(dict[int, Any]):
    """Values by their numbers (None by -1), each made at its first use. `load(number)` returns a
    chunk's array.
    """

    def __init__(
        self, rows: Any, shapes: list[Any], summaries: list[Any], load: Callable[[int], Any]
    ) -> None:
        super().__init__({-1: None})
        if rows.ndim != 2 or rows.shape[1] != 5:
            raise Damaged("the table of values is damaged")
        self.rows: list[list[int]] = rows.tolist()
        self.shapes = shapes[:-1]
        self.summaries = summaries
        self.load = load
        self._chunks: dict[int, Any] = {}
        self._numbers: dict[tuple[int, str], list[Any]] = {}

    def __missing__(self, index: int) -> Value:
        code, shape_number, chunk, place, order = self.rows[index]
        if (
            not 0 <= code < len(DTYPES)
            or not 0 <= shape_number < len(self.shapes)
            or place < 0
            or order not in (0, 1)
        ):
            raise Damaged("a value is damaged")
        dtype = DTYPES[code]
        shape = self.shapes[shape_number]
        if chunk == SUMMARY:
            value = self.summary(shape, dtype, place)
        elif not shape:
            value = self.single(dtype, chunk, place)
        else:
            value = self.array(shape, dtype, chunk, place, order)
        self[index] = value
        return value

    def chunk(self, number: int) -> Any:
        chunk = self._chunks.get(number)
        if chunk is None:
            chunk = self._chunks[number] = self.load(number)
        return chunk

    def single(self, dtype: str, number: int, place: int) -> Value:
        kind = type_of_number(dtype)
        numbers = self._numbers.get((number, kind))
        if numbers is None:
            if self.chunk(number).dtype != kind:
                raise Damaged("a number is not of its array's type")
            numbers = self._numbers[number, kind] = self.chunk(number).tolist()
        if place >= len(numbers):
            raise Damaged("a number is out of range")
        return Value((), dtype, numbers[place], None)

    def array(
        self, shape: tuple[int, ...], dtype: str, number: int, place: int, order: int
    ) -> Value:
        chunk = self.chunk(number)
        count = 1
        for n in shape:
            count *= n
        if chunk.dtype != STORED.get(dtype, dtype) or count > chunk.size - place:
            raise Damaged("a value is not of its array's size and type")
        elements = chunk[place : place + count].reshape(shape, order="F" if order else "C")
        return Value(shape, dtype, elements, None)

    def summary(self, shape: tuple[int, ...], dtype: str, place: int) -> Value:
        parts = listed(self.summaries[place]) if place < len(self.summaries) else []
        if len(parts) == 10:  # of a file without checksums and sketches
            parts = [*parts, None, None]
        if len(parts) != 12 or len(listed(parts[8])) not in (0, 1, BINS):
            raise Damaged("a summary is damaged")
        low, high, mean = (None if x is None else real(x) for x in parts[:3])
        absolute = real(parts[3])
        norm = real(parts[4])
        zeros = integer(parts[5])
        nan = integer(parts[6])
        inf = integer(parts[7])
        bins = tuple(map(integer, parts[8]))
        last = bins, None if parts[10] is None else whole(parts[10]), self.sketch(parts[11])
        kept = Summary(
            shape, dtype, text(parts[9]), low, high, mean, absolute, norm, zeros, nan, inf, *last
        )
        return Value(shape, dtype, None, kept)

    def sketch(self, where: Any) -> tuple[float, ...] | None:
        if where is None:
            return None
        chunk, place = map(integer, listed(where))
        sums: list[float] = self.array((BUCKETS,), "float64", chunk, place, 0).data.tolist()
        return tuple(sums)
