"""Files of programs: `open`, `os.listdir`, `glob` and `csv`; `array_files` has numpy's readers.

A program reads the paths of --allow-read and the files that it has written in this run, and writes inside the folder of
--allow-write. `permission` decides about every path; a file is read whole, within the budget, before a program sees it.
"""

from __future__ import annotations

import io
import os
import posixpath

from gradtrace.annotations import Any, Callable, NamedTuple
from gradtrace.lang import permission, wall
from gradtrace.lang.budget import Meter
from gradtrace.lang.builtins import Stream
from gradtrace.lang.costs import charge_text
from gradtrace.lang.iteration import metered
from gradtrace.lang.system_modules import passes
from gradtrace.lang.values import Frozen, named
from gradtrace.lang.words import Names, refuse_unknown, words

ENCODINGS = words("ascii cp1252 latin-1 latin1 utf-16 utf-8 utf-8-sig utf8 UTF-8")
SEEN = 16  # steps for each path that a search looks at
MAGIC = frozenset("*?[")
OF_CSV = "delimiter doublequote escapechar lineterminator quotechar quoting skipinitialspace strict"


class TextFile(Stream):
    """An open file of a program. One in a binary mode only has a name, for functions that take an open file."""

    __slots__ = ("_file", "_meter", "_text", "closed", "mode")

    def __init__(self, name: str, mode: str, meter: Meter, text: Any = None, file: Any = None) -> None:
        self.name, self.mode, self._meter, self._text, self._file = name, mode, meter, text, file
        self.closed = False

    def _source(self) -> Any:
        self._check()
        if self._text is None:
            raise self._unsupported("not readable")
        return self._text

    def _unsupported(self, what: str) -> OSError:
        return permission.of_program(io.UnsupportedOperation(NO_BYTES if "b" in self.mode else what))

    def _check(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file.")

    def read(self, size: int | None = -1) -> str:
        return str(self._source().read(size))

    def readline(self, size: int = -1) -> str:
        return str(self._source().readline(size))

    def readlines(self) -> list[str]:
        return list(self)

    def __iter__(self) -> TextFile:
        self._source()
        return self

    def __next__(self) -> str:
        self._meter.count_steps(1)
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self._source().seek(offset, whence))

    def write(self, text: str) -> int:
        if type(text) is not str:
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._check()
        if self._file is None:
            raise self._unsupported("not writable")
        self._file.write(text.encode("utf-8", "backslashreplace"))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Do nothing: what is written is on the disk."""

    def close(self) -> None:
        self.closed = True
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> TextFile:
        self._check()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<_io.TextIOWrapper name={self.name!r} mode={self.mode!r} encoding='UTF-8'>"


TextFile.__name__ = TextFile.__qualname__ = "TextIOWrapper"
NO_BYTES = "a program has no bytes; open the file as text"


def name_of(file: Any) -> Any:
    """Return the path that a function got: a name, a Path, or an open file's."""
    return file.name if type(file) is TextFile else file._path if type(file) is PathObject else file


