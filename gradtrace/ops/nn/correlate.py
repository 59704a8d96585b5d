"""The three sums of products behind convolution; each is linear in both arrays and a derivative of the others.

    slide(input, weight) -> output       spread_back(output, weight) -> input       weigh(output, input) -> weight

input is (N, C, *sizes), weight (O, C / groups, *kernel), output (N, O, *out). The computation runs on blocks of the
batch as matrix products of patches. Half precision is computed in float32.
"""

from __future__ import annotations

from gradtrace.engine.lazy import np
from gradtrace.engine.state import state
from gradtrace.engine.types import Array, Ints, Shape
from gradtrace.ops.nn.patches import (
    add_patches,
    blocks,
    grouped_columns,
    grouped_rows,
    inside,
    padded,
    padded_sizes,
    patches,
    size_of,
)


def widen_half(a: Array) -> Array:
    return a.astype(np.float32) if a.dtype == np.float16 else a


def spend(w: Shape, windows: int) -> None:
    """Charge the budget of a running program one multiplication per weight, window and sample."""
    if state.spend is not None:
        state.spend(2 * size_of(w) * windows)


def slide(x: Array, w: Array, out: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Array:
    """Correlate x with w, with `out` windows along each dim."""
    spend(w.shape, len(x) * size_of(out))
    dtype, x, w = x.dtype, widen_half(x), widen_half(w)
    result = np.empty((x.shape[0], w.shape[0], *out), x.dtype)
    if not result.size or not w.size:
        return np.zeros(result.shape, dtype)
    kernel = w.shape[2:]
    view = patches(padded(x, padding), kernel, stride, dilation, out)
    rows = w.reshape(groups, w.shape[0] // groups, -1)
    for part in blocks(len(x), x.shape[1] * size_of(kernel) * size_of(out)):
        columns = grouped_columns(view[part], groups)
        n = part.stop - part.start
        if n == 1:
            np.matmul(rows, columns, out=result[part].reshape(groups, rows.shape[1], -1))
        else:
            np.moveaxis(result[part], 0, 1)[...] = np.matmul(rows, columns).reshape(w.shape[0], n, *out)
    return result.astype(dtype, copy=False)


def spread_back(g: Array, w: Array, sizes: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Array:
    """Return an array of `sizes`: for each element of g, its product with the weights is added at its window."""
    spend(w.shape, len(g) * size_of(g.shape[2:]))
    dtype, g, w = g.dtype, widen_half(g), widen_half(w)
    channels, kernel, out = w.shape[1] * groups, w.shape[2:], g.shape[2:]
    result = np.zeros((g.shape[0], channels, *padded_sizes(sizes, padding)), g.dtype)
    if g.size and w.size:
        columns = w.reshape(groups, w.shape[0] // groups, -1).swapaxes(1, 2)
        for part in blocks(len(g), channels * size_of(kernel) * size_of(out)):
            rows = grouped_rows(g[part], groups)
            spread = np.matmul(columns, rows).reshape(channels, *kernel, part.stop - part.start, *out)
            add_patches(np.moveaxis(spread, 1 + len(kernel), 0), result[part], stride, dilation)
    return np.ascontiguousarray(inside(result, padding)).astype(dtype, copy=False)


def weigh(g: Array, x: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Array:
    """Return, for each weight, the sum of products of the inputs and the output gradients that it connects."""
    spend((g.shape[1], x.shape[1] // groups, *kernel), len(x) * size_of(g.shape[2:]))
    dtype, g, x = g.dtype, widen_half(g), widen_half(x)
    channels, out = x.shape[1] // groups, g.shape[2:]
    result = np.zeros((groups, g.shape[1] // groups, channels * size_of(kernel)), g.dtype)
    if g.size and x.size:
        view = patches(padded(x, padding), kernel, stride, dilation, out)
        for part in blocks(len(x), x.shape[1] * size_of(kernel) * size_of(out)):
            columns = grouped_columns(view[part], groups).swapaxes(1, 2)
            result += np.matmul(grouped_rows(g[part], groups), columns)
    return result.reshape(g.shape[1], channels, *kernel).astype(dtype, copy=False)
