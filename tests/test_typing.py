"""The types that a checker sees: the generated stubs are up to date, true at runtime, and report wrong calls."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import gradtrace
from tools import stubs

GOOD = """
import gradtrace
import gradtrace as torch
import gradtrace.nn.functional as F
from gradtrace import Tensor, nn, optim

y: gradtrace.Tensor = gradtrace.tensor(2.0).sin()
x = torch.zeros(2, 3, requires_grad=True, dtype=torch.float64)
z: Tensor = (x @ torch.ones((3, 2)) + 1.0).sum(0).mean()
z.backward(retain_graph=True)
(g,) = torch.autograd.grad(x.exp().sum(), [x], create_graph=True)
by_name = torch.autograd.grad(x.sum(), {"x": x})["x"] + g
w: Tensor = -x.reshape(3, 2).T * 2 ** x[0] if x.size(0) > 1 else 1 - x
n: int = x.size(0) + x.shape[1] + x.stride(0)
v = torch.stack([x, x]).view(-1).add_(1)
with torch.no_grad():
    v += torch.relu(x).max()

@torch.no_grad()
def squared(a: Tensor) -> Tensor:
    return torch.where(a > 0, a, 0.0) ** 2

mask: Tensor = squared(x) == 1
joined: Tensor = torch.cat((x, x), dim=1).unsqueeze(0)
hidden: Tensor = F.relu(F.linear(x, x))
values, indices = F.max_pool1d(x, 2, return_indices=True)

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * a

    @staticmethod
    def backward(ctx, g):
        (a,) = ctx.saved_tensors
        return 2 * a * g
"""
WRONG = [
    "gradtrace.tensor(2.0).sin(1, 2, 3)",
    'gradtrace.no_grad("x", 3)',
    "x: int = gradtrace.tensor(2.0)",
    "gradtrace.unknown(2)",
    "gradtrace.tensor(2.0).unknown()",
    'gradtrace.sin("a")',
    'gradtrace.tensor(1.0).backward(retain="x")',
    "gradtrace.autograd.grad(1, 2)",
    'gradtrace.zeros("a")',
    'gradtrace.tensor(1.0).reshape("x")',
    'gradtrace.tensor(1.0) + "x"',
    "gradtrace.matmul(gradtrace.ones(2))",
    'F.relu("a")',
    "F.unknown(2)",
]


def errors(path, text):
    """The lines of a program with errors of mypy, by a checker that finds the package as it is installed."""
    pytest.importorskip("mypy")
    (path / "program.py").write_text(text)
    command = [sys.executable, "-m", "mypy", "--config-file=", "--cache-dir=cache", "program.py"]
    done = subprocess.run(command, cwd=path, stdout=subprocess.PIPE, text=True, timeout=300)
    assert done.returncode in (0, 1), done.stdout
    return {
        int(n) for n in re.findall(r"^program.py:(\d+): error", done.stdout, re.MULTILINE)
    }, done.stdout


@pytest.mark.parametrize("path", stubs.STUBS)
def test_the_stubs_are_up_to_date(path):
    assert (stubs.PACKAGE / path).read_text() == stubs.STUBS[path](), (
        "run: python -m tools.generate"
    )


def test_the_package_says_that_it_has_types():
    assert (Path(gradtrace.__file__).parent / "py.typed").exists()


@pytest.mark.slow
def test_right_and_wrong_calls(tmp_path):
    first = len(GOOD.splitlines()) + 1
    found, text = errors(tmp_path, GOOD + "\n".join(WRONG) + "\n")
    assert found == set(range(first, first + len(WRONG))), text


METHODS = re.findall(
    r"^    def (\w+)\(self\) -> Tensor: \.\.\.$", stubs.methods_stub(), re.MULTILINE
)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_returns_the_tensor_that_its_stub_says(name):
    x = gradtrace.tensor([[1.0, 0.25], [0.25, 1.0]])
    try:
        result = getattr(x, name)()
    except (RuntimeError, TypeError, NotImplementedError):
        return  # refuses this tensor, or takes a required argument that the table of signatures does not have
    assert isinstance(result, gradtrace.Tensor)
