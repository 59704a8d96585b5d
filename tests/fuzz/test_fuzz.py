"""A short run of every target, and what the long runs found."""

import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from gradtrace.sandbox.channel import ASK, DATA, END  # noqa: E402
from tests.fuzz.protocol import frame  # noqa: E402
from tests.fuzz.targets import TARGETS  # noqa: E402


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_a_short_run(target, tmp_path):
    options = ["--executions", "200", "--crashes", str(tmp_path)]
    command = [sys.executable, "-m", "tests.fuzz", target, *options]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + "".join(p.read_text() for p in tmp_path.iterdir())


def archive(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        for name, content in members.items():
            made.writestr(f"{name}.npy", content)
    return out.getvalue()


RECORDS = (
    b"\x93NUMPY\x01\x00\x46\0{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }".ljust(
        80
    )
    + bytes(8)
)
TEXTS = (
    b"\x93NUMPY\x01\x00\x46\0{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }".ljust(80)
    + b"b\xef\xbb\xbf"
)


def exchange(request: dict[str, object], content: object) -> bytes:
    frames = (ASK, request), (DATA, content), (END, {})
    return b"".join(frame(kind, json.dumps(word).encode()) for kind, word in frames)


def table(**fields: object) -> dict[str, object]:
    return {
        "table": {"rows": 9, "part_rows": 3, "names": [], "offsets": []} | fields,
        "there": {},
        "constants": {},
    }


FOUND = {
    "a table with too few offsets": (
        "protocol",
        exchange({"ask": "cluster"}, table(offsets=[0, 9, 12])),
    ),
    "a table of too many parts": ("protocol", exchange({"ask": "cluster"}, table(rows=1 << 40))),
    "a name that no terminal should show": (
        "protocol",
        exchange({"ask": "entry", "names": ["\x1b[2J"]}, {}),
    ),
    "an archive cut short": (
        "tables",
        ("f.npz", b"PK\x03\x04-\0\0\0\x08\0\0\0!\x009\xfb\x8f?", ""),
    ),
    "no UTF-8 behind the first line": ("tables", ("f.tsv", b"x,w\n1,2\n3,4\xc4", "w")),
    "an archive with a member that is not an array": ("npy", ("f.npz", archive(x=b"text"), "x")),
    "a row shorter than the names": ("csv", ("f.txt", b'"x y","w"\n"12$"', "w")),
    "an operator on None": ("writers", "nan_to_num(None)"),
    "an operator on None and lists": ("writers", "fmod(None, [[]]) * 2"),
    "a column of records": ("tables", ("f.npz", archive(x=RECORDS), "")),
    "the smallest numbers": ("numbers", ("float64", [5e-324, 0.0])),
    "texts that are none": ("tables", ("f.npz", archive(x=TEXTS), "")),
    "rows of different lengths": ("value", "ones(2, 3) ; ones(3)"),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found(name, tmp_path):
    target, made = FOUND[name]
    code = f"from tests.fuzz.targets import TARGETS; TARGETS[{target!r}].run({made!r})"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
