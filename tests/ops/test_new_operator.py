"""One new elementwise record, with its rule, is at work everywhere with no other edit."""

from __future__ import annotations

import importlib
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import gradtrace as torch
from gradtrace import ops, static
from gradtrace.batch.mapper import RowMap
from gradtrace.cli.group import cli
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.operators import namespace
from gradtrace.engine.operators.op import d, op, records
from gradtrace.func import jvp, vmap
from gradtrace.ops.api import unary
from gradtrace.static import kernels
from gradtrace.trace import operands

SIZES: list[int] = []  # of the arrays that the rule was run on


def slope(xp: Any, g: Any, out: Any, self: Any) -> Any:
    SIZES.append(getattr(self, "size", 1))
    return g * (1 - 2 * self * self) * xp.exp(-(self * self))


def value(x: Any) -> Any:
    return x * np.exp(-x * x)


def first(x: Any) -> Any:
    return (1 - 2 * x * x) * np.exp(-x * x)


def second(x: Any) -> Any:
    return (4 * x**3 - 6 * x) * np.exp(-x * x)


@pytest.fixture
def ripple() -> Iterator[Any]:
    """The public function of a record made here: x * exp(-x * x)."""
    record = op(
        "ripple(self)",
        lambda x: x * np.exp(-x * x),
        kind="elementwise",
        scalar=lambda x: x * math.exp(-x * x),
        node="RippleBackward0",
        promote="float",
        zero="saturated",
        symbolic=lambda s, x: x * s.exp(-(x**2)),
        self=d("self", slope),
    )
    yield unary(record)
    for table in (
        vars(torch),
        records,
        ops.api.functions,
        ops.api.methods,
        ops.api.catalogue,
        operands._records,
    ):
        table.pop("ripple", None)
        table.pop("ripple_", None)
    for name in ("ripple", "ripple_"):
        delattr(Tensor, name)
    for xp in (namespace.ARRAY, namespace.SCALAR, namespace.TRACED):
        vars(xp).pop("ripple", None)


@pytest.fixture
def answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)

    def invoke(*args: Any, **extra: Any) -> str:
        result = CliRunner().invoke(cli, list(map(str, args)), prog_name="gradtrace", **extra)
        assert result.exit_code == 0, result.stderr
        return result.stdout

    return invoke


POINTS = np.linspace(-1.5, 1.5, 12).reshape(3, 4)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_eager_calls_and_backward_to_second_order(ripple: Any, dtype: Any) -> None:
    x = torch.tensor(POINTS, dtype=dtype, requires_grad=True)
    tolerance = (1e-5, 1e-6) if dtype is torch.float32 else (1e-12,)
    for call in (ripple, Tensor.ripple, torch.ripple):  # type: ignore[attr-defined]
        y = call(x)
        assert y.dtype is dtype and y.grad_fn.name() == "RippleBackward0"
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x)
        for got, want in ((y, value), (g, first), (h, second)):
            np.testing.assert_allclose(got.detach().numpy(), want(POINTS), *tolerance)


def test_numbers_and_in_place(ripple: Any) -> None:
    x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(ripple(x), x, create_graph=True)
    (h,) = torch.autograd.grad(g, x)
    assert (g.item(), h.item()) == pytest.approx((first(0.5), second(0.5)), rel=1e-14)
    y = torch.tensor(POINTS)
    assert np.array_equal(y.ripple_().numpy(), value(POINTS))


def test_vmap(ripple: Any) -> None:
    x = torch.tensor(POINTS)
    assert np.array_equal(vmap(ripple)(x).numpy(), value(POINTS))
    assert np.array_equal(vmap(ripple, in_dims=1, out_dims=1)(x).numpy(), value(POINTS))
    assert np.array_equal(vmap(lambda row: row.clone().ripple_())(x).numpy(), value(POINTS))
    slopes = vmap(torch.func.grad(lambda row: ripple(row).sum()))(x)
    np.testing.assert_allclose(slopes.numpy(), first(POINTS), 1e-12)


def test_forward_mode(ripple: Any) -> None:
    x, v = torch.tensor(POINTS), torch.tensor(np.cos(POINTS))
    out, tangent = jvp(ripple, (x,), (v,))
    np.testing.assert_allclose(out.numpy(), value(POINTS), 1e-12)
    np.testing.assert_allclose(tangent.numpy(), first(POINTS) * np.cos(POINTS), 1e-12)


