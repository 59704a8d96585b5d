"""`gradtrace check --against torch`: needs PyTorch, here or in the Python that TORCH_PYTHON names."""

import importlib.util
import json
import os
import sys
from pathlib import Path

import pytest

SEEDS = Path(__file__).resolve().parents[1] / "recorded"
PYTHON = os.environ.get("TORCH_PYTHON") or (
    sys.executable if importlib.util.find_spec("torch") else ""
)
needs_torch = pytest.mark.skipif(not PYTHON, reason="needs PyTorch")


@needs_torch
@pytest.mark.parametrize("source", [
    ("(x+w)*(w+1)", "--x", 2, "--w", 1), ("(x @ w).softmax(0)[0]", "--x", "1,2;3,4", "--w", "1,-1"),
    ("note_1_all_cells.py",), ("note_5_cells_4_5_6_myrelu.py",), ("note_5_cell_10_hooks.py",),
])  # fmt: skip
def test_the_same_in_pytorch(answer, source):
    first, *rest = source
    path = next(SEEDS.rglob(first)) if first.endswith(".py") else first
    found = json.loads(
        answer("check", path, *rest, "--against", "torch", "--python", PYTHON, "--format", "json")
    )
    assert found["passed"] and found["torch"][0].isdigit()
    assert {f["what"] for f in found["facts"]} == {
        "value",
        "grad",
        "is_leaf",
        "requires_grad",
        "grad_fn",
    }


@needs_torch
def test_what_fails_in_pytorch(gt):
    result = gt(
        "check",
        "import torch\nx = torch.ones(1)\nx.nothing()\n",
        "--against",
        "torch",
        "--python",
        PYTHON,
    )
    assert result.exit_code == 1 and "in PyTorch the program fails: AttributeError" in result.stderr


def test_without_pytorch(refusal):
    code, error = refusal(
        "check", "x*x", "--x", 1, "--against", "torch", "--python", "/nowhere/python"
    )
    assert code == 2 and "cannot ask PyTorch" in error and "--python PATH" in error


def test_what_differs_is_told():
    from gradtrace.analysis.against import against
    from gradtrace.trace import LEAF, TensorRecord, Trace, Value

    x = TensorRecord(
        0,
        "x",
        "x",
        LEAF,
        None,
        None,
        None,
        True,
        True,
        False,
        False,
        False,
        Value((), "float64", 2.0),
        Value((2,), "float64", __import__("numpy").array([1.0, float("nan")])),
        None,
        "",
        None,
    )
    trace = Trace("", "", (x,), (), (), (), (0,), (0,), 1, (("x", 0),))
    theirs = {
        "value": 2.5,
        "grad": [1.0, "NaN"],
        "is_leaf": True,
        "requires_grad": False,
        "grad_fn": None,
    }
    found = {f.what: f for f in against(trace, {"x": theirs, "other": theirs})}
    assert {what for what, f in found.items() if not f.same} == {"value", "requires_grad"}
    assert found["value"].gap == 0.5 and found["grad"].gap == 0
