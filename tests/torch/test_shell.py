"""`--engine torch` on the command line: the script in real PyTorch, as under plain Python, and its record shown."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.slow  # each starts torch in a process of its own, some twice

DETACHED = """import torch
w = torch.tensor(1., requires_grad=True)
x = torch.tensor(2., requires_grad=True)
loss = (w.detach() * x + x) ** 2
loss.backward()
"""


def gradtrace(*args, cwd, **options):
    command = [sys.executable, "-m", "gradtrace", *args]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=300, check=False, **options
    )


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.py").write_text(DETACHED)
    return tmp_path


CANCELS = """import torch
x = torch.randn(32, 8, requires_grad=True)
h = x * 0.01 + 100
loss = ((h * h).mean(0) - h.mean(0) ** 2).sum()
loss.backward()
"""


def test_the_precision_of_a_script(folder):
    (folder / "train.py").write_text(CANCELS)
    done = gradtrace("why", "--precision", "--engine", "torch", "train.py", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (
        " on line 4, " in done.stdout
        and "mean((h - torch.mean(h, 0, keepdim=True)) ** 2, 0)" in done.stdout
    )
    picture = ("graph", "--color-by", "precision", "--engine", "torch", "train.py", "-o", "p.svg")
    done = gradtrace(*picture, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "<svg" in (folder / "p.svg").read_text()


@pytest.mark.parametrize("first", ["from common import *", "import os\nfrom common import *"])
def test_advice_to_a_program_that_has_pytorch_from_another_module(folder, first):
    (folder / "common.py").write_text("import torch\n")
    lines = f"{first}\nw = torch.zeros(3, requires_grad=True)\nloss = -torch.log(w).mean()\nloss.backward()\n"
    (folder / "taken.py").write_text(lines)
    done = gradtrace("why", "--engine", "torch", "taken.py", "w", cwd=folder)
    assert f"- torch.log(w.clamp(min=1e-8)) on line {lines.count(chr(10)) - 1}\n" in done.stdout


def test_every_command_that_knows_the_engine(folder):
    done = gradtrace("why", "--engine", "torch", "train.py", "w", cwd=folder)
    assert done.returncode == 0
    assert done.stdout.startswith(
        "w.grad is None: loss depends on it only through detach() on line 4."
    )
    assert (
        done.stderr
        == "gradtrace why: train.py runs in real PyTorch with full rights: files, network, processes\n"
    )
    done = gradtrace("graph", "--engine=torch", "train.py", "-o", "run.gt", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "")
    for command in ("why", "graph", "stats", "trace", "eval"):
        of_file = gradtrace(command, "run.gt", cwd=folder)
        assert of_file.returncode == 0, of_file.stderr
        assert "loss" in of_file.stdout
    assert (
        json.loads(
            gradtrace("eval", "run.gt", "--get", "x.grad", "--format", "json", cwd=folder).stdout
        )
        == 16.0
    )
    done = gradtrace("diff", "--engine", "torch", "train.py", "train.py", cwd=folder)
    assert done.returncode == 0, done.stdout


def test_a_record_of_pytorch_is_not_run_again(folder):
    gradtrace("graph", "--engine", "torch", "train.py", "-o", "run.gt", cwd=folder)
    for args in (
        ["eval", "run.gt", "--backward", "2"],
        ["run", "run.gt"],
        ["check", "run.gt"],
        ["paths", "run.gt"],
    ):
        done = gradtrace(*args, cwd=folder)
        assert done.returncode == 2, args
        assert "is a recorded run of PyTorch, which cannot be run again here" in done.stderr


def test_a_command_says_why_it_takes_no_record_of_pytorch(folder):
    """It proposes nothing that the command would refuse too."""
    gradtrace("graph", "--engine", "torch", "train.py", "-o", "run.gt", cwd=folder)
    said = {
        command: gradtrace(command, "run.gt", cwd=folder).stderr
        for command in ("paths", "check", "jacobian")
    }
    assert "no local derivatives, which are multiplied along a path" in said["paths"]
    assert (
        "as this command would need" in said["check"]
        and "answer from the record alone" in said["jacobian"]
    )
    assert not any("--engine torch" in text or "leave out" in text for text in said.values())


SCRIPT = """import sys, os
import neighbour
import torch
print("args", sys.argv, __name__, os.path.basename(__file__), neighbour.VALUE, sys.stdin.read())
w = torch.ones(2, requires_grad=True)
loss = neighbour.scaled(w).sum()
loss.backward()
END
loss2 = loss * 2
"""
NEIGHBOUR = """import torch
VALUE = 7
def scaled(w):
    h = w * 3
    return h.detach() if VALUE > 7 else h
