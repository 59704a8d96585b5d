"""Patches of an image (im2col) and their sum (col2im), the basis of unfold and fold; the products
behind convolution.

Arrays are (N, C, *sizes); patches are (N, C, *kernel, *out), with overlapping elements repeated.
Python loops run over kernel positions and blocks of the batch, never over pixels.
"""

from __future__ import annotations

from itertools import product
from math import prod

from gradtrace.annotations import Any, Sequence
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.types import Array, Ints, Shape

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
    return a[
        (
            slice(None),
            slice(None),
            *(slice(p, n - p) for n, p in zip(a.shape[2:], padding, strict=True)),
        )
    ]


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
    kernel = columns.shape[2 : 2 + n]
    out = columns.shape[2 + n :]
    planes: tuple[Any, ...] = (slice(None), slice(None))
    for position in product(*map(range, kernel)):
        where = tuple(
            slice(at * d, at * d + (count - 1) * s + 1, s)
            for at, d, s, count in zip(position, dilation, stride, out, strict=True)
        )
        into[(*planes, *where)] += columns[(*planes, *position)]


def blocks(batch: int, elements: int) -> list[slice]:
    """Split the batch into slices whose patches (`elements` per sample) take about BLOCK
    elements.
    """
    step = max(1, BLOCK // max(elements, 1))
    return [slice(start, min(start + step, batch)) for start in range(0, batch, step)]


def grouped_columns(view: Array, groups: int) -> Array:
    """Copy patches as matrices, (groups, channels of a group * kernel, batch * out)."""
    spatial = (view.ndim - 2) // 2
    moved = np.moveaxis(view, 0, 1 + spatial)
    rows = prod(moved.shape[: 1 + spatial])
    return np.ascontiguousarray(moved).reshape(groups, rows // groups, -1)


def grouped_rows(g: Array, groups: int) -> Array:
    """Return (N, C, *sizes) as matrices, (groups, channels of a group, N * sizes)."""
    return np.ascontiguousarray(np.moveaxis(g, 0, 1)).reshape(groups, g.shape[1] // groups, -1)


# ---- the three sums of products behind convolution; each is linear in both arrays and a derivative of the others
#
#     slide(input, weight) -> output       spread_back(output, weight) -> input       weigh(output, input) -> weight
#
# input is (N, C, *sizes), weight (O, C / groups, *kernel), output (N, O, *out). The computation
# runs on blocks of the batch as matrix products of patches. Half precision is computed in float32.


def widen_half(a: Array) -> Array:
    return a.astype(np.float32) if a.dtype == np.float16 else a


def slide(
    x: Array, w: Array, out: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Array:
    """Correlate x with w, with `out` windows along each dim."""
    dtype = x.dtype
    x = widen_half(x)
    w = widen_half(w)
    result = np.empty((x.shape[0], w.shape[0], *out), x.dtype)
    if not result.size or not w.size:
        return np.zeros(result.shape, dtype)
    kernel = w.shape[2:]
    view = patches(padded(x, padding), kernel, stride, dilation, out)
    rows = w.reshape(groups, w.shape[0] // groups, -1)
    for part in blocks(len(x), x.shape[1] * prod(kernel) * prod(out)):
        columns = grouped_columns(view[part], groups)
        n = part.stop - part.start
        if n == 1:
            np.matmul(rows, columns, out=result[part].reshape(groups, rows.shape[1], -1))
        else:
            np.moveaxis(result[part], 0, 1)[...] = np.matmul(rows, columns).reshape(
                w.shape[0], n, *out
            )
    return result.astype(dtype, copy=False)


def spread_back(
    g: Array, w: Array, sizes: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Array:
    """Return an array of `sizes`: for each element of g, its product with the weights is added at
    its window.
    """
    dtype = g.dtype
    g = widen_half(g)
    w = widen_half(w)
    channels = w.shape[1] * groups
    kernel = w.shape[2:]
    out = g.shape[2:]
    result = np.zeros((g.shape[0], channels, *padded_sizes(sizes, padding)), g.dtype)
    if g.size and w.size:
        columns = w.reshape(groups, w.shape[0] // groups, -1).swapaxes(1, 2)
        for part in blocks(len(g), channels * prod(kernel) * prod(out)):
            rows = grouped_rows(g[part], groups)
            spread = np.matmul(columns, rows).reshape(
                channels, *kernel, part.stop - part.start, *out
            )
            add_patches(np.moveaxis(spread, 1 + len(kernel), 0), result[part], stride, dilation)
    return np.ascontiguousarray(inside(result, padding)).astype(dtype, copy=False)


def weigh(
    g: Array, x: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Array:
    """Return, for each weight, the sum of products of the inputs and the output gradients that it
    connects.
    """
    dtype = g.dtype
    g = widen_half(g)
    x = widen_half(x)
    channels = x.shape[1] // groups
    out = g.shape[2:]
    result = np.zeros((groups, g.shape[1] // groups, channels * prod(kernel)), g.dtype)
    if g.size and x.size:
        view = patches(padded(x, padding), kernel, stride, dilation, out)
        for part in blocks(len(x), x.shape[1] * prod(kernel) * prod(out)):
            columns = grouped_columns(view[part], groups).swapaxes(1, 2)
            result += np.matmul(grouped_rows(g[part], groups), columns)
    return result.reshape(g.shape[1], channels, *kernel).astype(dtype, copy=False)
