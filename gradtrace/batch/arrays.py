"""numpy files as tables: .npy with a structured or two-dimensional array, .npz with one array for
each column.

They are read and written in chunks: an .npy file as a memory map, a member of an .npz as a stream
from the archive. The columns of a two-dimensional array are named c0, c1, ... Arrays of Python
objects raise UsageError.
"""

from __future__ import annotations

import math
import sys
import zipfile
from collections.abc import Iterator
from typing import IO, Any

from gradtrace.batch.columns import Chunk, TableReader, TableWriter
from gradtrace.engine.data.lazy import np
from gradtrace.errors import UsageError
from gradtrace.sandbox import scratch


def reason(error: Exception) -> str:
    """Return the first line of the message of numpy's or zipfile's error for a damaged file."""
    return str(error).partition("\n")[0] or type(error).__name__


def checked_text(array: Any, label: str) -> Any:
    """Return the array; raise UsageError if it holds text with invalid code points, which numpy
    does not check.
    """
    if array.dtype.kind == "U" and array.size:
        codes = np.frombuffer(array.tobytes(), array.dtype.byteorder + "u4")
        if codes.max(initial=0) > sys.maxunicode:
            raise UsageError(f"{label} holds invalid text", "the file is damaged")
    return array


class NpyReader(TableReader):
    """A reader of the rows of an .npy array."""

    def __init__(self, path: str) -> None:
        self.name = path
        try:
            self.array = np.load(path, mmap_mode="r", allow_pickle=False)
        except Exception as error:  # numpy can raise almost anything for malformed input
            raise UsageError(f"{path} is not a readable .npy file: {reason(error)}") from None
        if not hasattr(self.array, "dtype") or not (self.array.dtype.names or self.array.ndim == 2):
            raise UsageError(
                f"{path} is not a table", "it must hold a structured or a two-dimensional array"
            )
        self.names = list(self.array.dtype.names or (f"c{i}" for i in range(self.array.shape[1])))
        self.rows = len(self.array)

    def chunks(self, size: int, skip: int = 0) -> Iterator[Chunk]:
        for first in range(skip, self.rows, size):
            part = checked_text(np.array(self.array[first : first + size]), self.name)
            if part.dtype.names:
                columns = {name: part[name] for name in self.names}
            else:
                columns = dict(zip(self.names, part.T, strict=True))
            yield Chunk(first, len(part), columns)


class NpzReader(TableReader):
    """A reader of the arrays of an .npz archive, which are columns."""

    def __init__(self, path: str) -> None:
        self.name = path
        try:
            self.archive = zipfile.ZipFile(path)
            self.members = {
                name.removesuffix(".npy"): self.opened(name) for name in self.archive.namelist()
            }
        except Exception as error:  # numpy and zipfile can raise almost anything
            raise UsageError(f"{path} is not a readable .npz file: {reason(error)}") from None
        self.names = list(self.members)
        lengths = {name: shape[0] if shape else -1 for name, (_, shape, _) in self.members.items()}
        if len(set(lengths.values())) != 1 or -1 in lengths.values():
            described = ", ".join(
                f"{name} {n if n >= 0 else 'a scalar'}" for name, n in lengths.items()
            )
            raise UsageError(
                f"{path}: its arrays differ in length: {described}",
                "all must have the same number of rows",
            )
        self.rows = next(iter(lengths.values()))

    def opened(self, name: str) -> tuple[IO[bytes], tuple[int, ...], Any]:
        """Open a member and return the stream after its header, the shape and the dtype."""
        stream = self.archive.open(name)
        version = np.lib.format.read_magic(stream)
        read = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, fortran, dtype = read(stream)
        if dtype.hasobject or (fortran and len(shape) > 1):
            raise ValueError(
                f"the array '{name.removesuffix('.npy')}' holds Python objects or is in Fortran "
                "order"
            )
        return stream, shape, dtype

    def chunks(self, size: int, skip: int = 0) -> Iterator[Chunk]:
        for first in range(0, self.rows, size):
            n = min(size, self.rows - first)
            columns = {name: self.stretch(name, n) for name in self.names}
            if first + n <= skip:
                continue
            cut = max(0, skip - first)
            yield Chunk(first + cut, n - cut, {name: a[cut:] for name, a in columns.items()})

    def stretch(self, name: str, n: int) -> Any:
        """Read the next `n` rows of a column; UsageError if the file is damaged."""
        stream, shape, dtype = self.members[name]
        count = n * math.prod(shape[1:])
        try:
            data = stream.read(count * dtype.itemsize)
        except Exception as error:
            raise UsageError(
                f"{self.name}: the array '{name}' cannot be read: {reason(error)}"
            ) from None
        if len(data) != count * dtype.itemsize:
            raise UsageError(f"{self.name}: the array '{name}' is truncated", "the file is damaged")
        return checked_text(
            np.frombuffer(data, dtype).reshape(n, *shape[1:]), f"{self.name}: the array '{name}'"
        )