class Files:
    """The functions of one run that open and find files: `open`, `os.listdir`, `os.path.getsize`, `glob.glob`."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter

    def open(
        self,
        file: str,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> TextFile:
        file = name_of(file)
        if type(file) is not str or type(mode) is not str:
            raise TypeError(f"expected str, not {type(mode if type(file) is str else file).__name__}")
        kind = mode.replace("t", "").replace("b", "")
        if kind not in ("r", "w", "a", "x"):
            raise ValueError(f"invalid mode: '{mode}'; a program reads or writes a file")
        if encoding is not None and encoding not in ENCODINGS:
            raise LookupError(f"unknown encoding: {encoding}")
        if "b" in mode:
            return TextFile(file, mode, self.meter)
        if kind == "r":
            text = decoded(permission.read(file, self.meter), encoding, errors)
            return TextFile(file, mode, self.meter, io.StringIO(text, newline))
        if kind == "x" and permission.seen(file, self.meter):
            raise permission.of_program(FileExistsError(17, "File exists", file))
        return TextFile(file, mode, self.meter, file=permission.create(file, self.meter, append=kind == "a"))

    def listdir(self, path: str = ".") -> list[str]:
        path = name_of(path)
        real = permission.readable(path, self.meter)
        with wall.lowered():
            if not os.path.isdir(real):
                raise permission.of_program(NotADirectoryError(20, "Not a directory", path))
            names = sorted(os.listdir(real))
        self.meter.count_steps(SEEN * len(names))
        return [name for name in names if permission.seen(os.path.join(real, name), self.meter)]

    def getsize(self, path: str) -> int:
        real = permission.readable(path, self.meter)
        with wall.lowered():
            return os.path.getsize(real)

    def glob(self, pathname: str, *, recursive: bool = False) -> list[str]:
        pathname = name_of(pathname)
        if type(pathname) is not str:
            raise TypeError(f"expected str, bytes or os.PathLike object, not {type(pathname).__name__}")
        with wall.lowered():
            from fnmatch import filter as matching
        head, parts = ("/", pathname[1:]) if pathname.startswith("/") else ("", pathname)
        found = [head]
        names = parts.split("/")
        for part, before in zip(names, ["", *names], strict=False):
            if part == "**" == before and recursive:
                continue  # a second one finds nothing more
            self.meter.count_steps(SEEN * len(found))
            if part == "**" and recursive:
                found = [path for folder in found for path in self._below(folder)]
            elif MAGIC.isdisjoint(part):
                found = [posixpath.join(folder, part) for folder in found]
            else:
                hidden = part.startswith(".")
                found = [
                    posixpath.join(folder, name)
                    for folder in found
                    for name in matching(self._inside(folder), part)
                    if hidden or name[0] != "."
                ]
        self.meter.count_steps(SEEN * len(found))
        return [path for path in found if path and permission.seen(path, self.meter)]

    def iglob(self, pathname: str, *, recursive: bool = False) -> Any:
        return iter(self.glob(pathname, recursive=recursive))

    def _inside(self, folder: str) -> list[str]:
        real = permission.seen(folder or ".", self.meter)
        with wall.lowered():
            is_folder = real is not None and os.path.isdir(real)
        return self.listdir(folder or ".") if is_folder else []

    def _below(self, folder: str) -> list[str]:
        found = [folder]
        for path in found:
            self.meter.count_steps(SEEN)
            found += [posixpath.join(path, name) for name in self._inside(path) if name[0] != "."]
        return found


for _name in ("getsize", "glob", "iglob", "listdir", "open"):
    named(vars(Files)[_name], _name)


def decoded(content: bytes, encoding: str | None = None, errors: str | None = None) -> str:
    if errors not in (None, "strict", "ignore", "replace"):
        raise LookupError(f"unknown error handler name '{errors}'")
    return content.decode(encoding or "utf-8", errors or "strict")


class Disk(NamedTuple):
    """What a PathObject needs of its run: `has` says what torch.save keeps, `make_folder` is os.makedirs."""

    has: Callable[[Any], bool]
    meter: Meter
    make_folder: Callable[[Any], Any]

    def passes(self, name: str, path: str) -> bool:
        return passes(name, path, self.has, self.meter)


class PathObject(Frozen):
    """The programs' version of pathlib.Path."""

    __slots__ = ("_disk", "_meter", "_path")
    __module__ = "pathlib"

    def __init__(self, disk: Disk, *parts: Any) -> None:
        texts = [name_of(part) for part in parts]
        if any(type(text) is not str for text in texts):
            raise TypeError("argument should be a str or an os.PathLike object where __fspath__ returns a str")
        whole = posixpath.join(*texts) if texts else ""
        start = "/" if whole.startswith("/") else ""
        self._path = start + "/".join(part for part in whole.split("/") if part not in ("", ".")) or "."
        self._disk, self._meter = disk, disk.meter

    def _same(self, *parts: Any) -> PathObject:
        return PathObject(self._disk, *parts)

    # ---- the text

    @property
    def name(self) -> str:
        return posixpath.basename(self._path) if self._path != "." else ""

    @property
    def suffix(self) -> str:
        return posixpath.splitext(self.name)[1]

    @property
    def stem(self) -> str:
        return posixpath.splitext(self.name)[0]

    @property
    def parent(self) -> PathObject:
        return self._same(posixpath.dirname(self._path))

    @property
    def parts(self) -> tuple[str, ...]:
        names = self._path.strip("/").split("/")
        return ("/", *names) if self._path.startswith("/") else tuple(names)

    def joinpath(self, *others: Any) -> PathObject:
        return self._same(self, *others)

    def with_suffix(self, suffix: str) -> PathObject:
        return self._same(posixpath.splitext(self._path)[0] + suffix)

    def with_name(self, name: str) -> PathObject:
        return self.parent / name

    def as_posix(self) -> str:
        return self._path

    def __truediv__(self, other: Any) -> Any:
        return self._same(self, other) if type(other) in (str, PathObject) else NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        return self._same(other, self) if type(other) is str else NotImplemented

    def __str__(self) -> str:
        return self._path

    def __repr__(self) -> str:
        return f"PosixPath({self._path!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is PathObject and self._path == other._path

    def __lt__(self, other: Any) -> Any:
        return self._path < other._path if type(other) is PathObject else NotImplemented

    def __hash__(self) -> int:
        return hash(self._path)

    # ---- the file

    def exists(self) -> bool:
        return self._disk.passes("exists", self._path)

    def is_file(self) -> bool:
        return self._disk.passes("isfile", self._path)

    def is_dir(self) -> bool:
        return self._disk.passes("isdir", self._path)

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        self._disk.make_folder(self._path)

    def iterdir(self) -> Any:
        return iter([self / name for name in Files(self._meter).listdir(self._path)])

    def glob(self, pattern: str) -> Any:
        found = Files(self._meter).glob(posixpath.join(self._path, pattern), recursive=True)
        return iter([self._same(path) for path in found])

    def rglob(self, pattern: str) -> Any:
        return self.glob(f"**/{pattern}")

    def open(self, *args: Any, **how: Any) -> TextFile:
        return Files(self._meter).open(self._path, *args, **how)

    def read_text(self, encoding: str | None = None, errors: str | None = None) -> str:
        return decoded(permission.read(self._path, self._meter), encoding, errors)

    def write_text(self, data: str, encoding: str | None = None) -> int:
        with self.open("w", encoding=encoding) as file:
            return file.write(data)


