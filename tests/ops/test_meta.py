"""Tensors of the device "meta": every operator gives the shape and dtype that it gives on the CPU, and no value.

https://pytorch.org/docs/stable/meta.html
"""

from __future__ import annotations

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


VALUES_NEEDED = ("masked_select", "sparse_coo_tensor")


@pytest.mark.parametrize("name", [name for name in CASES if name not in VALUES_NEEDED])
def test_shapes_and_dtypes(name: str) -> None:
    for function, *arrays in CASES[name]:
        tensors = [torch.tensor(np.array(array)) for array in arrays]
        on_cpu = function(*tensors)
        with torch.device("meta"):  # for the constants of the case
            on_meta = function(*(tensor.to("meta") for tensor in tensors))
        assert described(on_meta) == described(on_cpu)
        assert all(t.is_meta for t in results(on_meta))
