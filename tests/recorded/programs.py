"""Programs with what PyTorch 2.13 prints for them on the CPU: a folder for each subject of `SUBJECTS`.

A program is a file, or a section of a file below a heading `# ---- title`: a section runs after `OPENING`, and an
error is the last line of its answer. Answers are in `NAME.out` beside the program, or in the folder's `answers.zip`,
with addresses as 0xADDR. `python -m tests.recorded.record` writes them.
"""

from __future__ import annotations

import contextlib
import io
import re
import warnings
import zipfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
HEADING = "# ---- "
LIBRARY_ONLY = "# library only"  # the first line of a section for which the language has no names
OPENING = '''\
import torch
import torch.nn as nn
import torch.nn.functional as F
import numpy as np

def show(*calls):
    """Print the result of each call, or its error."""
    for call in calls:
        try:
            print(call())
        except Exception as error:
            print(f"{type(error).__name__}: {error}".partition("\\n")[0])

'''
# What loads gradtrace under PyTorch's names.
IMPORTS = (
    (r"^import torch\.([\w.]+) as", r"import gradtrace.\1 as"),
    (r"^from torch([\w.]*) import", r"from gradtrace\1 import"),
    (r"^import torch$", "import gradtrace as torch"),
)


class Subject(NamedTuple):
    """`ways`: how the tests run its programs. `packed`: the answers are in `answers.zip`, as nobody reads so many."""

    ways: tuple[str, ...]
    packed: bool = False


# command: `gradtrace run`; library: gradtrace imported as torch; language: in this process; pytorch: PyTorch itself
SUBJECTS = {
    "behaviour": Subject(("command",)),  # the semantics, one matter in each program
    "cases": Subject(("library", "language", "pytorch"), packed=True),  # small ones, many in a file
    "distributions": Subject(("command",), packed=True),
    "func": Subject(
        ("library", "language"), packed=True
    ),  # torch.func and torch.autograd.functional
    "neighbours": Subject(("command",), packed=True),  # what lies around autograd
    "nn": Subject(("library", "language"), packed=True),
    "seeds": Subject(("command",)),  # the cells of five tutorial notes on computational graphs
    "tutorials": Subject(("command",)),  # small programs of the kind that tutorials show
    "wild": Subject(
        ("command",)
    ),  # in the style of public scripts: data, training, plots, command lines
}


class Program(NamedTuple):
    path: Path
    title: str  # of a section, or ""
    source: str

    @property
    def subject(self) -> str:
        return self.path.parent.name

    @property
    def name(self) -> str:
        return f"{self.subject}/{self.path.stem}" + (f": {self.title}" if self.title else "")

    @property
    def answer(self) -> str:
        text = answers(self.subject)[self.path.stem]
        return sections(text)[self.title] if self.title else text

    @property
    def is_library_only(self) -> bool:
        return self.source.startswith(OPENING + LIBRARY_ONLY)

    def tidy(self, text: str) -> str:
        """Return what was printed in the form of an answer."""
        text = re.sub(
            "0x[0-9a-f]+",
            "0xADDR",
            text.replace("gradtrace.engine.data.tensor.Tensor", "torch.Tensor"),
        )
        return text.strip("\n") if self.title else text


def paths(subject: str) -> list[Path]:
    """Every file of a subject, without those whose numbers are random (`NAME.expect.md` says what must hold)."""
    return [
        path
        for path in sorted((HERE / subject).glob("*.py"))
        if not path.with_suffix(".expect.md").exists()
    ]


def in_file(path: Path) -> list[Program]:
    source = path.read_text(encoding="utf-8")
    if not source.startswith(HEADING):
        return [Program(path, "", source)]
    return [Program(path, title, f"{OPENING}{text}\n") for title, text in sections(source).items()]


def programs(way: str) -> list[Program]:
    """Every program that is run in this way."""
    subjects = [name for name, subject in SUBJECTS.items() if way in subject.ways]
    return [program for subject in subjects for path in paths(subject) for program in in_file(path)]


@cache
def sections(text: str) -> dict[str, str]:
    """Return the text below each heading."""
    found: dict[str, str] = {}
    for section in ("\n" + text).split("\n" + HEADING)[1:]:
        title, _, below = section.partition("\n")
        assert title not in found, f"two programs named {title!r}"
        found[title] = below.strip("\n")
    return found


@cache
def answers(subject: str) -> dict[str, str]:
    """Return the answer to each file of a subject, by the file's stem."""
    folder = HERE / subject
    if not SUBJECTS[subject].packed:
        return {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.out")}
    if not (folder / "answers.zip").exists():
        return {}
    with zipfile.ZipFile(folder / "answers.zip") as file:
        return {name.removesuffix(".out"): file.read(name).decode() for name in file.namelist()}


def printed(program: Program, library: str = "torch", names: dict[str, Any] | None = None) -> str:
    """Return what a program prints in this process with `library` as torch."""
    source = program.source
    for pattern, replacement in IMPORTS if library == "gradtrace" else ():
        source = re.sub(pattern, replacement, source, flags=re.MULTILINE)
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(
                compile(source, str(program.path), "exec"),
                {"__name__": "__main__"} if names is None else names,
            )
        except Exception as error:
            if not program.title:
                raise
            print(f"{type(error).__name__}: {error}".partition("\n")[0])
    return program.tidy(out.getvalue())
