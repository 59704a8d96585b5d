"""Read and write a recorded run as a file: `run.gt`, a zip of JSON and numpy arrays, never a
pickle.

    write(about, traces, stream)        read(name, stream) -> Record

    record.json     {schema, version, source, dtype, seed, backward, files, inputs, failure,
                    variants, fields, texts, numbers, summaries}
    traces/0.npy    the columns of a trace (`trace/columns.py`)
    tables.npy      tuples and spans, which all traces share
    values.npy      the chunk and the place of each value's elements (`trace/stored_values.py`)
    arrays/0.npy    a chunk of elements

A record holds several traces of one run, since commands differ in what they keep. `variants` maps
the name of each ("all", "eval", "graph", "watched") to the number of its trace, which is read when
it is first used. A program that failed and a run of PyTorch have only "all".

A file is untrusted: sizes are compared with the file's own before anything is unpacked, every field
has a type, every id a range. Anything else than what `write` writes raises UsageError with the
file's name.
"""

from __future__ import annotations

import gc
import io
import json
import zipfile
import zlib

from gradtrace.annotations import Any, Callable, NamedTuple, TypeVar
from gradtrace.engine.data.lazy import np
from gradtrace.errors import UsageError
from gradtrace.trace import fields
from gradtrace.trace.columns import ColumnReader, ColumnWriter, TableReader, TableWriter
from gradtrace.trace.fields import Damaged
from gradtrace.trace.record import Trace
from gradtrace.trace.stored_values import DTYPES, ValueReader, ValueWriter
from gradtrace.trace.values import Value

SCHEMA = "gradtrace/record"
VERSION = 2
BY_OPTION = "non-leaf: not retained (--retain-grad)"
DOCUMENT = "record.json"
TABLES = "tables.npy"
VALUES = "values.npy"
ROOM = 64_000_000  # bytes that any file may unpack to; a larger one, RATIO times its size
RATIO = 100
ENTRIES = 1_000_000
VARIANTS = {"all", "eval", "graph", "watched"}
T = TypeVar("T")
HINT = "record the run again: gradtrace run FILE -o RUN.gt"


class About(NamedTuple):
    """The part of a record that describes its run: everything needed to run the program again."""

    source_name: str
    source_text: str
    dtype: str
    seed: int | None
    backward: bool  # whether the command that recorded it called backward
    # of each module of the program's own its name and its text
    files: tuple[tuple[str, str], ...] = ()
    # its variables: name, value, whether it requires grad
    inputs: tuple[tuple[str, Value, bool], ...] = ()
    failure: tuple[str, str] | None = None  # the message and the hint of the error that ended it
    random_state: bytes = b""  # of the default generator when the program began
    detailed: int = 0  # how many of its backward passes are surely there node by node
    # those given for backward, by name: texts, or a number or a flag
    options: tuple[tuple[str, Any], ...] = ()
    engine: str = ""  # what ran it, as in `Trace.engine`


class Record:
    """A recorded run that was read from a file."""

    def __init__(
        self, about: About, variants: dict[str, int], load: Callable[[int], Trace]
    ) -> None:
        self.about = about
        self.dtype = about.dtype
        self.seed = about.seed
        self._variants = variants
        self._load = load
        self._known: dict[int, Trace] = {}

    def trace(self, variant: str) -> Trace:
        """Return the trace as a kind of command ("eval", "graph", ...) keeps it. UsageError if it
        is damaged.
        """
        number = self._variants[variant]
        if number not in self._known:
            self._known[number] = uncollected(lambda: self._load(number))
        return self._known[number]


