"""A recorded run as a file: `run.gt`, a zip of one JSON document and numpy arrays, never a pickle.

    write(about, traces) -> bytes        read(name, content) -> Record

    record.json     {schema, version, source, dtype, seed, backward, values, groups, variants}
    traces/0.json   a trace
    arrays/0.npy    the elements of an array, in its own order of memory

A record holds several traces of one run, since commands differ in what they keep; `variants` gives the number of each
("all", "eval", "graph", "watched"), which is read when it is asked for.
Records are lists in the order of their fields; a value is a number in the table `values`, which all traces share.

A file is untrusted: sizes are compared with the file's own before anything is unpacked, every field has a type, every
id a range. UsageError, with the file's name, for anything else than what `write` writes.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib

from gradtrace.annotations import Any, Callable, NamedTuple, TypeVar
from gradtrace.engine.lazy import np
from gradtrace.errors import UsageError
from gradtrace.trace import fields
from gradtrace.trace.fields import Damaged, Decoder, Encoder
from gradtrace.trace.record import Trace
from gradtrace.trace.values import Value, taken

SCHEMA, VERSION = "gradtrace/record", 1
DOCUMENT = "record.json"
START = b"PK\x03\x04"
ROOM = 64_000_000  # bytes that any file may unpack to; a larger one, RATIO times its size
RATIO = 100
ENTRIES = 1_000_000
VARIANTS = {"all", "eval", "graph", "watched"}
T = TypeVar("T")
TYPES = frozenset(["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"])
HINT = "record the run again: gradtrace graph SOURCE -o FILE.gt"


class About(NamedTuple):
    """What a record says of its run, besides the traces: what is needed to run the program again."""

    source_name: str
    source_text: str
    dtype: str
    seed: int | None
    backward: bool  # whether the command that recorded it called backward
    engine: str = ""  # what ran it, as in `Trace.engine`


class Record:
    """A recorded run that was read from a file."""

    def __init__(self, about: About, variants: dict[str, int], load: Callable[[int], Trace]) -> None:
        self.about = about
        self.dtype = about.dtype
        self.seed = about.seed
        self._variants = variants
        self._load = load
        self._known: dict[int, Trace] = {}

    def trace(self, variant: str) -> Trace:
        """The trace as a kind of command keeps it. UsageError if it is damaged."""
        number = self._variants[variant]
        if number not in self._known:
            self._known[number] = self._load(number)
        return self._known[number]


# ---- writing


def write(about: About, traces: dict[str, Trace]) -> bytes:
    """The file's content; the same run gives the same bytes."""
    encoder = Encoder()
    texts: dict[bytes, int] = {}  # each trace once
    variants = {name: texts.setdefault(dumped(encoder.record(trace)), len(texts)) for name, trace in traces.items()}
    document = {
        "schema": SCHEMA,
        "version": VERSION,
        "source": {"name": about.source_name, "text": about.source_text},
        "dtype": about.dtype,
        "seed": about.seed,
        "backward": about.backward,
        "engine": about.engine,
        "values": encoder.values,
        "groups": encoder.groups,
        "variants": variants,
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        put(file, DOCUMENT, dumped(document), zipfile.ZIP_DEFLATED)
        for text, number in texts.items():
            put(file, f"traces/{number}.json", text, zipfile.ZIP_DEFLATED)
        for number, array in enumerate(encoder.arrays):
            npy = io.BytesIO()
            np.lib.format.write_array(npy, array, version=(1, 0), allow_pickle=False)
            put(file, f"arrays/{number}.npy", npy.getvalue(), zipfile.ZIP_STORED)
    return out.getvalue()


def dumped(data: Any) -> bytes:
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def put(file: zipfile.ZipFile, name: str, content: bytes, method: int) -> None:
    entry = zipfile.ZipInfo(name)  # with a fixed date
    entry.compress_type = method
    file.writestr(entry, content)


# ---- reading


def read(name: str, content: bytes) -> Record:
    """The record in a file. UsageError, which names the file, if it is damaged or of another version."""
    return guarded(name, lambda: opened(name, content))


def opened(name: str, content: bytes) -> Record:
    file = zipfile.ZipFile(io.BytesIO(content))
    check_sizes(file, len(content))
    document = loaded(file, DOCUMENT)
    about, variants, decoder = head_of(document, file)

    def load(number: int) -> Trace:
        return guarded(name, lambda: decoder.trace(loaded(file, f"traces/{number}.json")))

    return Record(about, variants, load)


def loaded(file: zipfile.ZipFile, entry: str) -> Any:
    return json.loads(file.read(entry).decode("utf-8", "surrogatepass"))


def guarded(name: str, work: Callable[[], T]) -> T:
    """What `work` returns. UsageError, which names the file, if it finds damage."""
    try:
        return work()
    except Damaged as error:
        reason = str(error)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        reason = f"the archive is damaged ({error})"
    except KeyError:
        reason = "a part of it is missing"
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        reason = f"its document is damaged ({type(error).__name__})"
    raise UsageError(f"{name}: not a record of a run: {reason}", HINT)


def check_sizes(file: zipfile.ZipFile, size: int) -> None:
    """Refuse, before anything is unpacked, what is far larger than the file, or not a record's entry."""
    entries = file.infolist()
    if len(entries) > ENTRIES or len({entry.filename for entry in entries}) < len(entries):
        raise Damaged("it has too many entries, or two of one name")
    total = sum(entry.file_size for entry in entries)
    if total > max(ROOM, RATIO * size):
        raise Damaged(f"its contents are {total:,} bytes, far more than the file's {size:,}")
    for entry in entries:
        known = entry.filename == DOCUMENT or is_numbered(entry.filename)
        if not known or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or entry.flag_bits & 1:
            raise Damaged("it has an entry that is not a record's")


def is_numbered(name: str) -> bool:
    """Whether an entry is an array or a trace: "arrays/7.npy"."""
    number = "".join(char for char in name if char.isdigit())
    return name.isascii() and bool(number) and name in (f"arrays/{number}.npy", f"traces/{number}.json")


def head_of(document: Any, file: zipfile.ZipFile) -> tuple[About, dict[str, int], Decoder]:
    """What the document says, and the tables that its traces share."""
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise Damaged("its document is not a record's")
    if document.get("version") != VERSION:
        raise Damaged(f"its version is {document.get('version')!r:.20}, this gradtrace reads version {VERSION}")
    decoder = Decoder(lambda number: read_array(file, number))
    decoder.values = [decoder.value_of(one) for one in fields.listed(document.get("values"))]
    decoder.groups = [decoder.sequence(fields.INT)(one) for one in fields.listed(document.get("groups"))]
    source = fields.mapped(document.get("source"))
    variants = {name: fields.integer(one) for name, one in fields.mapped(document.get("variants")).items()}
    if not variants.keys() >= VARIANTS:
        raise Damaged("it has no trace")
    seed = document.get("seed")
    about = About(
        fields.text(source.get("name")),
        fields.text(source.get("text")),
        fields.one_of(document.get("dtype"), ("float32", "float64")),
        None if seed is None else fields.integer(seed),
        fields.boolean(document.get("backward")),
        fields.text(document.get("engine", "")),
    )
    return about, variants, decoder


def read_array(file: zipfile.ZipFile, number: int) -> Value:
    """An array, of which the header is compared with the entry's size before its elements are used."""
    entry = file.getinfo(f"arrays/{number}.npy")
    content = file.read(entry)
    stream = io.BytesIO(content)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise Damaged("an array has an unknown format")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.name not in TYPES or not dtype.isnative or not all(type(n) is int and n >= 0 for n in shape):
        raise Damaged("an array has an unknown type")
    count = 1
    for n in shape:
        count *= n
    start = stream.tell()
    if (
        not shape
        or len(content) - start != count * dtype.itemsize
        or (dtype.name == "bool" and bad_bools(content, start))
    ):
        raise Damaged("an array does not have the size that it says")
    array = np.frombuffer(content, dtype, count, start)
    return taken(array.reshape(shape, order="F" if fortran else "C"))


def bad_bools(content: bytes, start: int) -> bool:
    return bool(content[start:].translate(None, b"\0\1"))
