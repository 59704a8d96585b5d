"""Strided views with bounds checks. All strided views are made here, so that no view reads outside
of its memory.

Sizes and steps may be objects of the user's classes, so they are converted to integers here, once.
"""

from __future__ import annotations

from _operator import index  # operator takes 0.4 ms to import

from gradtrace.annotations import TYPE_CHECKING, Iterable, Sequence
from gradtrace.engine.data.lazy import np

if TYPE_CHECKING:
    from typing import SupportsIndex

    from gradtrace.engine.data.types import Array, NumpyDtype, Shape


def extent(size: Shape, steps: Shape, offset: int) -> int:
    """Return the storage size in elements that a view needs: the index of its last element plus 1;
    0 if empty.
    """
    return (
        offset + sum((n - 1) * step for n, step in zip(size, steps, strict=True)) + 1
        if all(size)
        else 0
    )


def empty_like(array: Array, kind: NumpyDtype) -> Array:
    """Return an empty dense array with the order of dims in memory that PyTorch's `preserve_format`
    gives.

    Dims are ordered by their strides; a stride of 0 says nothing of its dim, which keeps its place
    (`infer_dense_strides` of PyTorch's ExpandUtils.cpp).
    """
    return (
        empty_in_order_of(array.shape, kind, (array.strides,))
        if 0 in array.strides
        else np.empty_like(array, kind)
    )


def empty_in_order_of(shape: Shape, kind: NumpyDtype, strides: Sequence[Shape]) -> Array:
    """Return an empty dense array with the order of dims in memory that PyTorch takes from operands
    of these strides.

    The first operand that tells two dims apart decides (`reorder_dimensions` of PyTorch's
    TensorIterator.cpp).
    """
    order = list(range(len(shape)))[::-1]  # from the innermost to the outermost
    for end in range(1, len(shape)):
        moving = end
        for i in range(end - 1, -1, -1):
            later = is_outer(order[i], order[moving], shape, strides)
            if later is False:
                break
            if later:
                order[i], order[moving] = order[moving], order[i]
                moving = i
    order.reverse()
    laid = np.empty([shape[dim] for dim in order], kind)
    return laid.transpose([order.index(dim) for dim in range(len(shape))])


def is_outer(dim: int, inner: int, shape: Shape, strides: Sequence[Shape]) -> bool | None:
    """Return whether `dim` belongs outside of `inner` in memory; None if no operand says it."""
    for steps in strides:
        if (
            steps[dim]
            and steps[inner]
            and (steps[dim] != steps[inner] or shape[dim] > shape[inner])
        ):
            return steps[dim] >= steps[inner]
    return None


def dense_copy(array: Array) -> Array:
    """Return a copy with that order of dims in memory."""
    copied = empty_like(array, array.dtype)
    copied[...] = array
    return copied


def window(
    cells: Array,
    size: Iterable[SupportsIndex],
    steps: Iterable[SupportsIndex],
    offset: SupportsIndex = 0,
) -> Array:
    """Return a strided view of the 1-d array `cells`, counted in elements; RuntimeError if it
    exceeds `cells`.
    """
    shape = tuple(map(index, size))
    strides = tuple(map(index, steps))
    start = index(offset)
    first = start + sum((n - 1) * step for n, step in zip(shape, strides, strict=True) if step < 0)
    if (
        min((first, start, *shape)) < 0
        or extent(shape, tuple(map(abs, strides)), first) > cells.size
    ):
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset {start}, "
            f"and itemsize {cells.itemsize} requiring a storage size of "
            f"{extent(shape, strides, start) * cells.itemsize} are out of bounds for storage of "
            f"size {cells.size * cells.itemsize}"
        )
    unit = cells.strides[0]
    return np.lib.stride_tricks.as_strided(
        cells[start:], shape, tuple(step * unit for step in strides)
    )
