"""Read values from files and stdin; `values` lists the forms."""

from __future__ import annotations

from gradtrace.annotations import Any, Callable, NamedTuple
from gradtrace.cli import source, values
from gradtrace.errors import UsageError

NPY = b"\x93NUMPY"
ZIP = b"PK\x03\x04"
SEPARATORS = {".csv": ",", ".tsv": "\t"}


class File(NamedTuple):
    """What a file or stdin holds; `key` names a part of it, `option` is what the value is for."""

    content: bytes
    name: str
    key: str
    option: str

    def refused(self, problem: str, hint: str = "") -> UsageError:
        return UsageError(f"{self.option}: {problem}", hint)


def read(place: str, option: str) -> Any:
    """Read the value of `@PLACE`: a float, nested lists of floats, or an ndarray."""
    if place == "-":
        return read_text_or_binary(File(source.read_stdin(option), source.STDIN, "", option))
    name, _, key = place.partition("#")
    reader = reader_of(name, option)
    content = source.read_bytes(name, who=f"{option}: ") if name else b""
    if not name:
        raise UsageError(
            f"{option}: a file's name is missing after '@'", "for instance @data.npy; @- is stdin"
        )
    return reader(File(content, name, key, option))


def reader_of(name: str, option: str) -> Callable[[File], Any]:
    suffix = name[name.rfind(".") :].lower() if "." in name else ""
    readers = {
        ".npy": npy,
        ".npz": npz,
        ".json": json_value,
        ".csv": table,
        ".tsv": table,
        ".txt": table,
    }
    if suffix not in readers and name:
        raise UsageError(
            f"{option}: cannot tell what '{name}' holds",
            "name it .npy, .npz, .csv, .tsv, .txt or .json",
        )
    return readers.get(suffix, table)


def read_text_or_binary(file: File) -> Any:
    """Read a value from stdin; its first bytes show the format, since stdin has no file suffix."""
    if file.content.startswith(NPY):
        return npy(file)
    if file.content.startswith(ZIP):
        return npz(file)
    text = file.content.lstrip()
    if text.startswith((b"[", b"{")):
        return json_value(file)
    if not text:
        raise file.refused("stdin is empty", "for instance: echo 2 | gradtrace eval 'x*x' --x @-")
    return table(file)


# ---- numpy's files


def npy(file: File) -> Any:
    if file.key:
        raise file.refused(f"{file.name} holds one array and has no keys", f"leave out #{file.key}")
    loaded = load(file)
    if not hasattr(loaded, "dtype"):
        raise file.refused(f"{file.name} is not an .npy file", "rename it to .npz if it is one")
    return checked(loaded, file)


def npz(file: File) -> Any:
    archive = load(file)
    if hasattr(archive, "dtype"):
        raise file.refused(f"{file.name} is not an .npz file", "rename it to .npy if it is one")
    keys = sorted(archive.files)
    key = file.key or (keys[0] if len(keys) == 1 else "")
    if key not in keys:
        message = (
            f"{file.name} has no array '{key}'" if key else f"{file.name} holds {len(keys)} arrays"
        )
        raise file.refused(
            message, f"choose one: {', '.join(f'@{file.name}#{k}' for k in keys[:8])}"
        )
    array = guarded(lambda: archive[key], file)
    if not hasattr(array, "dtype"):  # a member that is not an array comes as its bytes
        raise file.refused(
            f"cannot read {file.name}: '{key}' is not an array", "write it with numpy.savez"
        )
    return checked(array, file)


def load(file: File) -> Any:
    from io import BytesIO

    from gradtrace.engine.data.lazy import np

    return guarded(lambda: np.load(BytesIO(file.content), allow_pickle=False), file)


def guarded(work: Callable[[], Any], file: File) -> Any:
    """Call `work`, which reads a file with numpy or zipfile, and convert any exception to a
    UsageError.
    """
    try:
        return work()
    except MemoryError:
        raise file.refused(f"{file.name} claims an array that does not fit into memory") from None
    except Exception as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        if "allow_pickle" in reason or "Pickle" in reason or "pickle" in reason:
            reason = "it holds Python objects, which are never loaded"
        raise file.refused(
            f"cannot read {file.name}: {reason}", "write it with numpy.save or numpy.savez"
        ) from None


def checked(array: Any, file: File) -> Any:
    """Return an array in a dtype of the engine and native byte order; raise UsageError for text,
    complex, records.
    """
    kind = array.dtype.kind
    if kind not in "fiub" or array.dtype.names:
        raise file.refused(
            f"{file.name} holds {array.dtype.name}, not numbers", "save it as float64"
        )
    if kind == "f" and array.dtype.itemsize > 8:
        return array.astype("float64")
    if kind == "u" and array.dtype.itemsize > 1:
        return array.astype("int64")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


# ---- JSON


def read_json(name: str, option: str) -> Any:
    """Return the document in a JSON file (`-` is stdin)."""
    content = (
        source.read_stdin(option) if name == "-" else source.read_bytes(name, who=f"{option}: ")
    )
    return parse_json(content, name, option)


