"""Strided views with bounds checks. All strided views are made here, so that no view reads outside of its memory.

Sizes and steps may be objects of the user's classes, so they are converted to integers here, once.
"""

from __future__ import annotations

from _operator import index  # operator takes 0.4 ms to import

from gradtrace.annotations import TYPE_CHECKING, Iterable
from gradtrace.engine.data.lazy import np

if TYPE_CHECKING:
    from typing import SupportsIndex

    from gradtrace.engine.data.types import Array, NumpyDtype, Shape


def extent(size: Shape, steps: Shape, offset: int) -> int:
    """Return the storage size in elements that a view needs: the index of its last element plus 1; 0 if empty."""
    return offset + sum((n - 1) * step for n, step in zip(size, steps, strict=True)) + 1 if all(size) else 0


def empty_like(array: Array, kind: NumpyDtype) -> Array:
    """Return an empty dense array with the order of dims in memory that PyTorch's `preserve_format` gives.

    Dims are ordered by their strides; a stride of 0 says nothing of its dim, which keeps its place
    (`infer_dense_strides` of PyTorch's ExpandUtils.cpp).
    """
    if 0 not in array.strides:
        return np.empty_like(array, kind)
    order = list(range(array.ndim))[::-1]  # from the innermost to the outermost
    for end in range(1, array.ndim):
        moving = end
        for i in range(end - 1, -1, -1):
            inner, outer = order[i], order[moving]
            steps, sizes = (array.strides[inner], array.strides[outer]), (array.shape[inner], array.shape[outer])
            if 0 in steps or (steps[0] == steps[1] and sizes[0] <= sizes[1]):
                continue
            if steps[0] < steps[1]:
                break
            order[i], order[moving] = outer, inner
            moving = i
    order.reverse()
    laid = np.empty([array.shape[dim] for dim in order], kind)
    return laid.transpose([order.index(dim) for dim in range(array.ndim)])


def dense_copy(array: Array) -> Array:
    """Return a copy with that order of dims in memory."""
    copied = empty_like(array, array.dtype)
    copied[...] = array
    return copied


def channels_last(raw: Array) -> Array:
    """Return a copy in which dim 1 is the last one in memory."""
    return np.moveaxis(np.array(np.moveaxis(raw, 1, -1), order="C"), -1, 1)


def window(
    cells: Array, size: Iterable[SupportsIndex], steps: Iterable[SupportsIndex], offset: SupportsIndex = 0
) -> Array:
    """Return a strided view of the 1-d array `cells`, counted in elements; RuntimeError if it exceeds `cells`."""
    shape, strides, start = tuple(map(index, size)), tuple(map(index, steps)), index(offset)
    first = start + sum((n - 1) * step for n, step in zip(shape, strides, strict=True) if step < 0)
    if min((first, start, *shape)) < 0 or extent(shape, tuple(map(abs, strides)), first) > cells.size:
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset {start}, and itemsize "
            f"{cells.itemsize} requiring a storage size of {extent(shape, strides, start) * cells.itemsize} are out of "
            f"bounds for storage of size {cells.size * cells.itemsize}"
        )
    unit = cells.strides[0]
    return np.lib.stride_tricks.as_strided(cells[start:], shape, tuple(step * unit for step in strides))
