"""Parquet, Arrow and Feather files, and folders of them, through pyarrow (extra `arrow`).

A file is read in batches, and only the requested columns of a Parquet file are read. Columns of
lists of one length are vectors. Missing values are null, both read and written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from gradtrace.batch.columns import Chunk, TableReader, TableWriter
from gradtrace.batch.formats import ARROW, SUFFIXES
from gradtrace.engine.data.lazy import np
from gradtrace.errors import UsageError


def pyarrow(module: str = "") -> Any:
    """Return pyarrow or one of its modules, imported; UsageError with installation advice if it is
    missing.
    """
    try:
        return import_module(f"pyarrow.{module}" if module else "pyarrow")
    except ImportError:
        raise UsageError(
            "Parquet, Arrow and Feather need pyarrow", "pip install 'gradtrace[arrow]'"
        ) from None


def reader(path: str, kind: str) -> Reader:
    """Return a reader of a file, or of all files of a folder in the order of their names."""
    if not os.path.isdir(path):
        return Reader(path, [path], kind)
    names = sorted(name for name in os.listdir(path) if name[0] not in "._")
    for format in (kind, *ARROW):
        suffixes = tuple(
            suffix for suffix, suffix_format in SUFFIXES.items() if suffix_format == format
        )
        files = [os.path.join(path, name) for name in names if name.endswith(suffixes)]
        if files:
            return Reader(path, files, format)
    raise UsageError(f"--data: the folder '{path}' holds no Parquet, Arrow or Feather file")


class Reader(TableReader):
    """A reader of the rows of files with one schema; `select` names the requested columns."""

    def __init__(self, name: str, files: list[str], kind: str) -> None:
        self.name = name
        self.files = [self.opened(file, kind) for file in files]
        self.names: list[str] = list(self.files[0].schema.names)
        for file, path in zip(self.files, files, strict=True):
            if list(file.schema.names) != self.names:
                raise UsageError(f"{path} has other columns than {files[0]}")
        self.lengths = [file.rows for file in self.files]
        self.rows = sum(self.lengths)
        self.wanted = self.names

    def opened(self, path: str, kind: str) -> Any:
        lib = pyarrow("lib")
        try:
            return ParquetFile(path) if kind == "parquet" else ArrowFile(path)
        except (lib.ArrowException, OSError) as error:
            raise UsageError(
                f"{path} is not a readable {kind} file: {str(error).splitlines()[0]}"
            ) from None

    def select(self, names: list[str]) -> None:
        asked = set(names)
        self.wanted = [name for name in self.names if name in asked]

    def chunks(self, size: int, skip: int = 0) -> Iterator[Chunk]:
        """Yield the rows from `skip` on, `size` at a time (the last chunk may be smaller), across
        batches and files.
        """
        pa = pyarrow()
        first = skip
        held = []
        have = 0
        for batch in self.batches(size, skip):
            while batch.num_rows:
                part = batch.slice(0, size - have)
                batch = batch.slice(part.num_rows)
                held.append(part)
                have += part.num_rows
                if have == size:
                    yield self.chunk(pa, first, held)
                    first = first + have
                    held = []
                    have = 0
        if held:
            yield self.chunk(pa, first, held)

    def batches(self, size: int, skip: int) -> Iterator[Any]:
        for file, rows in zip(self.files, self.lengths, strict=True):
            if skip >= rows:
                skip -= rows
                continue
            yield from file.batches(self.wanted, size, skip)
            skip = 0

    def chunk(self, pa: Any, first: int, batches: list[Any]) -> Chunk:
        table = pa.Table.from_batches(batches).combine_chunks()
        return Chunk(
            first, table.num_rows, {name: cells(pa, table.column(name)) for name in self.wanted}
        )


class ParquetFile:
    def __init__(self, path: str) -> None:
        self.file = pyarrow("parquet").ParquetFile(path)
        self.schema = self.file.schema_arrow
        self.rows = self.file.metadata.num_rows

    def batches(self, names: list[str], size: int, skip: int) -> Iterator[Any]:
        groups: list[int] = []
        for group in range(self.file.metadata.num_row_groups):
            rows = self.file.metadata.row_group(group).num_rows
            if not groups and skip >= rows:
                skip -= rows
            else:
                groups.append(group)
        if not groups:
            return
        for batch in self.file.iter_batches(batch_size=size, row_groups=groups, columns=names):
            cut = min(skip, batch.num_rows)
            skip -= cut
            yield batch.slice(cut)


class ArrowFile:
    def __init__(self, path: str) -> None:
        pa = pyarrow()
        self.file = pyarrow("ipc").open_file(pa.memory_map(path))
        self.schema = self.file.schema
        self.rows = sum(
            self.file.get_batch(i).num_rows for i in range(self.file.num_record_batches)
        )

    def batches(self, names: list[str], size: int, skip: int) -> Iterator[Any]:
        for i in range(self.file.num_record_batches):
            batch = self.file.get_batch(i)
            cut = min(skip, batch.num_rows)
            skip -= cut
            if cut < batch.num_rows:
                yield batch.slice(cut).select(names)


def cells(pa: Any, column: Any) -> Any:
    """Return a column as an ndarray if it holds numbers without nulls, else as a list."""
    column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    kind = column.type
    if column.null_count == 0:
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
            return column.to_numpy(zero_copy_only=False)
        listed = (
            pa.types.is_list(kind)
            or pa.types.is_large_list(kind)
            or pa.types.is_fixed_size_list(kind)
        )
        if listed and len(column) and pa.types.is_floating(kind.value_type):
            flat = column.flatten()
            width = len(column[0])
            even = pa.types.is_fixed_size_list(kind) or set(column.value_lengths().to_pylist()) == {
                width
            }
            if even and flat.null_count == 0:
                return flat.to_numpy(zero_copy_only=False).reshape(len(column), width)
    return column.to_pylist()


class Writer(TableWriter):
    """A writer of one file; the first chunk determines the schema."""

    def __init__(self, stream: Any, kind: str) -> None:
        super().__init__(stream)
        self.kind = kind
        pyarrow()

    def write(self, columns: dict[str, Any], missing: set[int], computed: set[str]) -> None:
        pa = pyarrow()
        arrays = [
            arrow_array(pa, c, missing if n in computed else set()) for n, c in columns.items()
        ]
        table = pa.Table.from_arrays(arrays, names=list(columns))
        if self.file is None:
            self.schema = table.schema
            if self.kind == "parquet":
                self.file = pyarrow("parquet").ParquetWriter(self.stream, self.schema)
            else:
                self.file = pyarrow("ipc").new_file(self.stream, self.schema)
        self.file.write_table(table.cast(self.schema))


def arrow_array(pa: Any, column: Any, missing: set[int]) -> Any:
    """Convert a column to a pyarrow array, with null in the `missing` rows; vectors become lists of
    fixed length.
    """
    if not hasattr(column, "dtype"):
        return pa.array([None if i in missing else cell for i, cell in enumerate(column)])
    mask = np.isin(np.arange(len(column)), sorted(missing)) if missing else None
    if column.ndim == 1:
        return pa.array(np.ascontiguousarray(column), mask=mask)
    flat = np.ascontiguousarray(column).reshape(len(column), -1)
    values = pa.array(flat.reshape(-1))
    masked = {} if mask is None else {"mask": pa.array(mask)}
    return pa.FixedSizeListArray.from_arrays(values, flat.shape[1], **masked)
