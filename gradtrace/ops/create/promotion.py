"""Dtype promotion queries: result_type, promote_types, can_cast."""

from __future__ import annotations

from gradtrace.engine import dtypes
from gradtrace.engine.lazy import np
from gradtrace.engine.tensor import Tensor
from gradtrace.ops.api import public


@public("result_type", forms="f")
def result_type(tensor1: Tensor | float, tensor2: Tensor | float) -> dtypes.dtype:
    """Return the dtype that an operation on two tensors or numbers produces (torch.result_type)."""
    return dtypes.result_type(
        *((value._data, True) if isinstance(value, Tensor) else (value, False) for value in (tensor1, tensor2))
    )


@public("promote_types", forms="f")
def promote_types(type1: dtypes.dtype, type2: dtypes.dtype) -> dtypes.dtype:
    """Return the smallest dtype that both dtypes promote to (torch.promote_types)."""
    return dtypes.result_type(*((np.zeros(1, dtype.np), True) for dtype in (type1, type2)))


@public("can_cast", forms="f")
def can_cast(from_: dtypes.dtype, to: dtypes.dtype) -> bool:
    """Return whether a cast keeps the kind of number: bool, integer or floating point (torch.can_cast)."""
    return from_.category <= to.category
