"""Check the file name of -o: it must not overwrite an input of the command, nor a file of another
kind.

Anything but a regular file (a pipe, /dev/stdout) is accepted, since writing to it destroys nothing.
An existing file is accepted if its first bytes fit the format of its suffix: it may then be an
earlier output.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from gradtrace.annotations import Any, Iterator
from gradtrace.cli import source
from gradtrace.errors import UsageError
from gradtrace.views.suffixes import PICTURES

# How the files of a format begin, by suffix; of those not listed any text may be an earlier output.
BEGINNINGS: dict[str, tuple[bytes, ...]] = {
    **{f".{suffix}": picture.begins for suffix, picture in PICTURES.items() if picture.begins},
    ".jsonl": (b"{",),
    ".gt": (b"pk",),
    ".npz": (b"pk",),
    ".npy": (b"\x93numpy",),
    ".parquet": (b"par1",),
    ".arrow": (b"arrow1", b"\xff\xff\xff\xff"),
    ".feather": (b"arrow1", b"fea1"),
}
# what the lines of a tree begin with, after the first
TREE = ("├", "└", "│", "←", "|", "`", "<", " ")


def check(name: str, flags: dict[str, Any]) -> None:
    """Raise UsageError, before anything runs, if the output would overwrite an input or a file of
    another kind.
    """
    with suppress(OSError, ValueError):
        output = os.stat(name)
        for description, place in inputs_of(flags):
            if same(output, place):
                raise UsageError(
                    f"-o {name} would overwrite {description}", "choose another name for the output"
                )
        if stat.S_ISREG(output.st_mode) and output.st_size and not is_of_its_kind(name):
            kind = name.rpartition(".")[2] if "." in os.path.basename(name) else "text"
            raise UsageError(
                f"'{name}' is there and is not a .{kind} file that this could have written",
                "choose another name, or remove it first",
            )


def same(status: os.stat_result, place: str) -> bool:
    try:
        return os.path.samestat(status, os.stat(os.path.expanduser(place)))
    except (OSError, ValueError):
        return False


def inputs_of(flags: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield a description and the name of each file that the command reads."""
    for name in source.files():
        yield "the program", name
    for word in flags.get("words", ()):
        if source.is_file(word):
            yield "the program", word.removeprefix("@")
    values = {f"--{name}": text for name, text in flags.get("given", {}).items()}
    values |= {
        f"-s {text.partition('=')[0]}": text.partition("=")[2] for text in flags.get("set", ())
    }
    values |= {
        f"--set-b {text.partition('=')[0]}": text.partition("=")[2]
        for text in flags.get("set_b") or ()
    }
    for option, text in values.items():
        if text.strip().startswith("@"):
            yield f"the value of {option}", text.strip()[1:].partition("#")[0]
    for field, description in (
        ("params", "the values of --params"),
        ("data", "the table of --data"),
    ):
        if flags.get(field):
            yield description, flags[field]


def is_of_its_kind(name: str) -> bool:
    """Whether an existing file has the format of its suffix, judged by its first bytes."""
    with open(name, "rb") as file:
        start = file.read(4096)
    suffix = os.path.splitext(name)[1].lower()
    if suffix == ".txt":
        return is_tree(start)
    head = start.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    return head.startswith(BEGINNINGS[suffix]) if suffix in BEGINNINGS else b"\0" not in start


def is_tree(start: bytes) -> bool:
    """Whether a text is a graph drawn as a tree rather than a program, judged by its columns and
    branches.
    """
    first, *others = start.decode("utf-8", "replace").splitlines()
    branches = [line.startswith(TREE) for line in others[:-1] if line]
    return "   " in first.strip() and (not branches or branches[0])
