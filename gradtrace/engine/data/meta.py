"""Tensors of the device "meta", with a shape, a dtype and strides, but no values.

Such a tensor (https://pytorch.org/docs/stable/meta.html) has an array of a class of its own, which numpy passes on to
views, and operators to their results (`carry`).
Operators run on it as on any array, so shapes, strides and their errors are PyTorch's, and no door lets the values out.
An array of zeros takes no memory until something is written to it.
"""

from __future__ import annotations

import numpy as np

from gradtrace.annotations import TYPE_CHECKING, Any, Iterator
from gradtrace.engine.data.higher import higher
from gradtrace.engine.data.state import state

if TYPE_CHECKING:
    from gradtrace.engine.data.types import Array, Raw


class MetaArray(np.ndarray[Any, Any]):
    """An array whose values must not be seen."""

    is_meta = True


def without_values(raw: Raw) -> Array:
    """Return a meta array of the shape and dtype of raw data."""
    state.set(meta=True)  # from now on no operator takes its short way
    return np.zeros(np.shape(raw), getattr(raw, "dtype", np.dtype(type(raw)))).view(MetaArray)


def carry(record: Any, args: tuple[Any, ...], out: Any) -> Any:
    """Return what an operator computed, as meta arrays if one of its operands has one.

    RuntimeError if an elementwise operator has operands of both devices; a number on the CPU goes with both.
    """
    tensors = list(tensors_in(args))
    if not any(tensor.is_meta for tensor in tensors):
        return out
    first, *rest = [tensor for tensor in tensors if tensor.ndim or tensor.is_meta]
    for other in rest if record.promote and not state.in_rule else ():
        if other.is_meta != first.is_meta:
            raise RuntimeError(f"Tensor on device {other.device} is not on the expected device {first.device}!")
    return tuple(map(as_meta, out)) if type(out) is tuple else as_meta(out)


def tensors_in(value: Any) -> Iterator[Any]:
    """Yield the tensors, and the arrays of some, among an operator's arguments, also in nested tuples."""
    if type(value) is tuple:
        for each in value:
            yield from tensors_in(each)
    elif hasattr(value, "is_meta"):
        yield value


def as_meta(raw: Any) -> Array:
    return np.asarray(raw).view(MetaArray)


higher["carry"], higher["as_meta"] = carry, as_meta
