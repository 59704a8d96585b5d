"""Input gradients of batch and layer normalisation, with the rounding of PyTorch's kernels.

Such a gradient is often nothing but rounding error: mathematically, the gradient of `norm(x).sum()`
is 0. The formulas and their order follow aten/src/ATen/native/cpu/batch_norm_kernel.cpp and
layer_norm_kernel.cpp; a fused multiply-add is computed in float64 and rounded once.
"""

from __future__ import annotations

import math

from gradtrace.annotations import Any
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.types import Array, Ints

F32: Any = np.float32


def fused_add(a: Array, b: Array, c: Array) -> Array:
    """Return a * b + c of float32 arrays, rounded once."""
    return (np.multiply(a, b, dtype=np.float64) + c).astype(F32)


def is_short(x: Array, over: Ints) -> bool:
    """Return whether x is float32, `over` its last dims, and these rows shorter than a vector
    register (8).
    """
    last = tuple(range(x.ndim - len(over), x.ndim))
    return (
        x.dtype == F32 and tuple(over) == last and 0 < math.prod(x.shape[dim] for dim in over) < 8
    )


def moments(x: Array, over: Ints) -> tuple[Array, Array]:
    """Return mean and biased variance over the last dims (keepdim) of short rows, by Welford's
    method as in PyTorch.
    """
    n = math.prod(x.shape[dim] for dim in over)
    rows = x.reshape(-1, n)
    mean = square = np.zeros(len(rows), F32)
    for i in range(n):
        away = rows[:, i] - mean
        mean = mean + away / F32(i + 1)
        square = fused_add(away, rows[:, i] - mean, square)
    shape = tuple(1 if dim in over else size for dim, size in enumerate(x.shape))
    return mean.reshape(shape), (square / F32(n)).reshape(shape)


def layer_input_grad(
    g: Array, x: Array, weight: Array | None, mean: Array, inverse: Array, over: Ints
) -> Array:
    """Return the gradient of layer norm. `weight` broadcasts; mean and inverse deviation keep the
    dims `over`.
    """
    n = math.prod(x.shape[dim] for dim in over)
    scale = F32(1) / F32(n)
    along = over if len(over) > 1 else over[0]
    of_x = np.add.reduce(g * x if weight is None else g * x * weight, axis=along, keepdims=True)
    of_one = np.add.reduce(g if weight is None else g * weight, axis=along, keepdims=True)
    b = fused_add(of_one, mean, -of_x) * inverse * inverse * inverse * scale
    c = fused_add(-b, mean, -(of_one * inverse * scale))
    direct = inverse * g if weight is None else inverse * g * weight
    return fused_add(b, x, direct) + c


def batch_input_grad(
    g: Array, x: Array, weight: Array | None, mean: Array, inverse: Array, over: Ints
) -> Array:
    """Return the gradient of batch norm; `over` are all dims except the channel. Sums are computed
    in float64.
    """
    n = F32(x.size // max(mean.size, 1))
    away = x - mean
    total = np.add.reduce(g, axis=over, dtype=np.float64, keepdims=True).astype(F32)
    product = np.add.reduce(
        np.multiply(away, g, dtype=np.float64), axis=over, keepdims=True
    ).astype(F32)
    share = (g - total / n - away * (product * inverse * inverse / n)) * inverse
    return share if weight is None else share * weight
