"""Programs that would eat the machine, each as a process with small limits: all end soon, with the limit named."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROGRAMS = (HERE / "exhaustion.txt").read_text().split("# ---\n")
LIMITS = [
    "--max-process=1500000000",
    "--max-memory=100000000",
    "--max-output=1000000",
    "--max-seconds=1",
]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("text", PROGRAMS, ids=lambda text: text.strip().splitlines()[-1][:60])
def test_a_limit_ends_it(text, tmp_path):
    env = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}
    command = [sys.executable, "-m", "gradtrace", "run", "-", *LIMITS]
    done = subprocess.run(
        command,
        input=text,
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done
    assert "raise the limit with --max-" in done.stderr and "Traceback" not in done.stderr
    assert len(done.stdout) <= 5_000_000
