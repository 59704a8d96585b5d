"""What no counting of steps can hold: a native call that takes long, and memory that the process may not have."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = str(Path(__file__).parents[2])
LATE = {
    "one native call": "import torch\nx = torch.randn(9000, 9000, dtype=torch.float64)\ny = torch.linalg.svd(x)\n",
    "native calls in a row": "import torch\nx = torch.randn(3000, 3000)\nfor i in range(4000):\n    y = x @ x\n",
    "an error that is caught": "x = 1.0\nwhile True:\n    try:\n        x = x + 1\n    except:\n        pass\n",
}


def run(folder, text, *options):
    (folder / "p.py").write_text(text)
    return subprocess.run([sys.executable, "-m", "gradtrace", "run", "./p.py", *options], cwd=folder, timeout=60,
                          env={**os.environ, "PYTHONPATH": ROOT}, capture_output=True, text=True)


@pytest.mark.parametrize("name", LATE)
def test_the_wall_clock_ends_a_program(name, tmp_path):
    done = run(tmp_path, LATE[name], "--max-seconds", "1")
    first, *_ = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (1, "")
    assert first.startswith("p.py:") or first.startswith("./p.py:")
    assert "the program ran longer than 1 s; raise the limit with --max-seconds" in first
    assert "Traceback" not in done.stderr


def test_memory_beyond_the_processs_share_is_an_error_with_a_place(tmp_path):
    text = "import torch\nkept = [torch.ones(1000, 1000, 1000)]\n"
    done = run(tmp_path, text, "--max-process", "3000000000")
    assert done.returncode == 1
    assert "p.py:2:" in done.stderr and "MemoryError" in done.stderr and "--max-process" in done.stderr


def test_no_limit_outlives_a_run(tmp_path):
    text = "from gradtrace.cli import guard\nimport resource\nfrom gradtrace import lang\nguard.contain()\n" \
           "names = 'CORE CPU AS STACK FSIZE'.split()\n" \
           "read = lambda: [resource.getrlimit(getattr(resource, 'RLIMIT_' + n)) for n in names]\n" \
           "before = read()\nlang.run(lang.parse('x = 2.0'))\nassert read() == before\nprint('same')\n"
    done = subprocess.run([sys.executable, "-c", text], env={**os.environ, "PYTHONPATH": ROOT}, cwd=tmp_path,
                          capture_output=True, text=True, timeout=60)
    assert done.stdout == "same\n", done
