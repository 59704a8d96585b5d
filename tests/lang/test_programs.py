"""Programs without tensors print here what they print in Python, and end with the same exception."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gradtrace import lang
from gradtrace.errors import ProgramError

HERE = Path(__file__).parent
PROGRAMS = sorted((HERE / "programs").glob("*.py"))


def told(text: str) -> str:
    return re.sub("0x[0-9a-f]+", "0xADDR", text)


def in_python(path: Path) -> tuple[str, str]:
    """What Python prints, and the last line of its traceback."""
    done = subprocess.run([sys.executable, "-P", "-W", "ignore", path], capture_output=True, text=True, check=False)
    last = done.stderr.splitlines()[-1] if done.returncode else ""
    return told(done.stdout), told(last)


def here(path: Path) -> tuple[str, str]:
    """What the language prints, and the message of what it raises."""
    out = io.StringIO()
    error = ""
    try:
        lang.run(lang.parse(path.read_text(), path.name), stdout=out)
    except ProgramError as raised:
        error = raised.message
    return told(out.getvalue()), told(error)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_as_in_python(path: Path) -> None:
    assert here(path) == in_python(path)
