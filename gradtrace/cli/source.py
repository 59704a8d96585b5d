"""Read the source argument: its syntax decides whether it is a file or an expression.

-                                             stdin
@FILE  ./FILE  ../FILE  /FILE  ~/FILE         a file; also .\\FILE, ..\\FILE and C:\\FILE
FILE.txt  FILE.py  FILE.expr  FILE.gt         a file: a program's text, or a recorded run (run FILE
          -o run.gt)
FILE.gtlog                                    a flight log, which only stats reads
FILE.SUFFIX                                   a file, if it exists
anything else                                 the expression itself (-e TEXT forces that)
"""

from __future__ import annotations

import os
import sys

from gradtrace.annotations import Any, NamedTuple
from gradtrace.errors import UsageError

STARTS = ("@", "./", "../", "/", "~", ".\\", "..\\")
DRIVE_ENDS = (":\\", ":/")  # C:\FILE, C:/FILE
SUFFIXES = (".txt", ".py", ".expr", ".gt", ".gtlog")
# bytes read of a source at most; the limit of programs is lower and has its own message
LONGEST = 16_000_000
RECORD = b"PK\x03\x04"  # what the file of a recorded run begins with
LOG = b"GTLOG "  # and a flight log
AGAIN = "record the run again: gradtrace run FILE -o RUN.gt"
EXPRESSION = "<expression>"
STDIN = "<stdin>"
STDIN_PATHS = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")


class Source(NamedTuple):
    """A program's text and its name in error messages; `record` is the open file of a recorded run
    or a flight log.
    """

    name: str
    text: str
    record: Any = None
    is_log: bool = False


def is_file(argument: str) -> bool:
    """Whether the argument has the form of a file name, or a suffix and is the name of a file."""
    on_a_drive = argument[:1].isalpha() and argument[1:3] in DRIVE_ENDS
    if on_a_drive or argument.startswith(STARTS) or argument.lower().endswith(SUFFIXES):
        return True
    return "." in argument and bool(os.path.splitext(argument)[1]) and os.path.isfile(argument)


def check_kind(name: str, content: bytes) -> None:
    """Raise UsageError for a file that is not a program, a record of a run or a flight log."""
    from gradtrace.cli import hints

    problem, remedy = hints.of_file(name, content)
    if problem:
        raise UsageError(problem, remedy)


_read: dict[tuple[str, bool], Source] = {}


def read(argument: str, always_file: bool = False, is_note: bool = False) -> Source:
    """Return the source that an argument names; raise UsageError if its file cannot be read, is not
    text, or is of another kind: data or, unless `is_note`, a notebook.

    Each source is read only once, since it may be a pipe.
    """
    key = argument, always_file
    if key not in _read:
        _read[key] = _read_now(argument, always_file, is_note)
    return _read[key]


def _read_now(argument: str, always_file: bool, is_note: bool) -> Source:
    if argument == "-":
        return Source(STDIN, decode(read_stdin("the source", LONGEST), STDIN))
    if always_file or is_file(argument):
        name = argument.removeprefix("@")
        hint = "" if always_file else "an expression that looks like a file's name is given with -e"
        return of_file(name, hint, is_note)
    return Source(EXPRESSION, argument)


def of_file(name: str, hint: str, is_note: bool) -> Source:
    """Return the source in a file; a recorded run stays open, since it is large and read only when
    needed.
    """
    with reported(name, hint):
        file = opened(name)
        content = file.read(LONGEST)
        if not is_note:
            check_kind(name, content)
        if not content.startswith((RECORD, LOG)):
            file.close()
            return Source(name, decode(content, name))
        is_log = content.startswith(LOG)
        if file.seekable():
            return Source(name, "", file, is_log)
        import io

        return Source(name, "", io.BytesIO(content + file.read()), is_log)


def read_bytes(name: str, longest: int = -1, hint: str = "", who: str = "") -> bytes:
    """Return at most `longest` bytes of a file; raise UsageError, which starts with `who`, if it
    cannot be read.
    """
    with reported(name, hint, who), opened(name) as file:
        return file.read(longest)


def opened(name: str) -> Any:
    """Open a file for reading. The kernel lets a confined process read stdin, but not open it by
    its path.
    """
    if name in STDIN_PATHS:
        return open(0, "rb", closefd=False)
    return open(os.path.expanduser(name), "rb")


class reported:
    """Context manager that converts an OSError about a file to a UsageError. The message begins
    with `who`; a missing file gets `hint`.
    """

    def __init__(self, name: str, hint: str = "", who: str = "") -> None:
        if not name:
            raise UsageError("a file's name is missing after '@'")
        self.name = name
        self.hint = hint
        self.who = who

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if isinstance(error, FileNotFoundError):
            raise UsageError(f"{self.who}no such file: '{self.name}'", self.hint) from None
        if isinstance(error, OSError):
            reason = (error.strerror or str(error)).lower()
            raise UsageError(f"{self.who}cannot read '{self.name}': {reason}") from None
        if isinstance(error, ValueError):  # a NUL character in the name
            raise UsageError(f"{self.who}cannot read '{self.name}': {error}") from None


def decode(content: bytes, name: str) -> str:
    """Decode a source's text: UTF-8, with or without a byte order mark, with any line endings."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if name.lower().endswith(".gt"):
            raise UsageError(f"'{name}' is damaged: it is not a record of a run", AGAIN) from None
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{name}:{line}: not UTF-8 text", "save the file as UTF-8") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


_stdin_taken_by = ""


def read_stdin(purpose: str, longest: int = -1) -> bytes:
    """Read all of stdin; raise UsageError if it was read before, or is closed."""
    stream = stdin_for(purpose)
    try:
        content: bytes = stream.read(longest)
        return content
    except OSError as error:
        raise UsageError(f"cannot read stdin: {(error.strerror or str(error)).lower()}") from None


def stdin_for(purpose: str) -> Any:
    """Return stdin as a stream; raise UsageError if it was read before, or is closed."""
    global _stdin_taken_by
    if _stdin_taken_by:
        raise UsageError(
            f"stdin is already read for {_stdin_taken_by}", f"give {purpose} from a file"
        )
    _stdin_taken_by = purpose
    if sys.stdin is None:
        raise UsageError(f"stdin is closed, so {purpose} cannot be read")
    return sys.stdin.buffer


def files() -> list[str]:
    """Return the names of the files that sources were read from."""
    return [
        name.removeprefix("@")
        for name, always in _read
        if name != "-" and (always or is_file(name))
    ]


def forget() -> None:
    """Reset the state between command lines that run in one process, in tests."""
    global _stdin_taken_by
    _stdin_taken_by = ""
    for program in _read.values():
        if program.record is not None:
            program.record.close()
    _read.clear()
