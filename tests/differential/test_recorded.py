"""The programs of `cases/` print in gradtrace what they printed in PyTorch, as a library and in the language."""

from __future__ import annotations

import io
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import gradtrace
from gradtrace import lang
from gradtrace.errors import GradtraceError

from . import recorded

PROGRAMS = [
    pytest.param(path, title, id=f"{path.stem}: {title}")
    for path in recorded.files()
    for title in recorded.sections(path)
]


def program(path: Path, title: str) -> str:
    return recorded.sections(path)[title]


def answer(path: Path, title: str) -> str:
    return recorded.sections(path.with_suffix(".out"))[title]


@pytest.mark.parametrize(("path", "title"), PROGRAMS)
def test_prints_what_was_recorded(path: Path, title: str) -> None:
    assert recorded.printed(program(path, title), gradtrace) == answer(path, title)


@pytest.mark.parametrize(("path", "title"), PROGRAMS)
def test_the_language_prints_it_too(path: Path, title: str) -> None:
    if recorded.is_library_only(program(path, title)):
        pytest.skip("uses what the language does not have")
    out = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            lang.run(lang.parse(recorded.OPENING + program(path, title), "case"), stdout=out)
        except GradtraceError as error:
            out.write(error.message.partition("\n")[0])
    assert recorded.tidy(out.getvalue()) == answer(path, title)


@pytest.mark.parametrize(("path", "title"), PROGRAMS)
def test_pytorch_prints_what_was_recorded(path: Path, title: str) -> None:
    torch = pytest.importorskip("torch", reason="the recorded answers are PyTorch's: pip install torch==2.13.0")
    text = program(path, title)
    found = printed_apart(text) if "catch_warnings" in text else recorded.printed(text, torch)
    assert found == answer(path, title)


def printed_apart(text: str) -> str:
    """What a program prints in a process of its own: PyTorch gives some warnings once in each."""
    code = "import sys, torch; from tests.differential import recorded; "
    code += "print(recorded.printed(sys.stdin.read(), torch), end='')"
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], input=text, capture_output=True, text=True, cwd=root, check=True
    )
    return done.stdout
