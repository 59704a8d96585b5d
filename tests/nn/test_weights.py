"""Weights that are functions of parameters, and masks: what is refused, and the hooks' lives."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import gradtrace as gt
from gradtrace import nn
from gradtrace.nn import utils
from gradtrace.nn.utils import parametrizations, parametrize


class Wider(nn.Module):
    def forward(self, x: Any) -> Any:
        return gt.cat([x, x])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda m: parametrize.register_parametrization(m, "w", Wider()),
            ValueError,
            "does not have a parameter",
        ),
        (
            lambda m: parametrize.register_parametrization(m, "weight", Wider()),
            ValueError,
            "may not change the shape",
        ),
        (
            lambda m: parametrize.remove_parametrizations(m, "weight"),
            ValueError,
            "does not have a parametrization",
        ),
        (lambda m: parametrizations.spectral_norm(m, dim=5), IndexError, "Dimension out of range"),
        (
            lambda m: parametrizations.spectral_norm(m, n_power_iterations=0),
            ValueError,
            "to be positive",
        ),
        (lambda m: utils.remove_weight_norm(m), ValueError, "weight_norm of 'weight' not found"),
    ],
)
def test_what_is_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(nn.Linear(3, 2))


@pytest.mark.parametrize("name", ["weight_norm", "spectral_norm"])
def test_a_norm_by_hook_comes_and_goes(name: str) -> None:
    layer = nn.Linear(3, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        getattr(utils, name)(layer)
        with pytest.raises(RuntimeError, match="Cannot register two"):
            getattr(utils, name)(layer)
    layer.eval()
    before = layer(gt.ones(3))
    getattr(utils, f"remove_{name}")(layer)
    assert [n for n, _ in layer.named_parameters()] in (["bias", "weight"], ["weight", "bias"])
    assert gt.allclose(before, layer(gt.ones(3)))
    assert not layer._forward_pre_hooks


def test_a_cached_parametrization_is_computed_once() -> None:
    calls = []

    class Counting(nn.Module):
        def forward(self, x: Any) -> Any:
            calls.append(1)
            return x * 2

    layer = parametrize.register_parametrization(nn.Linear(3, 2), "weight", Counting())
    calls.clear()
    with parametrize.cached():
        assert layer.weight is layer.weight
    assert len(calls) == 1
    assert layer.weight is not layer.weight


def test_a_tensor_cannot_be_left_as_several() -> None:
    layer = parametrizations.weight_norm(nn.Linear(3, 2))
    with pytest.raises(ValueError, match="Cannot leave unparametrized"):
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)


def test_a_lazy_layer_keeps_its_parameters() -> None:
    layer = nn.LazyLinear(3)
    weight = layer.weight
    assert repr(weight) == "<UninitializedParameter>"
    layer.double()
    assert layer(gt.ones(2, 5, dtype=gt.float64)).shape == (2, 3)
    assert layer.weight is weight and type(layer) is nn.Linear and weight.dtype is gt.float64
    with pytest.raises(RuntimeError, match="Expected 3D"):
        nn.LazyConv2d(3, 2)(gt.ones(2))
