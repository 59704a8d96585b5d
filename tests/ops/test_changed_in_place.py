"""Tensors that backward reads (indices, masks, targets, weights, operands, results), changed in place before it runs.

PyTorch's own answers: the error about the saved tensor's version, or the gradient where nothing was saved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gradtrace as torch

CHANGED = "modified by an inplace operation"
TABLE = [[0.5, 1.5], [2.5, 3.5], [4.5, 5.5]]


@pytest.mark.sampled(120)
def test_recorded(
    expression: str, printed: str, printed_by_gradtrace: Callable[[str], str]
) -> None:
    assert printed_by_gradtrace(expression) == printed


@pytest.mark.parametrize(
    ("function", "index"),
    [
        (lambda x, i: x[i], [True, False, True]),
        (lambda x, i: x[i], [0, 2]),
        (lambda x, i: x.masked_select(i.unsqueeze(1)), [True, False, True]),
        (lambda x, i: x.index_select(0, i), [0, 2]),
        (lambda x, i: x.gather(0, i.unsqueeze(0)), [0, 2]),
        (lambda x, i: x.take(i), [0, 2]),
        (lambda x, i: torch.nn.functional.embedding(i, x), [0, 2]),
        (lambda x, i: x.index_add(0, i, x * x), [0, 2, 1]),
    ],
)
def test_a_gradients_own_graph_refuses_it_too(function: Any, index: list[Any]) -> None:
    """As in PyTorch, where only the graph of the gradient is left to run."""
    x, i = torch.tensor(TABLE, requires_grad=True), torch.tensor(index)
    weight = torch.ones_like(function(x, i), requires_grad=True)
    (first,) = torch.autograd.grad(function(x, i), x, weight, create_graph=True)
    i.logical_not_() if i.dtype is torch.bool else i.zero_()
    with pytest.raises(RuntimeError, match=CHANGED):
        first.sum().backward()