def uncollected(work: Callable[[], T]) -> T:
    """Call `work` with the cycle collector paused: it would traverse a long record, which has no
    cycles, many times.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        return work()
    finally:
        if enabled:
            gc.enable()


# ---- writing


def write(about: About, traces: dict[str, Trace], stream: Any) -> None:
    """Write the file; the same run gives the same bytes. A Trace that has several names is written
    once.
    """
    with zipfile.ZipFile(stream, "w") as file:
        tables = TableWriter(lambda value: values.add(value))
        values = ValueWriter(
            lambda number, *elements: put_array(file, f"arrays/{number}.npy", *elements),
            tables.groups,
        )
        numbers: dict[int, int] = {}
        for trace in traces.values():
            if id(trace) in numbers:
                continue
            name = f"traces/{numbers.setdefault(id(trace), len(numbers))}.npy"
            columns = ColumnWriter(tables)
            columns.record(trace)
            put_table(file, name, columns.numbers())
        document = {
            "schema": SCHEMA,
            "version": VERSION,
            "source": {"name": about.source_name, "text": about.source_text},
            "dtype": about.dtype,
            "seed": about.seed,
            "backward": about.backward,
            "files": about.files,
            "inputs": [(name, tables.value(value), grad) for name, value, grad in about.inputs],
            "failure": about.failure,
            "random_state": about.random_state.hex(),
            "detailed": about.detailed,
            "options": dict(about.options),
            "engine": about.engine,
            "variants": {name: numbers[id(trace)] for name, trace in traces.items()},
            "fields": fields.counts(),
        }
        put_table(file, VALUES, values.end())
        put_table(file, TABLES, tables.numbers())
        tail = {
            "texts": tables.texts.things,
            "numbers": tables.reals,
            "summaries": values.summaries,
        }
        put(file, DOCUMENT, dumped({**document, **tail}))


def dumped(data: Any) -> bytes:
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def put(file: zipfile.ZipFile, name: str, content: bytes) -> None:
    file.writestr(entry_of(name), content, zipfile.ZIP_DEFLATED, 1)


def put_table(file: zipfile.ZipFile, name: str, numbers: Any) -> None:
    npy = io.BytesIO()
    np.lib.format.write_array(npy, numbers, version=(1, 0), allow_pickle=False)
    put(file, name, npy.getvalue())


def put_array(file: zipfile.ZipFile, name: str, parts: list[Any], count: int, dtype: str) -> None:
    """Write an array without compression: compressing random numbers takes long and gains
    little.
    """
    head = io.BytesIO()
    facts = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": (count,)}
    np.lib.format.write_array_header_1_0(head, facts)
    entry = entry_of(name)
    entry.file_size = len(head.getvalue()) + count * np.dtype(dtype).itemsize
    with file.open(entry, "w") as out:
        out.write(head.getvalue())
        out.write((parts[0] if len(parts) == 1 else np.concatenate(parts)).data)


def entry_of(name: str) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(name)  # with a fixed date


# ---- reading


def read(name: str, stream: Any) -> Record:
    """Read the record in a file. UsageError with the file's name if it is damaged or of another
    version.
    """
    return guarded(name, lambda: opened(name, stream))


def opened(name: str, stream: Any) -> Record:
    file = zipfile.ZipFile(stream)
    check_sizes(file, stream.seek(0, io.SEEK_END))
    document = json.loads(file.read(DOCUMENT).decode("utf-8", "surrogatepass"))
    variants = variants_of(document)
    texts = [fields.text(text) for text in fields.listed(document.get("texts"))]
    reals = fields.listed(document.get("numbers"))
    counts = counts_of(document)
    tables = TableReader(texts, reals, read_table(file, TABLES), counts)
    rows = read_table(file, VALUES, 2)
    summaries = fields.listed(document.get("summaries"))
    values = ValueReader(rows, tables.groups, summaries, lambda number: read_elements(file, number))
    tables.values = values
    tables.value_count = len(rows)

    def load(number: int) -> Trace:
        return guarded(name, lambda: trace_of(read_table(file, f"traces/{number}.npy"), tables))

    return Record(about_of(document, tables), variants, load)


def trace_of(numbers: Any, tables: TableReader) -> Trace:
    trace: Trace = ColumnReader(numbers, tables).record(Trace)
    fields.check(trace)
    if trace.backward_runs:
        return trace
    # files of 0.3.0 and before name the option also where the program itself called backward
    ran = any(t.grad is not None for t in trace.tensors)
    note = "non-leaf: not retained (retain_grad())" if ran else "backward was not run"
    tensors = (t._replace(grad_note=note) if t.grad_note == BY_OPTION else t for t in trace.tensors)
    return trace._replace(tensors=tuple(tensors))


def guarded(
    name: str, work: Callable[[], T], kind: str = "a record of a run", hint: str = HINT
) -> T:
    """Call `work` and return its result. UsageError with the file's name if the file is damaged."""
    try:
        return work()
    except Damaged as error:
        reason = str(error)
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        OSError,
    ) as error:
        reason = f"the archive is damaged ({error})"
    except KeyError:
        reason = "a part of it is missing"
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        reason = f"its document is damaged ({type(error).__name__})"
    raise UsageError(f"{name}: not {kind}: {reason}", hint)


def check_sizes(file: zipfile.ZipFile, size: int) -> None:
    """Refuse entries far larger than the file, or unknown ones, before anything is unpacked."""
    entries = file.infolist()
    if len(entries) > ENTRIES or len({entry.filename for entry in entries}) < len(entries):
        raise Damaged("it has too many entries, or two of one name")
    total = sum(entry.file_size for entry in entries)
    if total > max(ROOM, RATIO * size):
        raise Damaged(f"its contents are {total:,} bytes, far more than the file's {size:,}")
    for entry in entries:
        is_expected = entry.filename in (DOCUMENT, TABLES, VALUES) or is_numbered(entry.filename)
        if (
            not is_expected
            or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
            or entry.flag_bits & 1
        ):
            raise Damaged("it has an entry that is not a record's")


