"""Activations of torch.nn.functional."""

from __future__ import annotations

from gradtrace.engine.tensor import Tensor
from gradtrace.ops.api import public
from gradtrace.ops.pointwise import relu as relu_record


@public("relu", forms="n")
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """input where positive, else 0 (torch.nn.functional.relu)."""
    return input.relu_() if inplace else relu_record(input)
