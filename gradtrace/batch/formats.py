"""Which reader or writer a table's name asks for."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from io import TextIOWrapper
from typing import IO, Any

from gradtrace.errors import UsageError

TEXT = {"csv": ",", "tsv": "\t"}
ARROW = ("parquet", "arrow", "feather")
FORMATS = ("csv", "tsv", "jsonl", "npy", "npz", *ARROW)
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".npy": "npy",
    ".npz": "npz",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "feather",
}
KNOWN = "the formats are " + ", ".join(FORMATS)


def of_name(name: str, option: str, flag: str) -> str:
    """The format that a file's suffix names."""
    found = SUFFIXES.get(os.path.splitext(name)[1].lower())
    if found is None:
        raise UsageError(f"{option}: cannot tell the format of '{name}'", f"name it with {flag}: {KNOWN}")
    return found


def reader(name: str, kind: str | None, stdin: Any) -> Any:
    """A reader of the table `name` ("-": stdin, given as a binary stream by `stdin()`). UsageError if there is none."""
    if name == "-":
        kind = kind or "csv"
        if kind not in (*TEXT, "jsonl"):
            raise UsageError(f"--data -: {kind} cannot be read from a pipe", "a pipe carries csv, tsv or jsonl")
        return text_reader(stdin(), "<stdin>", kind)
    if not os.path.exists(name):
        raise UsageError(f"--data: no such file: '{name}'")
    if os.path.isdir(name) and kind is None:
        kind = "parquet"
    kind = kind or of_name(name, "--data", "--from")
    if kind in ARROW:
        from gradtrace.batch import arrow

        return arrow.reader(name, kind)
    if os.path.isdir(name):
        raise UsageError(f"--data: '{name}' is a folder", "a folder is one of Parquet, Arrow or Feather files")
    if kind == "npy" or kind == "npz":
        from gradtrace.batch.arrays import NpyReader, NpzReader

        return NpyReader(name) if kind == "npy" else NpzReader(name)
    return text_reader(open(name, "rb"), name, kind)


def text_reader(stream: IO[bytes], name: str, kind: str, names: list[str] | None = None) -> Any:
    """A reader of a stream of text; of its rows alone, where the columns' `names` are given."""
    from gradtrace.batch.text import LinesReader, SeparatedReader

    text = TextIOWrapper(stream, "utf-8-sig", newline="" if kind in TEXT else None)
    lines = decoded(text, name)
    made: Any = SeparatedReader(lines, name, TEXT[kind], names) if kind in TEXT else LinesReader(lines, name, names)
    made.share = share_of(stream)
    made.text = text  # which closes the stream when it goes
    return made


def decoded(stream: IO[str], name: str) -> Iterator[str]:
    """The lines; UsageError where they are no UTF-8, which may be far behind the first."""
    try:
        yield from stream
    except UnicodeDecodeError:
        raise UsageError(f"{name}: not UTF-8 text", "save the file as UTF-8") from None


def share_of(stream: IO[bytes]) -> Callable[[], float] | None:
    """A function that says which share of a file has been read; None for a pipe."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return None
    size = status.st_size
    return (lambda: stream.tell() / size) if stat.S_ISREG(status.st_mode) and size else None


def writer(stream: Any, kind: str, folder: str = ".") -> Any:
    """A writer onto a binary stream; `folder` is where it may keep files on the way."""
    if kind in ARROW:
        from gradtrace.batch import arrow

        return arrow.Writer(stream, kind)
    if kind == "npy" or kind == "npz":
        from gradtrace.batch.arrays import NpyWriter, NpzWriter

        return NpyWriter(stream) if kind == "npy" else NpzWriter(stream, folder)
    from gradtrace.batch.text import LinesWriter, SeparatedWriter

    text = TextIOWrapper(stream, "utf-8", newline="", write_through=False)
    return SeparatedWriter(text, TEXT[kind]) if kind in TEXT else LinesWriter(text)


def onto_stdout(kind: str) -> Any:
    """A writer of text onto stdout."""
    from gradtrace.batch.text import LinesWriter, SeparatedWriter

    if kind not in (*TEXT, "jsonl"):
        raise UsageError(f"{kind} is not written to a terminal or a pipe", "give a file with -o, or --to csv|tsv|jsonl")
    return SeparatedWriter(sys.stdout, TEXT[kind]) if kind in TEXT else LinesWriter(sys.stdout)
