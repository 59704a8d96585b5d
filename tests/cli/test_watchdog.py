"""The limits on time and memory: native calls that take long, and memory that the process may not have."""

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
    return subprocess.run(
        [sys.executable, "-m", "gradtrace", "run", "./p.py", *options],
        cwd=folder,
        timeout=60,
        env={**os.environ, "PYTHONPATH": ROOT},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("name", LATE)
def test_the_wall_clock_ends_a_program(name, tmp_path):
    done = run(tmp_path, LATE[name], "--max-seconds", "1")
    first, *_ = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (1, "")
    assert first.startswith("p.py:") or first.startswith("./p.py:")
    assert "the program ran longer than 1 s; raise the limit with --max-seconds" in first
    assert "Traceback" not in done.stderr


BIG = {
    "creation": "torch.ones(1000, 1000, 1000)",
    "materialised": "torch.ones(1).expand(1000, 1000, 1000).contiguous()",
    "broadcast": "torch.ones(30000, 1) + torch.ones(1, 30000)",
    "repeat": "torch.ones(1000).repeat(1000, 1000)",
    "outer": "torch.outer(torch.ones(30000), torch.ones(30000))",
    "einsum": "torch.einsum('i,j->ij', torch.ones(30000), torch.ones(30000))",
    "matmul": "torch.ones(30000, 1) @ torch.ones(1, 30000)",
    "cat": "torch.cat([torch.ones(10000, 10000)] * 9)",
    "stack": "torch.stack([torch.ones(10000, 10000)] * 9)",
    "eye": "torch.eye(30000)",
    "one_hot": "torch.nn.functional.one_hot(torch.arange(30000))",
    "tolist": "torch.zeros(1).expand(10**9).tolist()",
    "cdist": "torch.cdist(torch.ones(30000, 1), torch.ones(30000, 1))",
    "pad": "torch.nn.functional.pad(torch.ones(1), (0, 10**9))",
    "gather": "torch.ones(1)[torch.zeros(1, dtype=torch.int64).expand(3 * 10**8)]",
    "arange": "torch.arange(10**10)",
    "meshgrid": "torch.meshgrid(torch.arange(30000), torch.arange(30000), indexing='ij')[0] + 1",
    "backward": "(lambda w: (w.expand(30000, 30000) * 2).sum().backward())(torch.ones(1, requires_grad=True))",
    "kept": "[torch.ones(10**8) for i in range(100)]",
}


@pytest.mark.parametrize("limit", ["--max-process", "--max-memory"])
@pytest.mark.parametrize(
    "name", ["arange", *(pytest.param(n, marks=pytest.mark.slow) for n in BIG if n != "arange")]
)
def test_memory_beyond_a_limit_is_an_error(name, limit, tmp_path):
    done = run(tmp_path, f"import torch\ny = {BIG[name]}\n", limit, "700000000")
    assert (done.returncode, done.stdout) == (1, ""), done
    assert "p.py:2:" in done.stderr and "Traceback" not in done.stderr
    assert limit in done.stderr


def test_a_program_that_catches_a_lack_of_memory_goes_on_within_the_limit(tmp_path):
    text = (
        "import torch\nx = 0\nfor i in range(3):\n    try:\n        x = torch.ones(10**10)\n"
        "    except MemoryError:\n        print('caught')\n"
    )
    done = run(tmp_path, text, "--max-memory", "100000000")
    assert (done.returncode, done.stdout) == (0, "caught\n" * 3), done


SMALL = {
    "lists": "x.append([1, 2, 3])",
    "graph": "w = w * 1.5",
    "objects": "x.append(A())",
    "nested": "x = (x,)",
    "names": "x.append('a' + str(len(x)))",
    "kept by a handler": "exec_()",
}


@pytest.mark.parametrize("memory", [15_000_000, pytest.param(50_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name", ["lists", *(pytest.param(n, marks=pytest.mark.slow) for n in SMALL if n != "lists")]
)
def test_small_values_end_before_python_itself_lacks_memory(name, memory, tmp_path):
    text = (
        "import torch\nw = torch.tensor(1.0, requires_grad=True)\nx = []\nclass A: pass\n"
        "def exec_():\n    try: x.append([1])\n    finally: x.append({})\n"
        f"while True:\n    try:\n        while True: {SMALL[name]}\n    except: pass\n"
    )
    done = run(tmp_path, text, f"--max-memory={memory}", "--max-seconds=30")
    assert (done.returncode, done.stdout) == (1, "") and "Traceback" not in done.stderr, done
    in_place = done.stderr.startswith("./p.py:") and "--max-memory" in done.stderr
    assert in_place or done.stderr == "gradtrace: out of memory; use smaller inputs\n", done


@pytest.mark.parametrize(
    "limit", ["--max-memory=0", "--max-process=0", "--max-memory=1", "--max-process=1000000"]
)
def test_however_small_the_limit_an_error_is_told(limit, tmp_path):
    done = run(tmp_path, "import torch\nx = torch.ones(10**8)\ny = x + x\n", limit)
    assert (done.returncode, done.stdout) == (
        1,
        "",
    ) and f"{limit.partition('=')[0]} or GRADTRACE_MAX" in done.stderr


def test_a_memory_error_of_the_programs_own_is_caught(tmp_path):
    text = "import torch\ntry:\n    raise MemoryError('mine')\nexcept MemoryError as e:\n    print(e)\n"
    assert run(tmp_path, text).stdout == "mine\n"


def test_no_limit_outlives_a_run(tmp_path):
    text = (
        "from gradtrace.cli import grants, guard\nimport resource\n"
        "from gradtrace.program.parse import parse\nfrom gradtrace.program.run import run\n"
        "guard.contain(grants.Grants())\n"
        "names = 'CORE CPU AS DATA STACK FSIZE'.split()\n"
        "read = lambda: [resource.getrlimit(getattr(resource, 'RLIMIT_' + n)) for n in names]\n"
        "before = read()\nrun(parse('x = 2.0\\nfor i in range(3): x += 1'))\nassert read() == before\nprint('same')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", text],
        env={**os.environ, "PYTHONPATH": ROOT},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "same\n", done
