"""Patches of an image (im2col) and their sum (col2im): the basis of convolution, unfold and fold.

Arrays are (N, C, *sizes); patches are (N, C, *kernel, *out), with overlapping elements repeated. Python loops run over
kernel positions and blocks of the batch, never over pixels.
"""

from __future__ import annotations

from itertools import product

from gradtrace.annotations import Any, Iterable, Sequence
from gradtrace.engine.lazy import np
from gradtrace.engine.types import Array, Ints, Shape

PerDim = int | Sequence[int]  # an argument with one number for all dims, or one for each
BLOCK = 1 << 19  # elements copied at once, so that they stay in the cache while they are multiplied


def output_sizes(sizes: Shape, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """Return the number of windows along each dim (0 or less: none)."""
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(sizes, kernel, stride, padding, dilation, strict=True)
    )


def padded(a: Array, padding: Ints) -> Array:
    """Pad the spatial dims with zeros at both ends."""
    if not any(padding):
        return a
    out = np.zeros(a.shape[:2] + padded_sizes(a.shape[2:], padding), a.dtype)
    inside(out, padding)[...] = a
    return out


def padded_sizes(sizes: Shape, padding: Ints) -> Ints:
    return tuple(n + 2 * p for n, p in zip(sizes, padding, strict=True))


def inside(a: Array, padding: Ints) -> Array:
    """Return a view of a padded array without its padding."""
    return a[(slice(None), slice(None), *(slice(p, n - p) for n, p in zip(a.shape[2:], padding, strict=True)))]


def patches(a: Array, kernel: Ints, stride: Ints, dilation: Ints, out: Ints) -> Array:
    """Return a view of the padded array as patches, without copying."""
    spatial = a.strides[2:]
    steps = tuple(b * d for b, d in zip(spatial, dilation, strict=True))
    jumps = tuple(b * s for b, s in zip(spatial, stride, strict=True))
    return np.lib.stride_tricks.as_strided(
        a, a.shape[:2] + kernel + out, a.strides[:2] + steps + jumps, writeable=False
    )


def add_patches(columns: Array, into: Array, stride: Ints, dilation: Ints) -> None:
    """Add each patch at its position in the padded array `into`."""
    n = len(stride)
    kernel, out = columns.shape[2 : 2 + n], columns.shape[2 + n :]
    planes: tuple[Any, ...] = (slice(None), slice(None))
    for position in product(*map(range, kernel)):
        where = tuple(
            slice(at * d, at * d + (count - 1) * s + 1, s)
            for at, d, s, count in zip(position, dilation, stride, out, strict=True)
        )
        into[(*planes, *where)] += columns[(*planes, *position)]


def blocks(batch: int, elements: int) -> list[slice]:
    """Split the batch into slices whose patches (`elements` per sample) take about BLOCK elements."""
    step = max(1, BLOCK // max(elements, 1))
    return [slice(start, min(start + step, batch)) for start in range(0, batch, step)]


def size_of(sizes: Iterable[int]) -> int:
    n = 1
    for size in sizes:
        n *= size
    return n


def grouped_columns(view: Array, groups: int) -> Array:
    """Copy patches as matrices, (groups, channels of a group * kernel, batch * out)."""
    spatial = (view.ndim - 2) // 2
    moved = np.moveaxis(view, 0, 1 + spatial)
    rows = size_of(moved.shape[: 1 + spatial])
    return np.ascontiguousarray(moved).reshape(groups, rows // groups, -1)


def grouped_rows(g: Array, groups: int) -> Array:
    """Return (N, C, *sizes) as matrices, (groups, channels of a group, N * sizes)."""
    return np.ascontiguousarray(np.moveaxis(g, 0, 1)).reshape(groups, g.shape[1] // groups, -1)
