"""Runs: the root, the outputs, the dtype, what is recorded, and that nothing global is left changed."""

from __future__ import annotations

import io
import sys
import warnings

import pytest

import gradtrace
from gradtrace.engine.data.state import state
from gradtrace.engine.data.text import get_printoptions
from gradtrace.errors import GradtraceError, UnknownNameError
from gradtrace.limits import Budget
from gradtrace.program.parse import parse
from gradtrace.program.result import Run
from gradtrace.program.run import run as run_program
from gradtrace.trace.keeper import Keeper


def run(text: str, **options: object) -> Run:
    inputs = {
        name: gradtrace.tensor(2.0, dtype=gradtrace.float64, requires_grad=True) for name in "xw"
    }
    program = parse(text)
    taken = {given.name: inputs[given.name] for given in program.inputs}
    return run_program(program, taken, **{"stdout": io.StringIO(), **options})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "root"),
    [
        ("x*w", "4"),
        ("y = x*w\nz = y + 1", "5"),
        ("y = x*w\ny + 1\nz = 3", "5"),
        ("'''doc'''\ny = x*w", "4"),
        ("y = x*w\nprint(y)", "4"),
        ("a, b = x*w, x + 1", "3"),
        ("def f(a):\n    q = a*3\n    return q\ny = f(x)", "6"),
        ("for i in range(3):\n    y = x*i", "4"),
        ("if x > 1:\n    y = x*5\nelse:\n    y = w", "10"),
        ("y = x*w\ny += 1", "5"),
        ("y = x*w\nn = 7", "4"),
        ("2 + 3", "5"),
        ("[x, w]", "[2, 2]"),
        ("y = z = x*w", "4"),
        ("with no_grad():\n    y = x*3", "6"),
    ],
)
def test_root(text: str, root: str) -> None:
    found = run(text.replace("no_grad", "torch.no_grad")).root
    values = [v.item() for v in found] if isinstance(found, list) else float(found)
    assert str(values).replace(".0", "") == root


def test_the_root_of_a_training_loop_is_its_loss() -> None:
    text = "import torch\np = torch.ones(2, requires_grad=True)\nfor i in range(2):\n    loss = (p*p).sum()\n"
    text += "    loss.backward()\n    with torch.no_grad():\n        p -= 0.1 * p.grad\n    p.grad = None\n"
    assert run(text).root.grad_fn.name() == "SumBackward0"


def test_outputs() -> None:
    found = run("a = x*w\nb = a + 1", outputs=("b", "a")).outputs
    assert [(name, t.item()) for name, t in found] == [("b", 5.0), ("a", 4.0)]
    with pytest.raises(UnknownNameError, match="no tensor named 'c'"):
        run("a = x", outputs=("c",))


@pytest.mark.parametrize(
    ("text", "dtype", "name"),
    [
        ("ones(2)", None, "float64"),
        ("import torch\ntorch.ones(2)", None, "float32"),
        ("ones(2)", "float32", "float32"),
        ("import torch\ntorch.ones(2)", "float64", "float64"),
        ("ones(2)", gradtrace.float32, "float32"),
        ("import math\ntorch.ones(2)", None, "float64"),
    ],
)
def test_default_dtype(text: str, dtype: object, name: str) -> None:
    assert run(text, dtype=dtype).root.dtype.name == name


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("for part in x.reshape(1): y = part * 2", "x.reshape(1)"),
        ("y = [part * 2 for part in x.reshape(1)]", "x.reshape(1)"),
        ("y = sum(part for part in x.reshape(1))", "x.reshape(1)"),
        ("y = (x\n  .exp())", "x\n  .exp()"),
        ("assert x.exp()", "x.exp()"),
    ],
)
def test_the_place_of_a_call_is_its_expression(line: str, text: str) -> None:
    done = run(line, record=Keeper)
    spans = {done.spans[origin] for *_, origin in done.records}
    source = line.split("\n")
    cut = {"\n".join(source[s.line - 1 : s.end_line])[s.column :][: len(text)] for s in spans}
    assert text in cut


