"""The man pages: those in docs/man are what docs/make_man.py writes today, and groff reads them without a warning."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

from gradtrace.cli.commands import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "man").glob("*.1"))


def test_the_pages_are_up_to_date():
    spec = importlib.util.spec_from_file_location("make_man", ROOT / "docs" / "make_man.py")
    make_man = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_man)
    written = {path.name: path.read_text(encoding="utf-8") for path in PAGES}
    assert set(written) == {"gradtrace.1", *(f"gradtrace-{name}.1" for name in COMMANDS)}
    assert written == make_man.pages(), "run: python docs/make_man.py"


def test_groff_reads_them_without_a_warning():
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("groff is not installed")
    done = subprocess.run(
        [groff, "-man", "-ww", "-Tutf8", "-Kutf8", *PAGES], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "gradtrace-tutorial" in done.stdout