PathObject.__name__ = PathObject.__qualname__ = "PosixPath"


# ---- csv


def csv_module() -> Any:
    with wall.lowered():
        import csv

    return csv


def csv_names(meter: Meter) -> Names:
    csv = csv_module()

    def lines_of(rows: Any) -> Any:
        return metered(iter(rows), meter)

    def reader(csvfile: Any, dialect: str = "excel", **how: Any) -> Any:
        refuse_unknown("reader", how, OF_CSV)
        return metered(csv.reader(lines_of(csvfile), checked_dialect(dialect), **how), meter)

    def dict_reader(f: Any, fieldnames: Any = None, **how: Any) -> Any:
        rows = reader(f, **how)
        names = list(fieldnames) if fieldnames is not None else next(rows, [])
        return (dict(zip(names, row)) for row in rows if row)

    return {
        "reader": reader,
        "DictReader": named(dict_reader, "DictReader"),
        "writer": lambda csvfile, dialect="excel", **how: CsvWriter(csvfile, checked_dialect(dialect), how, meter),
    }


def checked_dialect(dialect: Any) -> str:
    if dialect not in ("excel", "excel-tab", "unix"):
        raise TypeError("a dialect is one of 'excel', 'excel-tab', 'unix'")
    return str(dialect)


class CsvWriter(Stream):
    """The programs' version of csv.writer; `_stream` is the program's file."""

    __slots__ = ("_dialect", "_how", "_meter")

    def __init__(self, file: Any, dialect: str, how: Names, meter: Meter) -> None:
        refuse_unknown("writer", how, OF_CSV)
        if not isinstance(file, Stream):
            raise TypeError('argument 1 must have a "write" method')
        self._stream, self._dialect, self._how, self._meter = file, dialect, how, meter

    def writerow(self, row: Any) -> int:
        line = io.StringIO()
        fields = charged(metered(iter(row), self._meter), self._meter)
        csv_module().writer(line, self._dialect, **self._how).writerow(fields)
        return int(self._stream.write(line.getvalue()))

    def writerows(self, rows: Any) -> None:
        for row in rows:
            self.writerow(row)


def charged(fields: Any, meter: Meter) -> Any:
    """Charge for the text of each field before it is written."""
    total = 0
    for field in fields:
        charge_text(field, meter)
        total += str.__len__(field) if isinstance(field, str) else 1
        meter.reserve(4 * total)
        yield field
