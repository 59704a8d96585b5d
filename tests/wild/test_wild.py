"""Programs in the style of public scripts print what PyTorch prints, byte for byte, seeded random numbers included.

`python -m tests.wild.record` writes PyTorch's output.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fork_server import WARM_UP_ARRAYS, ForkServer
from tests.wild.record import HERE, programs


@pytest.mark.parametrize("path", programs(), ids=lambda path: path.stem)
def test_prints_what_pytorch_prints(
    path: Path, tmp_path: Path, is_forked: bool, fork_server: Callable[..., ForkServer]
) -> None:
    if is_forked:
        done = fork_server(WARM_UP_ARRAYS).run(["run", str(path)], cwd=tmp_path, env=os.environ)
    else:
        command = [sys.executable, "-m", "gradtrace", "run", str(path)]
        env = {**os.environ, "PYTHONPATH": str(HERE.parents[2])}
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (0, path.with_suffix(".out").read_text(encoding="utf-8")), done.stderr
    assert not list(tmp_path.iterdir()), "a file was written without --allow-write"


def test_there_are_sixty() -> None:
    assert len(programs()) >= 60
