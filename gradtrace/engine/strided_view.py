"""Views by sizes and steps, as the one place that makes them: none shows what lies outside of the memory it is of.

Sizes and steps may be objects of a program, whose arithmetic can say anything: they become integers here, once.
"""

from __future__ import annotations

from operator import index

from gradtrace.annotations import Any
from gradtrace.engine.lazy import np


def extent(size: Any, steps: Any, offset: int) -> int:
    """How many cells a view needs: one more than the position of its last element, 0 where it has none."""
    return offset + sum((n - 1) * step for n, step in zip(size, steps, strict=True)) + 1 if all(size) else 0


def window(cells: Any, size: Any, steps: Any, offset: Any = 0) -> Any:
    """A view of the 1-d array `cells`, sizes, steps and offset in elements. RuntimeError where it would lie outside."""
    size, steps, offset = tuple(map(index, size)), tuple(map(index, steps)), index(offset)
    first = offset + sum((n - 1) * step for n, step in zip(size, steps, strict=True) if step < 0)
    if min((first, offset, *size)) < 0 or extent(size, tuple(map(abs, steps)), first) > cells.size:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(steps)}, storage offset {offset}, and itemsize "
            f"{cells.itemsize} requiring a storage size of {extent(size, steps, offset) * cells.itemsize} are out of "
            f"bounds for storage of size {cells.size * cells.itemsize}"
        )
    unit = cells.strides[0]
    return np.lib.stride_tricks.as_strided(cells[offset:], size, tuple(step * unit for step in steps))
