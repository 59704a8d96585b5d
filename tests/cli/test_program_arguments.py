"""Arguments after `--` are the program's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

TEXT = """import argparse, sys
parser = argparse.ArgumentParser(description='d')
parser.add_argument('--lr', type=float, default=0.1, help='rate (default: %(default)s)')
parser.add_argument('files', nargs='*')
args = parser.parse_args()
print(args.lr, args.files, sys.argv[1:])
"""


def run(folder: Path, *args: str) -> tuple[int, str, str]:
    (folder / "script.py").write_text(TEXT)
    command = [sys.executable, "-m", "gradtrace", "run", "script.py", *args]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def test_they_reach_argparse(tmp_path: Path) -> None:
    assert run(tmp_path, "--", "--lr", "3", "a") == (0, "3.0 ['a'] ['--lr', '3', 'a']\n", "")
    assert run(tmp_path) == (0, "0.1 [] []\n", "")
    assert run(tmp_path, "--max-seconds", "60", "--", "-h")[:2] == (
        0,
        "usage: script.py [-h] [--lr LR] [files ...]\n\nd\n\npositional arguments:\n  files\n\noptions:\n"
        "  -h, --help  show this help message and exit\n  --lr LR     rate (default: 0.1)\n",
    )


def test_a_wrong_one_ends_the_program_as_argparse_does(tmp_path: Path) -> None:
    status, out, err = run(tmp_path, "--", "--none")
    assert (status, out) == (2, "")
    assert (
        err
        == "usage: script.py [-h] [--lr LR] [files ...]\nscript.py: error: unrecognized arguments: --none\n"
    )


def test_before_the_dashes_they_are_the_tool_s(tmp_path: Path) -> None:
    status, _, err = run(tmp_path, "--lr", "3")
    assert status == 2 and "no such option '--lr'" in err
