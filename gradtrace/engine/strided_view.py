"""Strided views with bounds checks. All strided views are made here, so that no view reads outside of its memory.

Sizes and steps may be objects of the user's classes, so they are converted to integers here, once.
"""

from __future__ import annotations

from operator import index

from gradtrace.annotations import TYPE_CHECKING, Iterable
from gradtrace.engine.lazy import np

if TYPE_CHECKING:
    from typing import SupportsIndex

    from gradtrace.engine.types import Array, Shape


def extent(size: Shape, steps: Shape, offset: int) -> int:
    """Return the storage size in elements that a view needs: the index of its last element plus 1; 0 if empty."""
    return offset + sum((n - 1) * step for n, step in zip(size, steps, strict=True)) + 1 if all(size) else 0


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
