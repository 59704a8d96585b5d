"""Programs that would eat the machine, each as a process with small limits: all end soon, with the limit named."""

import os
import re
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
    "--max-flops=100000000000",
]
SOON = ["--max-seconds=0.5", "--max-steps=1000000"]
LATER = ["--max-seconds=2", "--max-steps=2000000"]
LATE = ["--max-seconds=3", "--max-steps=3000000"]  # with time for the other limits to be reached, in the slow stage
ARRAYS = re.compile(r"torch|numpy")  # a program on arrays has more time: loading numpy is part of it


@pytest.mark.parametrize("text", PROGRAMS, ids=lambda text: text.strip().splitlines()[-1][:60])
def test_a_limit_ends_it(text, tmp_path, server):
    env = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}
    if server:
        limits = LATER if ARRAYS.search(text) else SOON
        done = server.run(["run", "-", *LIMITS, *limits], cwd=tmp_path, env=env, text=text)
    else:
        command = [sys.executable, "-m", "gradtrace", "run", "-", *LIMITS, *LATE]
        done = subprocess.run(
            command, input=text, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False
        )
    assert done.returncode == 1
    assert "raise the limit with --max-" in done.stderr and "Traceback" not in done.stderr
    assert len(done.stdout) <= 1_000_000
