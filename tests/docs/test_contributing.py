"""The examples in CONTRIBUTING.md work as they stand there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
OPERATOR, VIEW, COMMAND = (
    "\n".join(line[len(indent) :] for line in block.splitlines())
    for indent, block in re.findall(r"^( *)```python\n(.*?)^ *```", TEXT, re.MULTILINE | re.DOTALL)
)
TRIES = {
    "operator": f"""
from gradtrace.ops.pointwise.elementary import *
{OPERATOR}
unary(versine)
import gradtrace as torch
x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
assert torch.autograd.gradcheck(torch.versine, (x,)) and torch.autograd.gradgradcheck(torch.versine, (x,))
print(x.versine().grad_fn.name())
""",
    "view": f"""
{VIEW}
from gradtrace.program.parse import parse
from gradtrace.program.run import run as run_program
from gradtrace.trace.capture import capture
from gradtrace.trace.keeper import Keeper
from gradtrace.views.model import model
trace = capture(run_program(parse("x = torch.tensor(2.0, requires_grad=True)\\ny = x * 3"), record=Keeper))
print(tgf(model(trace)))
""",
    "command": f"""
{COMMAND}
from gradtrace.cli.clicked import ClickCommand
ClickCommand(command).main(["(x+w)*(w+1)", "--x", "2", "--w", "1"], standalone_mode=False)
""",
}
PRINTED = {
    "operator": "VersineBackward0\n",
    "view": "t0 x\nt1 y\no0 mul 3\n#\nt0 o0\no0 t1\n\n",
    "command": "x float64\nw float64\n",
}


@pytest.mark.parametrize("name", TRIES)
def test_the_example_works(name, tmp_path):
    path = tmp_path / "example.py"
    path.write_text(TRIES[name])
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, cwd=ROOT)
    assert (done.stderr, done.stdout) == ("", PRINTED[name])