def test_records_and_spans() -> None:
    text = "y = (x + w) * sin(x)\n"
    found = run(text, record=Keeper)
    assert [call[0] for call in found.records] == ["add", "sin", "mul"]
    cut = [found.spans[call[3]] for call in found.records]
    assert [text[s.column : s.end_column] for s in cut] == ["x + w", "sin(x)", "(x + w) * sin(x)"]
    assert run(text).records == [] and set(found.env) == {"x", "w", "y"}


def test_the_origin_of_a_call_is_the_call() -> None:
    text = "import torch\nclass F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, v):\n"
    text += "        return v * 2\n    @staticmethod\n    def backward(ctx, g):\n        return g * 2\nF.apply(x)\n"
    found = run(text, record=Keeper)
    span = found.spans[found.records[-1][3]]
    assert found.records[-1][0] == "F" and (span.line, span.column) == (9, 0)


def test_streams() -> None:
    out, err = io.StringIO(), io.StringIO()
    text = "import sys\nprint('a', end='')\nprint('b', file=sys.stderr)\nsys.stdout.write('c')\n"
    text += "print(1, 2, sep='-', flush=True)"
    run(text, stdout=out, stderr=err)
    assert (out.getvalue(), err.getvalue()) == ("ac1-2\n", "b\n")


CHANGES = """
import torch, warnings, random
torch.set_default_dtype(torch.float64)
torch.set_printoptions(precision=1, sci_mode=True)
torch.set_grad_enabled(False)
torch.manual_seed(5)
torch.autograd.set_detect_anomaly(True)
warnings.simplefilter('error')
random.seed(1)
torch.rand(3)
mode = torch.no_grad().__enter__
"""


@pytest.mark.parametrize(
    "ending", ["", "1 / 0", "import socket", "raise KeyboardInterrupt", "exit(3)"]
)
def test_nothing_global_stays_changed(ending: str) -> None:
    import random

    gradtrace.manual_seed(3)
    random.seed(3)
    gradtrace.rand(1)
    before = outside()
    text = CHANGES.replace("mode = torch.no_grad().__enter__\n", "") + ending
    try:
        run(text, budget=Budget(seconds=5))
    except (GradtraceError, KeyboardInterrupt, SystemExit):
        assert ending
    assert outside() == before
    drawn = gradtrace.rand(2).tolist(), random.random()
    gradtrace.manual_seed(3)
    random.seed(3)
    gradtrace.rand(1)
    assert drawn == (gradtrace.rand(2).tolist(), random.random())


def outside() -> tuple[object, ...]:
    return (
        gradtrace.get_default_dtype(),
        get_printoptions(),
        gradtrace.is_grad_enabled(),
        state.anomaly,
        state.inference,
        state.recorder,
        state.origin,
        list(warnings.filters),
        sys.getrecursionlimit(),
        gradtrace.initial_seed(),
    )


def test_a_run_begins_with_the_defaults() -> None:
    with gradtrace.no_grad():
        assert run("x*w").root.requires_grad
        assert not gradtrace.is_grad_enabled()


def test_numbers_drawn_go_on_from_run_to_run() -> None:
    gradtrace.manual_seed(1)
    first, second = (run("rand(1)").root.item() for _ in range(2))
    assert first != second


def test_graphs_are_freed_at_once() -> None:
    """A function's frame is gone when it returns: it takes no cycle collector to free what was computed there."""
    import gc

    leaf = gradtrace.tensor(2.0, dtype=gradtrace.float64, requires_grad=True)
    text = """
def loss(v):
    def inner(u): return u * k
    k = 3
    parts = [inner(u) for u in (v, v)]
    return sum(p for p in parts)
for i in range(2):
    alive = loss(x)
del alive
"""
    gc.collect()
    gc.disable()
    try:
        found = run_program(parse(text), {"x": leaf})
        assert (
            leaf._x is not None
            and leaf._x.accumulator is not None
            and leaf._x.accumulator() is None
        )
        found = run_program(parse("y = x*x"), {"x": leaf})
        assert leaf._x.accumulator() is not None
        del found
        assert leaf._x.accumulator() is None
    finally:
        gc.enable()
