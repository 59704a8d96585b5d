"""A short run of every target, and what the long runs found."""

import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.fuzz.targets import TARGETS  # noqa: E402


@pytest.mark.parametrize("target", TARGETS)
def test_a_short_run(target, tmp_path):
    command = [sys.executable, "-m", "tests.fuzz", target, "--executions", "200", "--crashes", str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + "".join(p.read_text() for p in tmp_path.iterdir())


def archive(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        for name, content in members.items():
            made.writestr(f"{name}.npy", content)
    return out.getvalue()


FOUND = {
    "an archive cut short": ("tables", ("f.npz", b"PK\x03\x04-\0\0\0\x08\0\0\0!\x009\xfb\x8f?", "")),
    "no UTF-8 behind the first line": ("tables", ("f.tsv", b"x,w\n1,2\n3,4\xc4", "w")),
    "an archive with a member that is no array": ("npy", ("f.npz", archive(x=b"text"), "x")),
    "more combinations than fit": ("evaluate", "import torch\ntorch.combinations(torch.arange(10 ** 5), 4)"),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    target, made = FOUND[name]
    TARGETS[target].run(made)
