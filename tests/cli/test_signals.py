"""Ctrl-C and SIGTERM in the middle of a command: the exit code says so, and nothing half written is left."""

import os
import signal
import subprocess
import sys
import time

import pytest

TABLE = ("map", "t.txt", "--grid", "x=0:1:200000000")
OUTPUTS = {
    "stdout": (*TABLE,),
    "csv": (*TABLE, "-o", "o.csv"),
    "npz": (*TABLE, "-o", "o.npz"),
    "parts": (*TABLE, "-o", "parts/"),
    "picture": ("graph", "l.txt", "--x", "1", "--detail", "-o", "g.svg"),
    "record": ("run", "p.py", "-o", "r.gt"),
    "why": ("why", "p.py", "w"),
    "check": ("check", "p.py"),
    "verify": ("verify", "n.md"),
}
ENDLESS = "import torch\nw = torch.ones(3, requires_grad=True)\nfor i in range(10 ** 8):\n    y = (w * w).sum()\n"
DESTRUCTOR = """\
import torch
class Endless:
    def __del__(self):
        for i in range(10 ** 10):
            pass
w = torch.ones(3, requires_grad=True)
Endless()
(w * w).sum().backward()
while True:
    pass
"""
FILES = {
    "d.py": DESTRUCTOR,
    "t.txt": "x*x + sin(x)\n",
    "l.txt": "y = x\nfor i in range(5000):\n    y = sin(y) + x\n",
    "p.py": ENDLESS,
    "n.md": f"```python\n{ENDLESS}```\n\n```text\n1\n```\n",
}


def ended(here, clean, args, number, seconds, to_group):
    """The process of a command that gets a signal after so many seconds, and what it left in its folder."""
    for name, text in FILES.items():
        (here / name).write_text(text)
    process = subprocess.Popen(
        [sys.executable, "-m", "gradtrace", *args], cwd=here, env=clean(), start_new_session=True, text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    time.sleep(seconds)
    (os.killpg if to_group else os.kill)(process.pid, number)
    _, said = process.communicate(timeout=60)
    left = sorted(
        str(path.relative_to(here))
        for path in here.rglob("*")
        if path.is_file() and path.name not in FILES
    )
    return process.returncode, said, left


@pytest.mark.sampled(9)
@pytest.mark.parametrize("seconds", [1, 1.7])
@pytest.mark.parametrize("to_group", [True, False])
@pytest.mark.parametrize("name", OUTPUTS)
def test_an_interrupt_ends_with_130_and_leaves_nothing_half_written(
    name, to_group, seconds, here, clean
):
    code, said, left = ended(here, clean, OUTPUTS[name], signal.SIGINT, seconds, to_group)
    assert code == 130 and said.endswith("gradtrace: interrupted\n") and "report" not in said
    assert not [file for file in left if file.endswith(".tmp") or not file.startswith("parts/")]


@pytest.mark.parametrize("command", ["run", "why"])
def test_an_interrupt_in_a_destructor_which_python_ignores_ends_the_program(command, here, clean):
    code, said, left = ended(here, clean, (command, "d.py"), signal.SIGINT, 1.5, to_group=False)
    assert (code, said, left) == (130, "gradtrace: interrupted\n", [])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("to_group", [True, False])
@pytest.mark.parametrize("name", ["stdout", "csv", "parts", "picture", "record", "why"])
def test_a_request_to_end_leaves_nothing_half_written(name, to_group, here, clean):
    code, said, left = ended(here, clean, OUTPUTS[name], signal.SIGTERM, 1.5, to_group)
    assert code == 128 + signal.SIGTERM and "report" not in said
    assert not [file for file in left if file.endswith(".tmp") or not file.startswith("parts/")]