"""


@pytest.fixture
def script(tmp_path):
    def write(end):
        (tmp_path / "neighbour.py").write_text(NEIGHBOUR)
        (tmp_path / "train.py").write_text(SCRIPT.replace("END", end))
        return tmp_path

    return write


def test_a_script_behaves_as_under_plain_python(script):
    folder = script("sys.exit(3)")
    plain = subprocess.run(
        [sys.executable, "train.py", "--lr", "1"],
        cwd=folder,
        capture_output=True,
        text=True,
        input="in",
        check=False,
    )
    done = gradtrace(
        "run", "--engine", "torch", "train.py", "--", "--lr", "1", cwd=folder, input="in"
    )
    assert (done.stdout, done.returncode) == (plain.stdout, plain.returncode) == (plain.stdout, 3)
    assert "args ['train.py', '--lr', '1'] __main__ train.py 7 in" in plain.stdout
    done = gradtrace(
        "why", "--engine", "torch", "train.py", "w", "--", "--lr", "1", cwd=folder, input="in"
    )
    assert done.stdout.startswith("w.grad is [3, 3], from backward on line 7.")
    assert plain.stdout in done.stderr


def test_a_script_that_raises_is_answered_from(script):
    folder = script("raise ValueError('mine')")
    plain = subprocess.run(
        [sys.executable, "train.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        input="",
        check=False,
    )
    done = gradtrace("why", "--engine", "torch", "train.py", cwd=folder, input="")
    assert done.returncode == 1
    assert "The program failed: ValueError: mine" in done.stdout
    own = [line for line in plain.stderr.splitlines() if "File" not in line]
    assert all(line in done.stderr for line in own)
    done = gradtrace("why", "--engine", "torch", "train.py", "w", cwd=folder, input="")
    assert "w.grad is [3, 3]" in done.stdout


CYCLES = """import gc, weakref
import torch
class Node:
    pass
def cycle():
    node = Node()
    node.self, node.held = node, torch.ones(3)
    return weakref.ref(node)
w = torch.ones(3, requires_grad=True)
first = cycle()
for _ in range(2000):
    last = (w * w).sum()