def is_numbered(name: str) -> bool:
    """Whether an entry's name is that of an array or a trace: "arrays/7.npy"."""
    number = "".join(char for char in name if char.isdigit())
    return (
        name.isascii() and bool(number) and name in (f"arrays/{number}.npy", f"traces/{number}.npy")
    )


def variants_of(document: Any) -> dict[str, int]:
    """Return the number of each kind of trace, from the document."""
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise Damaged("its document is not a record's")
    if document.get("version") != VERSION:
        raise Damaged(
            f"its version is {document.get('version')!r:.20}, this gradtrace reads version "
            f"{VERSION}"
        )
    variants = {
        name: fields.integer(number)
        for name, number in fields.mapped(document.get("variants")).items()
    }
    is_whole = document.get("failure") is not None or document.get("engine")
    if not variants.keys() >= ({"all"} if is_whole else VARIANTS):
        raise Damaged("it has no trace")
    return variants


def counts_of(document: dict[str, Any]) -> dict[str, int]:
    """Return how many fields of each kind of record the file has, from the document."""
    counts = {
        name: fields.integer(number)
        for name, number in fields.mapped(document.get("fields", fields.COUNTS)).items()
    }
    current = fields.counts()
    if any(count > current.get(name, 0) for name, count in counts.items()):
        raise Damaged("its records have fields that this gradtrace does not know")
    return current | counts


def about_of(document: dict[str, Any], tables: TableReader) -> About:
    """Return the description of the run, from the document."""
    source = fields.mapped(document.get("source"))
    seed = document.get("seed")
    failure = document.get("failure")
    return About(
        fields.text(source.get("name")),
        fields.text(source.get("text")),
        fields.one_of(document.get("dtype"), ("float32", "float64")),
        None if seed is None else fields.whole(seed),
        fields.boolean(document.get("backward")),
        tuple(row(file, fields.text, fields.text) for file in fields.listed(document.get("files"))),
        tuple(
            row(variable, fields.text, tables.value, fields.boolean)
            for variable in fields.listed(document.get("inputs"))
        ),
        None if failure is None else row(failure, fields.text, fields.text),
        bytes.fromhex(fields.text(document.get("random_state"))),
        fields.integer(document.get("detailed")),
        tuple(
            (name, option(setting))
            for name, setting in fields.mapped(document.get("options")).items()
        ),
        fields.text(document.get("engine", "")),
    )


def option(value: Any) -> Any:
    if type(value) is list:
        return tuple(map(fields.text, value))
    return fields.integer(value) if type(value) is int else bool(value)


def row(values: Any, *readers: Callable[[Any], Any]) -> Any:
    if len(fields.listed(values)) != len(readers):
        raise Damaged("a row has another number of fields")
    return tuple(read(part) for read, part in zip(readers, values, strict=True))


def read_table(file: zipfile.ZipFile, name: str, dimensions: int = 1) -> Any:
    """Read a table of integers."""
    table = read_array(file, name)
    if table.ndim != dimensions or table.dtype.name not in ("int32", "int64"):
        raise Damaged("a table is damaged")
    return table


def read_elements(file: zipfile.ZipFile, number: int) -> Any:
    """Read the elements of a chunk of values."""
    elements = read_array(file, f"arrays/{number}.npy")
    if elements.ndim != 1 or (elements.dtype.name == "bool" and (elements.view("uint8") > 1).any()):
        raise Damaged("an array is damaged")
    return elements


def read_array(file: zipfile.ZipFile, name: str) -> Any:
    """Read an array, after comparing its header with the entry's size."""
    content = file.read(name)
    stream = io.BytesIO(content)
    try:
        if np.lib.format.read_magic(stream) != (1, 0):
            raise Damaged("an array has an unknown format")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    except Damaged:
        raise
    # numpy evaluates the header as Python text, which may fail in any way
    except Exception as error:
        raise Damaged(f"an array has a damaged header ({type(error).__name__})") from None
    if (
        fortran
        or dtype.name not in DTYPES
        or not dtype.isnative
        or not all(type(n) is int and n >= 0 for n in shape)
    ):
        raise Damaged("an array has an unknown type")
    count = 1
    for n in shape:
        count *= n
    start = stream.tell()
    if len(content) - start != count * dtype.itemsize:
        raise Damaged("an array does not have the size that it says")
    return np.frombuffer(content, dtype, count, start).reshape(shape)
