"""Gradients of layers against finite differences, by their parameters as well as their input."""

from __future__ import annotations

from typing import Any

import pytest

import gradtrace as torch
import gradtrace.nn as nn
from gradtrace.autograd import gradcheck
from gradtrace.func import functional_call

CASES = [
    (lambda: nn.Linear(3, 2), (2, 3)),
    (lambda: nn.Conv1d(2, 2, 2), (1, 2, 4)),
    (lambda: nn.ConvTranspose1d(2, 2, 2), (1, 2, 3)),
    (lambda: nn.BatchNorm1d(2), (3, 2)),
    (lambda: nn.LayerNorm(3), (2, 3)),
    (lambda: nn.GroupNorm(2, 4), (2, 4)),
    (lambda: nn.RMSNorm(3), (2, 3)),
    (lambda: nn.PReLU(), (4,)),
    (lambda: nn.RNN(2, 2), (3, 1, 2)),
    (lambda: nn.LSTM(2, 2), (3, 1, 2)),
    (lambda: nn.GRU(2, 2), (3, 1, 2)),
    (lambda: nn.MultiheadAttention(2, 1), (2, 1, 2)),
]


@pytest.mark.parametrize(("make", "shape"), CASES, ids=lambda v: "")
def test_a_layers_gradients_are_right(make: Any, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    layer = make().double()
    names = [name for name, _ in layer.named_parameters()]
    x = torch.randn(*shape, dtype=torch.float64).requires_grad_()
    weights = [
        torch.randn(*p.shape, dtype=torch.float64).requires_grad_() for p in layer.parameters()
    ]

    def run(x: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
        args = (x, x, x) if isinstance(layer, nn.MultiheadAttention) else (x,)
        out = functional_call(layer, dict(zip(names, weights, strict=True)), args)
        return out[0] if isinstance(out, tuple) else out

    assert gradcheck(run, (x, *weights))
