"""Windows along one dim as taps, for pooling, padding by repetition and resampling.

A tap is a pair of selections (outputs, inputs) along the dim: the j-th tap pairs each output with
the input at the j-th position of its window. Selections are slices if the windows are evenly
spaced, else arrays of positions. Windows are processed tap by tap and dim by dim: a k x k window
costs 2k passes, and no Python loop runs over elements.
"""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.types import Array

Taps = list[tuple[Any, Any]]


def regular(n: int, out: int, kernel: int, stride: int, padding: int, dilation: int = 1) -> Taps:
    """Return the taps of windows of `kernel` elements, `stride` apart, over n inputs; padding has
    no taps.
    """
    taps: Taps = []
    for j in range(kernel):
        offset = j * dilation - padding
        first = max(0, -(offset // stride))
        last = min(out, (n - 1 - offset) // stride + 1)
        if first < last:
            start = first * stride + offset
            taps.append(
                (slice(first, last), slice(start, start + (last - first - 1) * stride + 1, stride))
            )
    return taps


def irregular(starts: Array, ends: Array) -> Taps:
    """Return the taps of windows of any length: window o is starts[o] .. ends[o] - 1."""
    counts = ends - starts
    taps: Taps = []
    for j in range(int(counts.max(initial=0))):
        outputs = np.flatnonzero(counts > j)
        taps.append((slice(None) if len(outputs) == len(counts) else outputs, starts[outputs] + j))
    return taps


def dual(starts: Array, ends: Array, n: int) -> tuple[Array, Array]:
    """Return the start and end of the outputs whose windows contain each of n inputs; `starts`,
    `ends` are sorted.
    """
    inputs = np.arange(n)
    return np.searchsorted(ends, inputs, "right"), np.searchsorted(starts, inputs, "right")


def adaptive(n: int, out: int) -> tuple[Array, Array]:
    """Return the starts floor(o n / out) and ends ceil((o + 1) n / out) of the windows of adaptive
    pooling.
    """
    outputs = np.arange(out)
    return outputs * n // out, -(-(outputs + 1) * n // out)


def along(dim: int, selection: object) -> tuple[Any, ...]:
    return (slice(None),) * dim + (selection,)


def add_windows(a: Array, dim: int, out: int, taps: Taps) -> Array:
    """Return the sum of each window along `dim`."""
    result = np.zeros((*a.shape[:dim], out, *a.shape[dim + 1 :]), a.dtype)
    for outputs, inputs in taps:
        result[along(dim, outputs)] += a[along(dim, inputs)]
    return result


def weigh_windows(a: Array, dim: int, index: Array, weights: Array) -> Array:
    """Return sums of weights[j, o] * a[index[j, o]] along `dim`."""
    column = (-1,) + (1,) * (a.ndim - dim - 1)
    result: Array = np.take(a, index[0], dim) * weights[0].reshape(column)
    for i, w in zip(index[1:], weights[1:], strict=True):
        result += np.take(a, i, dim) * w.reshape(column)
    return result


def weigh_back(g: Array, dim: int, n: int, index: Array, weights: Array) -> Array:
    """Apply the transpose of `weigh_windows`: for each of n inputs, sum the weighted outputs it
    contributed to.
    """
    used = weights != 0
    source = index[used]
    weight = weights[used]
    output = np.broadcast_to(np.arange(index.shape[1]), index.shape)[used]
    order = np.argsort(source, kind="stable")
    source = source[order]
    weight = weight[order]
    output = output[order]
    counts = np.bincount(source, minlength=n)
    place = np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts)
    back = np.zeros((max(int(counts.max(initial=0)), 1), n), np.int64)
    shares = np.zeros(back.shape, weights.dtype)
    # Rows of inputs with fewer outputs than others are filled up with their first output and weight
    # 0.
    back[:, counts > 0] = output[(np.cumsum(counts) - counts)[counts > 0]]
    back[place, source] = output
    shares[place, source] = weight
    out = weigh_windows(g, dim, back, shares)
    if not counts.all():
        out[along(dim, counts == 0)] = 0
    return out


def take_back(g: Array, dim: int, n: int, index: Array) -> Array:
    """Apply the transpose of np.take: for each of n inputs, sum the gradients of the elements taken
    from it.
    """
    if (index[1:] < index[:-1]).any():
        order = np.argsort(index, kind="stable")
        g = np.take(g, order, dim)
        index = index[order]
    inputs = np.arange(n)
    starts = np.searchsorted(index, inputs, "left")
    ends = np.searchsorted(index, inputs, "right")
    return add_windows(g, dim, n, irregular(starts, ends))


def find_maxima(
    a: Array, index: Array | int, dim: int, unit: int, taps: Taps, first: Array
) -> tuple[Array, Array]:
    """Return the maximum of each window along `dim` and its position; nan is greatest, and ties go
    to the first.

    `first` is the start of each window. A position is the place along `dim` times `unit`, plus
    `index`: the position along the dims already processed (0: none).
    """
    here = np.arange(a.shape[dim]).reshape((-1,) + (1,) * (a.ndim - dim - 1)) * unit + index
    here = np.broadcast_to(here, a.shape)
    if taps and covers(taps[0][0], len(first)):
        start = along(dim, taps[0][1])
        best = np.array(a[start])
        place = np.array(here[start])
        taps = taps[1:]
    else:
        best = np.take(a, first, dim)
        place = np.take(here, first, dim)
    nans = a.dtype.kind == "f" and bool(np.isnan(a).any())
    for outputs, inputs in taps:
        value = a[along(dim, inputs)]
        to = along(dim, outputs)
        by = along(dim, inputs)
        better = value > best[to]
        if nans:
            better |= value != value
        best[to] = np.where(better, value, best[to])
        place[to] = np.where(better, here[by], place[to])
    return best, place


def covers(outputs: object, count: int) -> bool:
    return (
        isinstance(outputs, slice) and (outputs.start or 0) == 0 and outputs.stop in (None, count)
    )
