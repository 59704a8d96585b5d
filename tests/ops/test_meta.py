"""Tensors of the device "meta": every operator gives the shape and dtype that it gives on the CPU, and no value.

https://pytorch.org/docs/stable/meta.html
"""

from __future__ import annotations

import resource
from typing import Any

import numpy as np
import pytest

import gradtrace as torch
from tests.ops.cases import CASES


def results(value: Any) -> list[Any]:
    """The tensors in what an operator returns."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for each in value for tensor in results(each)] if isinstance(value, (tuple, list)) else []


def described(value: Any) -> list[tuple[Any, ...]]:
    return [(tuple(t.shape), t.dtype, t.stride()) for t in results(value)]


VALUES_NEEDED = ("masked_select", "sparse_coo_tensor", "sparse.mm", "spmm", "to_sparse")
MASK_ON_THE_CPU = ("where",)
NAMES = [name for name in CASES if name not in (*VALUES_NEEDED, *MASK_ON_THE_CPU)]


@pytest.mark.parametrize("name", NAMES)
def test_shapes_and_dtypes(name: str) -> None:
    for function, *arrays in CASES[name]:
        tensors = [torch.tensor(np.array(array)) for array in arrays]
        on_cpu = function(*tensors)
        with torch.device("meta"):  # for the constants of the case
            on_meta = function(*(tensor.to("meta") for tensor in tensors))
        assert described(on_meta) == described(on_cpu)
        assert all(t.is_meta for t in results(on_meta))


@pytest.mark.parametrize("name", NAMES)
def test_shapes_of_gradients(name: str) -> None:
    for function, *arrays in CASES[name]:
        with torch.device("meta"):
            leaves = [torch.tensor(np.array(array)).requires_grad_() for array in arrays]
            outputs = [t for t in results(function(*leaves)) if t.requires_grad]
            sums = sum(t.double().sum() for t in outputs)
        sums.backward(retain_graph=True)  # type: ignore[union-attr]
        gradients = torch.autograd.grad(sums, leaves, allow_unused=True)
        for leaf, gradient in zip(leaves, gradients, strict=True):
            for found in (leaf.grad, gradient):
                assert found is None or (found.is_meta and found.shape == leaf.shape and found.dtype == leaf.dtype)


def test_no_gradient_comes_back_to_the_cpu() -> None:
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        x.to("meta").sum().backward()
    assert x.grad is None


def test_a_model_takes_no_memory() -> None:
    with torch.device("meta"):
        model = torch.nn.Sequential(*(torch.nn.Linear(20_000, 20_000) for _ in range(100)))
    assert sum(p.nbytes for p in model.parameters()) > 160e9
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2_000_000  # kilobytes
