"""Windows of an image side by side (im2col) and back (col2im): the ground of convolution, unfold and fold.

Arrays are (N, C, *sizes); patches are (N, C, *kernel, *out), each number as often as windows show it. Python loops run
over kernel positions and blocks of the batch, never over pixels.
"""

from __future__ import annotations

from itertools import product

from gradtrace.annotations import Any
from gradtrace.engine.lazy import np

Ints = tuple[int, ...]
BLOCK = 1 << 19  # elements copied out at once: what stays in the cache while it is multiplied


def output_sizes(sizes: Any, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """How many windows fit along each dim (0 or less: none)."""
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(sizes, kernel, stride, padding, dilation, strict=True)
    )


def padded(a: Any, padding: Ints) -> Any:
    """Zeros around the spatial dims."""
    if not any(padding):
        return a
    out = np.zeros(a.shape[:2] + padded_sizes(a.shape[2:], padding), a.dtype)
    inside(out, padding)[...] = a
    return out


def padded_sizes(sizes: Any, padding: Ints) -> Ints:
    return tuple(n + 2 * p for n, p in zip(sizes, padding, strict=True))


def inside(a: Any, padding: Ints) -> Any:
    """The part that `padded` was given."""
    return a[(slice(None), slice(None), *(slice(p, n - p) for n, p in zip(a.shape[2:], padding, strict=True)))]


def patches(a: Any, kernel: Ints, stride: Ints, dilation: Ints, out: Ints) -> Any:
    """A view of the padded array as patches; nothing is copied."""
    spatial = a.strides[2:]
    steps = tuple(b * d for b, d in zip(spatial, dilation, strict=True))
    jumps = tuple(b * s for b, s in zip(spatial, stride, strict=True))
    return np.lib.stride_tricks.as_strided(
        a, a.shape[:2] + kernel + out, a.strides[:2] + steps + jumps, writeable=False
    )


def add_patches(columns: Any, into: Any, stride: Ints, dilation: Ints) -> None:
    """Adds each patch where it lies in the padded array `into`."""
    n = len(stride)
    kernel, out = columns.shape[2 : 2 + n], columns.shape[2 + n :]
    for position in product(*map(range, kernel)):
        where = tuple(
            slice(at * d, at * d + (count - 1) * s + 1, s)
            for at, d, s, count in zip(position, dilation, stride, out, strict=True)
        )
        into[(slice(None), slice(None), *where)] += columns[(slice(None), slice(None), *position)]


def blocks(batch: int, elements: int) -> list[slice]:
    """The batch in runs whose patches (`elements` for each item) are about BLOCK."""
    step = max(1, BLOCK // max(elements, 1))
    return [slice(start, min(start + step, batch)) for start in range(0, batch, step)]


def size_of(sizes: Any) -> int:
    n = 1
    for size in sizes:
        n *= size
    return n


def grouped_columns(view: Any, groups: int) -> Any:
    """Patches copied as matrices, (groups, channels of a group * kernel, batch * out)."""
    spatial = (view.ndim - 2) // 2
    moved = np.moveaxis(view, 0, 1 + spatial)
    rows = size_of(moved.shape[: 1 + spatial])
    return np.ascontiguousarray(moved).reshape(groups, rows // groups, -1)


def grouped_rows(g: Any, groups: int) -> Any:
    """(N, C, *sizes) as matrices, (groups, channels of a group, N * sizes)."""
    return np.ascontiguousarray(np.moveaxis(g, 0, 1)).reshape(groups, g.shape[1] // groups, -1)