def parse_json(content: bytes, name: str, option: str) -> Any:
    import json

    try:
        return json.loads(content.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        where = f"{name}:{error.lineno}:{error.colno}"
        raise UsageError(f"{option}: {where}: not JSON: {error.msg.lower()}") from None
    except (UnicodeDecodeError, RecursionError, ValueError) as error:
        reason = (
            "nested too deeply"
            if isinstance(error, RecursionError)
            else str(error).partition(";")[0]
        )
        raise UsageError(f"{option}: {name} is not JSON: {reason}") from None


def json_value(file: File) -> Any:
    document = parse_json(file.content, file.name, file.option)
    key = file.key
    if isinstance(document, dict):
        if key not in document:
            keys = ", ".join(f"#{k}" for k in list(document)[:8])
            complaint = f"has no key '{key}'" if key else "holds an object"
            raise file.refused(
                f"{file.name} {complaint}", f"choose a key: {keys}" if keys else "it is empty"
            )
        document = document[key]
    elif key:
        raise file.refused(f"{file.name} holds no object and has no keys", f"leave out #{key}")
    return from_json(document, f"{file.option}: {file.name}")


def from_json(document: Any, label: str) -> Any:
    """Convert a number or nested lists of numbers from JSON to floats and lists."""
    try:
        return values.check_even(numbers(document, label), label)
    except RecursionError:
        raise UsageError(f"{label}: nested too deeply") from None


def numbers(document: Any, label: str) -> Any:
    if isinstance(document, list):
        return [numbers(item, label) for item in document]
    if isinstance(document, (bool, int)):
        return values.to_float(int(document), label)
    if isinstance(document, float):
        return document
    if document in ("NaN", "Infinity", "-Infinity"):
        return float(document)
    if document is None:
        kind = "null"
    else:
        kind = "an object" if isinstance(document, dict) else f'the text "{document}"'
    raise UsageError(
        f"{label}: {kind} is not a number", "only numbers and nested lists of them make a tensor"
    )


# ---- tables


def table(file: File) -> Any:
    """Read lines of numbers with the separator of the suffix; a first line without numbers has the
    column names.
    """
    text = source.decode(file.content, file.name)
    lines = [
        (i, line)
        for i, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.startswith("#")
    ]
    if (
        len(lines) == 1
        and not file.key
        and (literal := values.literal(lines[0][1].strip())) is not None
    ):
        return literal
    rows = cells(lines, file.name)
    names: list[str] = []
    if rows and all(values.as_float(cell) is None for cell in rows[0][1]):
        names = [cell.strip() for cell in rows.pop(0)[1]]
    if not rows:
        raise file.refused(f"{file.name} holds no numbers")
    chosen = column(names, file) if file.key else None
    width = len(names) or len(rows[0][1])
    return squeezed([numeric(row, width, chosen, file) for row in rows])


def cells(lines: list[tuple[int, str]], name: str) -> list[tuple[int, list[str]]]:
    """Return each line's number and cells.

    The separator is a mark that is in all lines, otherwise the suffix's. A .csv file is never split
    at blanks, a .tsv file only if it has no tab and each line has the same number of words.
    """
    import csv

    usual = SEPARATORS.get(name[name.rfind(".") :].lower())
    marks = (",", ";", "\t") if usual is None else (usual, ";", "\t")
    separator = next((mark for mark in marks if all(mark in line for _, line in lines)), usual)
    if separator == "\t" and not any("\t" in line for _, line in lines):
        separator = "\t" if len({len(line.split()) for _, line in lines}) > 1 else None
    if separator is None:
        return [(i, line.split()) for i, line in lines]
    try:
        return [
            (i, row)
            for i, line in lines
            for row in csv.reader([line], delimiter=separator, skipinitialspace=True, strict=True)
        ]
    except csv.Error as error:
        raise UsageError(f"{name} is not a table of numbers: {error}") from None


def column(names: list[str], file: File) -> int:
    if file.key in names:
        return names.index(file.key)
    listing = ", ".join(names[:8]) if names else "its columns have no names"
    raise file.refused(
        f"{file.name} has no column '{file.key}'", f"there are {listing}" if names else listing
    )


def numeric(row: tuple[int, list[str]], width: int, chosen: int | None, file: File) -> list[float]:
    line, cells = row
    if len(cells) != width:
        raise file.refused(
            f"{file.name}:{line}: {len(cells)} values, where the first line has {width}"
        )
    picked = cells if chosen is None else [cells[chosen]]
    return [number(cell, f"{file.option}: {file.name}:{line}") for cell in picked]


def number(cell: str, where: str) -> float:
    real = values.as_float(cell)
    if real is None:
        text = cell.strip()
        is_named = any(f"{suffix}:" in where for suffix in SEPARATORS)
        blanks = (
            "name the file .txt if blanks separate its numbers"
            if is_named
            else "separate numbers by commas or by blanks, not by both; a decimal has a point"
        )
        raise UsageError(
            f"{where}: '{text}' is not a number" if text else f"{where}: an empty cell",
            blanks if " " in text else "",
        )
    return real


def squeezed(rows: list[list[float]]) -> Any:
    """Return one cell as a scalar, and one row or one column as a vector."""
    if len(rows) == 1:
        return rows[0] if len(rows[0]) > 1 else rows[0][0]
    return rows if len(rows[0]) > 1 else [row[0] for row in rows]
