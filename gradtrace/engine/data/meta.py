"""Tensors of the device "meta", with a shape, a dtype and strides, but no values.

Such a tensor (https://pytorch.org/docs/stable/meta.html) has an array of a class of its own, which numpy passes on to
views, and operators to their results (`carry`).
Operators run on it as on any array, so shapes, strides and their errors are PyTorch's, and no door lets the values out.
A large one has one cell of memory for all elements; elementwise operators and products of matrices compute no values of
it, other operators do, in the time and the memory that they take on the CPU.
"""

from __future__ import annotations

import numpy as np

from gradtrace.annotations import TYPE_CHECKING, Any, Iterator
from gradtrace.engine.data.dtypes import count
from gradtrace.engine.data.higher import higher
from gradtrace.engine.data.state import state

if TYPE_CHECKING:
    from gradtrace.engine.data.types import Array, Raw


LARGE = 1 << 20  # elements


class MetaArray(np.ndarray[Any, Any]):
    """An array whose values must not be seen."""

    is_meta = True

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Call a ufunc on plain arrays; of a large result only the shape and the dtype are found."""
        into = options.get("out") or ()
        if into and all(isinstance(each, MetaArray) for each in into):  # no value needs to be written
            return into[0] if len(into) == 1 else into
        if method == "__call__" and not into:
            shape = shape_of_result(ufunc, [np.shape(each) for each in inputs])
            if shape is not None and count(shape) >= LARGE:
                few = [np.zeros((1,) * np.ndim(each), np.asarray(each).dtype) for each in inputs]
                found = ufunc(*few, **options)
                parts = tuple(cells(shape, each.dtype) for each in (found if type(found) is tuple else (found,)))
                return parts if type(found) is tuple else parts[0]
        if into:
            options["out"] = tuple(map(plain, into))
        found = getattr(ufunc, method)(*map(plain, inputs), **options)
        return tuple(map(as_meta, found)) if type(found) is tuple else None if found is None else as_meta(found)

    def dot(self, other: Any, out: Any = None) -> Any:
        """Return the product of two matrices as matmul does, which finds the shape of a large one alone."""
        return self @ other


def plain(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, MetaArray) else value


def shape_of_result(ufunc: Any, shapes: list[Any]) -> Any:
    """Return the shape of a ufunc's result, or None where numpy is to find it, or to say what does not fit."""
    try:
        if ufunc.signature is None:
            return np.broadcast_shapes(*shapes)
        a, b = shapes
        if ufunc is np.matmul and min(len(a), len(b)) > 1 and a[-1] == b[-2]:
            return (*np.broadcast_shapes(a[:-2], b[:-2]), a[-2], b[-1])
    except ValueError:
        pass
    return None


def cells(shape: Any, dtype: Any) -> Array:
    """Return a meta array; a large one has the same memory for all elements."""
    if count(shape) < LARGE:
        return np.zeros(shape, dtype).view(MetaArray)
    return np.lib.stride_tricks.as_strided(np.zeros(1, dtype), shape, (0,) * len(shape)).view(MetaArray)


def without_values(raw: Raw) -> Array:
    """Return a meta array of the shape and dtype of raw data."""
    state.set(meta=True)  # from now on no operator takes its short way
    return cells(np.shape(raw), getattr(raw, "dtype", np.dtype(type(raw))))


def carry(record: Any, args: tuple[Any, ...], out: Any) -> Any:
    """Return what an operator computed, as meta arrays if one of its operands has one.

    RuntimeError for operands of both devices; a number on the CPU goes with both, and an index.
    """
    tensors = list(tensors_in(args))
    if not any(tensor.is_meta for tensor in tensors):
        return out
    first, *rest = [tensor for tensor in tensors if tensor.ndim or tensor.is_meta]
    for other in rest if not (state.in_rule or record.reads) else ():
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
