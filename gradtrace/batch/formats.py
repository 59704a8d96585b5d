"""Select the reader or writer of a table by its name."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from io import TextIOWrapper
from typing import IO, Any

from gradtrace.errors import UsageError
from gradtrace.lazy_names import word_pairs

TEXT = {"csv": ",", "tsv": "\t"}
ARROW = ("parquet", "arrow", "feather")
FORMATS = ("csv", "tsv", "jsonl", "npy", "npz", *ARROW)
SUFFIXES = {f".{kind}": kind for kind in FORMATS} | word_pairs(
    ".txt csv  .ndjson jsonl  .pq parquet"
)
KNOWN = "the formats are " + ", ".join(FORMATS)


def of_name(name: str, option: str, flag: str) -> str:
    """Return the format for the suffix of a file name; UsageError, with the option's name, for an
    unknown suffix.
    """
    kind = SUFFIXES.get(os.path.splitext(name)[1].lower())
    if kind is None:
        raise UsageError(
            f"{option}: cannot tell the format of '{name}'", f"set it with {flag}: {KNOWN}"
        )
    return kind


def reader(name: str, kind: str | None, stdin: Any) -> Any:
    """Return a reader of the table `name` ("-": the binary stream `stdin()`); UsageError if it
    cannot be read.
    """
    if name == "-":
        kind = kind or "csv"
        if kind not in (*TEXT, "jsonl"):
            raise UsageError(
                f"--data -: {kind} cannot be read from a pipe", "a pipe must be csv, tsv or jsonl"
            )
        return text_reader(stdin(), "<stdin>", kind)
    if not os.path.exists(name):
        raise UsageError(f"--data: no such file: '{name}'")
    if os.path.isdir(name) and kind is None:
        kind = "parquet"
    kind = kind or of_name(name, "--data", "--data-format")
    if kind in ARROW:
        from gradtrace.batch import arrow

        return arrow.reader(name, kind)
    if os.path.isdir(name):
        raise UsageError(
            f"--data: '{name}' is a folder", "a folder must contain Parquet, Arrow or Feather files"
        )
    if kind == "npy" or kind == "npz":
        from gradtrace.batch.arrays import NpyReader, NpzReader

        return NpyReader(name) if kind == "npy" else NpzReader(name)
    return text_reader(open(name, "rb"), name, kind)


def text_reader(stream: IO[bytes], name: str, kind: str, names: list[str] | None = None) -> Any:
    """Return a reader of a text stream; with `names`, the stream has no header row."""
    from gradtrace.batch.text import LinesReader, SeparatedReader

    text = TextIOWrapper(stream, "utf-8-sig", newline="" if kind in TEXT else None)
    lines = decoded(text, name)
    result: Any = (
        SeparatedReader(lines, name, TEXT[kind], names)
        if kind in TEXT
        else LinesReader(lines, name, names)
    )
    result.share = share_of(stream)
    result.text = text  # closes the stream when it is collected
    return result


def decoded(stream: IO[str], name: str) -> Iterator[str]:
    """Yield the lines of a text stream; raise UsageError at the first line that is not UTF-8."""
    try:
        yield from stream
    except UnicodeDecodeError:
        raise UsageError(f"{name}: not UTF-8 text", "save the file as UTF-8") from None


def share_of(stream: IO[bytes]) -> Callable[[], float] | None:
    """Return a function that reports the fraction of a file read so far; None for a pipe."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return None
    size = status.st_size
    return (lambda: stream.tell() / size) if stat.S_ISREG(status.st_mode) and size else None


def writer(stream: Any, kind: str, folder: str = ".") -> Any:
    """Return a writer of a table to a binary stream; `folder` is for temporary files."""
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
    """Return a writer of a text table to stdout; UsageError for other formats."""
    from gradtrace.batch.text import LinesWriter, SeparatedWriter

    if kind not in (*TEXT, "jsonl"):
        raise UsageError(
            f"{kind} cannot be written to a terminal or a pipe",
            "name a file with -o, or --format csv|tsv|jsonl",
        )
    return SeparatedWriter(sys.stdout, TEXT[kind]) if kind in TEXT else LinesWriter(sys.stdout)