def as_array(name: str, column: Any) -> Any:
    """Convert a column to an array that can be saved; raise UsageError for text or mixed cells."""
    array = np.asarray(column)
    if array.dtype.kind in "OUS":
        try:
            array = array.astype(np.float64)
        except (ValueError, TypeError):
            raise UsageError(
                f"the column '{name}' does not hold numbers, which numpy files require",
                "exclude it with --keep, or write .csv, .jsonl or .parquet",
            ) from None
    return array


def filled(columns: dict[str, Any], missing: set[int], computed: set[str]) -> dict[str, Any]:
    """Return the columns as arrays, with NaN in the `missing` rows of the `computed` columns."""
    results = {}
    for name, column in columns.items():
        array = as_array(name, column)
        if missing and name in computed:
            array = array.copy()
            array[sorted(missing)] = np.nan
        results[name] = array
    return results


class Growing:
    """An .npy file to which rows are appended; `close` writes its length into the space reserved in
    the header.
    """

    def __init__(self, stream: IO[bytes], dtype: Any, shape: tuple[int, ...]) -> None:
        self.stream = stream
        self.dtype = dtype
        self.shape = shape
        self.rows = 0
        write_header(stream, dtype, (0, *shape))

    def write(self, rows: Any) -> None:
        self.stream.write(np.ascontiguousarray(rows, self.dtype).tobytes())
        self.rows += len(rows)

    def close(self) -> None:
        self.stream.seek(0)
        write_header(self.stream, self.dtype, (self.rows, *self.shape))
        self.stream.flush()


def write_header(stream: IO[bytes], dtype: Any, shape: tuple[int, ...]) -> None:
    """Write the header of an .npy file; UsageError if it has too many columns."""
    described = {
        "descr": np.lib.format.dtype_to_descr(dtype),
        "fortran_order": False,
        "shape": shape,
    }
    try:
        np.lib.format.write_array_header_1_0(stream, described)
    except ValueError as error:
        raise UsageError(
            f"the header of an .npy file has no room for these columns: {reason(error)}",
            "write .npz or .csv",
        ) from None


class NpyWriter(TableWriter):
    """A writer of an .npy file: a structured array with a field for each column."""

    def write(self, columns: dict[str, Any], missing: set[int], computed: set[str]) -> None:
        arrays = filled(columns, missing, computed)
        if self.file is None:
            self.file = Growing(
                self.stream, np.dtype([(n, a.dtype, a.shape[1:]) for n, a in arrays.items()]), ()
            )
        rows = np.empty(len(next(iter(arrays.values()))), self.file.dtype)
        for name, array in arrays.items():
            rows[name] = array
        self.file.write(rows)


class NpzWriter(TableWriter):
    """A writer of an .npz archive. It keeps rows in a nameless file; `close` writes an array for
    each column.
    """

    def __init__(self, stream: IO[bytes], folder: str) -> None:
        super().__init__(stream)
        self.opened = scratch.empty_file(folder)
        self.file = self.opened.__enter__()
        self.size = 0
        self.columns: dict[str, Column] = {}

    def write(self, columns: dict[str, Any], missing: set[int], computed: set[str]) -> None:
        for name, array in filled(columns, missing, computed).items():
            column = self.columns.setdefault(name, Column(array.dtype, array.shape[1:]))
            content = np.ascontiguousarray(array, column.dtype).tobytes()
            self.file.write(content)
            column.places.append((self.size, len(content)))
            column.rows += len(array)
            self.size += len(content)

    def close(self) -> None:
        with zipfile.ZipFile(self.stream, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            for name, column in self.columns.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as out:
                    write_header(out, column.dtype, (column.rows, *column.shape))
                    for start, size in column.places:
                        self.file.seek(start)
                        out.write(self.file.read(size))
        self.opened.__exit__(None, None, None)


class Column:
    """A column of an archive so far: its number of rows, and where its pieces are in the nameless
    file.
    """

    def __init__(self, dtype: Any, shape: tuple[int, ...]) -> None:
        self.dtype = dtype
        self.shape = shape
        self.rows = 0
        self.places: list[tuple[int, int]] = []
