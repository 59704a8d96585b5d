"""A float64 scalar is a Python float inside: the same values and derivatives as of an array, to second order."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest

import gradtrace as torch

F = torch.nn.functional
ONE = {
    "sum": lambda x: x.sum(), "mean": lambda x: x.mean(), "sum of square": lambda x: (x * x).sum(),
    "2 ** x": lambda x: 2**x, "0.5 ** x": lambda x: 0.5**x, "0 ** x": lambda x: 0**x, "(-2) ** x": lambda x: (-2) ** x,
    "inf ** x": lambda x: math.inf**x, "gelu": F.gelu, "gelu tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu, "softplus": F.softplus, "softplus 2": lambda x: F.softplus(x, 2.0, 1.0),
    "leaky_relu": F.leaky_relu, "leaky_relu -2": lambda x: F.leaky_relu(x, -2.0), "elu": F.elu,
    "elu 3": lambda x: F.elu(x, 3.0), "selu": torch.selu, "logsigmoid": F.logsigmoid,
}  # fmt: skip
TWO = {
    "%": lambda x, y: x % y, "fmod": torch.fmod, "floor": lambda x, y: torch.div(x, y, rounding_mode="floor") * x,
    "trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc") * x,
}  # fmt: skip
POINTS = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.0,
    -2.0,
    3.25,
    20.5,
    -30.0,
    800.0,
    -800.0,
    1e-300,
    math.inf,
    -math.inf,
    math.nan,
]


def told(function: Any, points: tuple[float, ...], boxed: bool) -> list[float | None]:
    """The value, the gradients and the gradients of their sum."""
    leaves = [torch.tensor(p, dtype=torch.float64) for p in points]
    if boxed:
        leaves = [
            leaf.detach() for leaf in leaves
        ]  # which shares its storage, and so must be an array
    for leaf in leaves:
        assert isinstance(leaf._data, float) != boxed
        leaf.requires_grad_()
    out = function(*leaves)
    found = torch.autograd.grad(out, leaves, create_graph=True, allow_unused=True)
    first = [g for g in found if g is not None and g.requires_grad]
    second = torch.autograd.grad(first, leaves, allow_unused=True) if first else ()
    return [None if t is None else t.item() for t in (out, *found, *second)]


def same(a: float | None, b: float | None) -> bool:
    if a is None or b is None:
        return a is b
    if a == 0 or b == 0 or math.isinf(a) or math.isinf(b):
        return a == b and math.copysign(1, a) == math.copysign(1, b)
    return math.isclose(a, b, rel_tol=1e-13) or (math.isnan(a) and math.isnan(b))


def check(function: Any, points: tuple[float, ...]) -> None:
    number, array = told(function, points, False), told(function, points, True)
    assert len(number) == len(array) and all(map(same, number, array)), (points, number, array)


@pytest.mark.parametrize("name", ONE)
def test_of_one(name: str) -> None:
    for point in POINTS:
        check(ONE[name], (point,))


@pytest.mark.parametrize("name", TWO)
def test_of_two(name: str) -> None:
    for points in product(POINTS, POINTS):
        check(TWO[name], points)


def test_a_number_stays_one() -> None:
    x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    for function in ONE.values():
        assert isinstance(function(x)._data, float)
    assert x.sum(dtype=torch.float32).dtype == torch.float32
    assert torch.tensor(True).sum().dtype == torch.int64 and torch.tensor(3).sum().item() == 3
