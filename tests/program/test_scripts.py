"""Programs without tensors do the same, prints and errors, when they are recorded."""

from __future__ import annotations

import io
import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gradtrace.errors import ProgramError
from gradtrace.program.parse import parse
from gradtrace.program.run import run
from gradtrace.trace.keeper import Keeper

SCRIPTS = sorted((Path(__file__).parent / "programs").glob("*.py"))


def without_addresses(text: str) -> str:
    return re.sub("0x[0-9a-f]+", "0xADDR", text)


def in_python(path: Path) -> tuple[str, str]:
    """Return what Python prints, and the last line of its traceback."""
    command = [sys.executable, "-P", "-W", "ignore", path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    last = done.stderr.splitlines()[-1] if done.returncode else ""
    return without_addresses(done.stdout), without_addresses(last)


def recorded(path: Path) -> tuple[str, str]:
    """Return what a recorded run prints, and the message of its error."""
    out = io.StringIO()
    error = ""
    try:
        run(parse(path.read_text(), str(path)), stdout=out, record=Keeper)
    except ProgramError as raised:
        error = raised.message
    return without_addresses(out.getvalue()), without_addresses(error)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_recorded_script_does_what_python_does(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.root, "handlers", [])  # without those of pytest
    assert recorded(path) == in_python(path)
