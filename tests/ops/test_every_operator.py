"""Every operator of tiers 1 and 2 is there and has a case; derivatives of numbers. See test_gradients for arrays."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradtrace as torch
from tests.ops import cases, tiers

POINTWISE = [
    "abs",
    "neg",
    "exp",
    "log",
    "log1p",
    "sqrt",
    "square",
    "sin",
    "cos",
    "tanh",
    "sigmoid",
    "add",
    "sub",
    "mul",
    "pow",
    "maximum",
    "minimum",
    "nn.functional.relu",
    "atan2",
    "expm1",
    "tan",
    "atan",
    "sinh",
    "cosh",
    "erf",
    "reciprocal",
    "rsqrt",
]


@pytest.mark.parametrize("name", POINTWISE)
def test_derivatives_of_numbers(name: str, derivatives: Any) -> None:
    """A float64 scalar is a Python float inside, with kernels of its own."""
    function, *arrays = cases.CASES[name][0]
    derivatives(function, *(np.array(a.reshape(-1)[0]) for a in arrays), tolerance=1e-5)


def test_no_operator_is_forgotten() -> None:
    without = {"nn.functional.one_hot"}  # an integer result
    wanted = {*tiers.TIER_ONE, *tiers.TIER_TWO} - without
    assert wanted - set(cases.CASES) == set()


@pytest.mark.parametrize(
    "name", [*tiers.TIER_ONE_WITHOUT_DERIVATIVE, *tiers.TIER_TWO_WITHOUT_DERIVATIVE]
)
def test_those_without_derivative_are_there(name: str) -> None:
    assert callable(getattr(torch.zeros(1), name, None)) or callable(getattr(torch, name, None))


def test_every_public_name_has_a_case() -> None:
    """What docs/operators.md tells of an operator is seen when a case calls it."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
    try:
        table = importlib.import_module("operators_table")
    finally:
        sys.path.pop(0)
    assert table.without_case() == []