def test_a_static_plan_and_rows(ripple: Any) -> None:
    plan = static.optimise(static.trace(lambda x: ripple(x).sum(), {"x": POINTS}))
    steps = [step for step in plan.steps if step.op == "ripple"]
    assert steps and all(
        kernels.is_elementwise(step) and kernels.instructions(step, plan) for step in steps
    )
    others = np.stack([POINTS, POINTS * 0.5, POINTS + 1])
    found = RowMap(plan)({"x": others}, 3)
    for i, x in enumerate(others):
        y, g = static.PlanProgram(plan)(x)
        np.testing.assert_allclose(y, value(x).sum(), 1e-12)
        np.testing.assert_allclose(g, first(x), 1e-12)
        np.testing.assert_allclose(found["y"][i], y, 1e-12)
        np.testing.assert_allclose(found["dy/dx"][i], g, 1e-12)


def test_a_plan_of_large_arrays_and_one_of_numbers(ripple: Any) -> None:
    x = np.linspace(-2, 2, 50_000)
    plan = static.optimise(static.trace(lambda x: ripple(x), {"x": x}, order=0))
    program = static.PlanProgram(plan)
    assert [step.op for step in plan.steps] == ["ripple"]
    np.testing.assert_allclose(program(x)[0], value(x), 1e-12)
    numbers = static.PlanProgram(static.optimise(static.trace(lambda x: ripple(x), {"x": 0.5})))
    assert numbers(0.25) == pytest.approx((value(0.25), first(0.25)))


def test_blocks_of_large_arrays(ripple: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        state, "live_observers", 0
    )  # hooks that an earlier test of this process left alive
    data = np.linspace(-2, 2, 1 << 18)
    x = torch.tensor(data, requires_grad=True)
    y = ripple(x * 2.0)
    SIZES.clear()
    y.sum().backward()
    assert SIZES and max(SIZES) < data.size and sum(SIZES) >= data.size
    np.testing.assert_allclose(x.grad.numpy(), 2 * first(2 * data), 1e-11, 1e-14)


def test_map_over_rows(ripple: Any, answer: Any) -> None:
    text = answer("map", "x.ripple()*w", "--data", "-", input="x,w\n0.5,2\n-1,3\n")
    head, *lines = [line.split(",") for line in text.splitlines()]
    assert head == ["x", "w", "y", "dy/dx", "dy/dw"]
    for x, w, y, *slopes in (map(float, line) for line in lines):
        assert [y, *slopes] == pytest.approx([value(x) * w, first(x) * w, value(x)])


def test_symbolic_paths(ripple: Any, answer: Any) -> None:
    pytest.importorskip("sympy")
    text = answer("paths", "x.ripple()", "--x", 0.5, "--symbolic", "text")
    assert "y = x*exp(-x**2)" in text and f"{first(0.5):.6g}    at x = 0.5" in text


def test_local_derivatives(ripple: Any, answer: Any) -> None:
    text = answer("paths", "x.ripple().sum()", "--x", "0.5,1", "--format", "json")
    assert "ripple" in text
    x = torch.tensor(POINTS, requires_grad=True)
    local = importlib.import_module("gradtrace.trace.local")
    (found,) = local.local_derivatives(ripple(x).grad_fn)
    np.testing.assert_allclose(found.data, first(POINTS), 1e-12)


def test_why_on_its_zeros(ripple: Any, answer: Any) -> None:
    script = "import torch\nx = torch.tensor(1000., requires_grad=True)\ny = torch.ripple(x)\ny.backward()\n"
    (found,) = json.loads(answer("why", "-", "x", "--format", "json", input=script))["answers"]
    assert (found["status"], found["cause"]) == ("zero", "saturated")
    assert "ripple on line 3 is saturated" in found["sentence"]


def test_the_generated_table(ripple: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "docs"))
    table = importlib.import_module("operators_table")
    cases = SimpleNamespace(
        CASES={"ripple": [(torch.ripple, POINTS)]},  # type: ignore[attr-defined]
        FIRST_ORDER=set(),
        PLAIN={},
        INTEGER={},
        CASTS={},
        RAISE={},
        every_case=dict,
    )
    monkeypatch.setattr(table, "beside", lambda name: cases)
    lines: list[str] = []
    table.write(lines.append)
    assert [line for line in lines if "ripple" in line] == [
        "| `ripple` | f m i | RippleBackward0 | float; int, bool → float32 | any |"
    ]
    sys.modules.pop("operators_table", None)