gc.collect()
print(first() is None)
gc.set_threshold(50, 5, 5)
rest = [cycle() for _ in range(5000)]
gc.collect()
print(gc.get_threshold(), all(cycle() is None for cycle in rest))
last.backward()
"""


def test_a_program_s_cycles_are_collected_by_its_own_thresholds(folder):
    (folder / "train.py").write_text(CYCLES)
    done = gradtrace("why", "--engine", "torch", "train.py", "w", cwd=folder)
    assert "True\n(50, 5, 5) True\n" in done.stderr
    assert done.stdout.startswith("w.grad is [2, 2, 2]")


@pytest.mark.parametrize("option", [["-o", "run.gt"], ["-orun.gt"]])
def test_run_writes_a_record_beside_what_the_script_prints(script, option):
    folder = script("print('printed', (w * 3).sum().item())\nraise SystemExit(3)")
    done = gradtrace("run", "--engine", "torch", "train.py", *option, cwd=folder, input="")
    assert (done.returncode, done.stdout.splitlines()[-1].split()[0]) == (3, "printed")
    assert "w.grad is [3, 3]" in gradtrace("why", "run.gt", "w", cwd=folder, input="").stdout


def test_run_refuses_what_it_would_ignore(script):
    done = gradtrace(
        "run", "--engine", "torch", "train.py", "--dtype", "float64", cwd=script("pass"), input=""
    )
    assert done.returncode == 2
    assert "'--dtype' is not for a run in PyTorch" in done.stderr


def test_a_script_that_is_interrupted_is_answered_from(script):
    folder = script("open('ready', 'w').close()\nimport time\ntime.sleep(60)")
    command = [sys.executable, "-m", "gradtrace", "why", "--engine", "torch", "train.py", "w"]
    options = {
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "stdin": subprocess.DEVNULL,
        "text": True,
    }
    with subprocess.Popen(command, cwd=folder, start_new_session=True, **options) as process:
        for _ in range(600):
            if (folder / "ready").exists():
                break
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=120)
    assert out.startswith("The program was interrupted.\n")
    assert "w.grad is [3, 3]" in out
    assert process.returncode == 130


def test_a_line_of_another_file_is_named(script):
    folder = script("pass")
    (folder / "neighbour.py").write_text(NEIGHBOUR.replace("VALUE > 7", "VALUE > 6"))
    done = gradtrace("why", "--engine", "torch", "train.py", cwd=folder, input="")
    assert done.returncode == 1
    assert "detach() at neighbour.py:5" in " ".join(done.stdout.split())


REFUSED = [
    (["why", "--engine", "torch", "-"], "does not run stdin"),
    (["why", "--engine", "torch", "x*w"], "runs a file, and 'x*w' is an expression"),
    (["why", "--engine", "torch", "-e", "x*w"], "runs a file, not an expression"),
    (["why", "--engine", "torch", "none.py"], "no such file: 'none.py'"),
    (["why", "--engine", "torch", "run.gt"], "run.gt is a record already"),
    (["why", "--engine", "jax", "train.py"], "'jax' is not an engine"),
    (["why", "--engine"], "option '--engine' requires an argument"),
    (["why", "--python", "python3", "train.py"], "--python goes with --engine torch"),
    (["map", "--engine", "torch", "train.py"], "--engine torch is not for 'map'"),
    (
        ["why", "--engine", "torch", "train.py", "--lr", "1"],
        "no such option '--lr'; a script's own arguments stand after --",
    ),
    (
        ["why", "--engine", "torch", "train.py", "--python", "/nowhere/python"],
        "cannot start '/nowhere/python'",
    ),
    (["eval", "--engine", "torch", "train.py", "--backward", "2"], "cannot be run again here"),
]


@pytest.mark.parametrize(("args", "said"), REFUSED)
def test_what_does_not_go_with_it_is_refused(folder, args, said):
    done = gradtrace(*args, cwd=folder)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_verify_refuses_it(folder):
    (folder / "note.md").write_text("```python\nprint(1)\n```\n")
    done = gradtrace("verify", "--engine", "torch", "note.md", cwd=folder)
    assert done.returncode == 2
    assert "--engine" in done.stderr


def test_the_environment_does_not_turn_it_on(folder):
    for name in ("GRADTRACE_ENGINE", "GRADTRACE_TORCH"):
        done = gradtrace("run", "train.py", cwd=folder, env={**os.environ, name: "torch"})
        assert "full rights" not in done.stderr


def test_a_python_without_torch_is_told_both_ways(folder):
    bare = folder / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    python = str(bare / "bin" / "python")
    done = gradtrace("why", "--engine", "torch", "--python", python, "train.py", cwd=folder)
    assert done.returncode == 2
    assert f"PyTorch is not installed for {python}" in done.stderr
    assert "pip install 'gradtrace[torch]'" in done.stderr
    assert "--python PATH" in done.stderr


def test_the_command_line_never_imports_torch(folder):
    """From a Python in which importing torch fails, with the one that has it named."""
    (folder / "block").mkdir()
    (folder / "block" / "torch.py").write_text("raise SystemExit('torch was imported')\n")
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder / "block"), str(Path(__file__).parents[2])]),
    }
    wrapper = folder / "python"
    wrapper.write_text(f'#!/bin/sh\nunset PYTHONPATH\nexec "{sys.executable}" "$@"\n')
    wrapper.chmod(0o755)
    done = gradtrace(
        "why", "--engine", "torch", "--python", str(wrapper), "train.py", "w", cwd=folder, env=env
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("w.grad is None")
