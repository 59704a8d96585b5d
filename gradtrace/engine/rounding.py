"""Products and sums rounded once, as the fused multiply-adds of PyTorch's kernels round.

`a.add_(b, alpha=s)`, addcmul and lerp, and so every optimiser's step, are one instruction for each element there. numpy
has none: the product is worked out in a wider type. That costs some passes over the data, so large arrays, whose single
numbers nobody reads, are rounded twice.
"""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.engine import dtypes
from gradtrace.engine.lazy import np

LARGE = 2048  # elements


def multiply_add(a: Any, x: Any, y: Any) -> Any:
    """a + x * y for arrays of one floating dtype; either factor may be a number, which takes that dtype."""
    kind = a.dtype
    if kind.itemsize < 4 or a.size > LARGE:
        return a + x * y
    wide = np.float64 if kind.itemsize == 4 else np.longdouble
    if isinstance(x, float):
        x = kind.type(x)
    if isinstance(y, float):
        y = kind.type(y)
    return (np.multiply(x, y, dtype=wide) + a).astype(kind)


def blend(start: Any, end: Any, weight: Any) -> Any:
    """start + weight * (end - start), from the nearer end, as torch.lerp goes; `weight` is an array or a number."""
    away = end - start
    if np.ndim(weight) == 0:
        weight = start.dtype.type(weight)
        return multiply_add(start, weight, away) if abs(weight) < 0.5 else multiply_add(end, away, weight - 1)
    near = np.abs(weight) < 0.5
    return np.where(near, multiply_add(start, weight, away), multiply_add(end, away, weight - 1))


def in_float64(name: str, by_blocks: bool = False) -> Any:
    """The kernel of numpy's function `name`, in float32 worked out in float64: PyTorch's are nearly always exact.

    What the kernel stands for otherwise is its attribute `ufunc`, for who runs it block by block. With `by_blocks`
    `trigonometry.py` has it for large float64 arrays.
    """

    function: Any = None

    def kernel(x: Any) -> Any:
        nonlocal function
        if function is None:
            function = getattr(np, name)
        if x.dtype.itemsize == 4 and x.size <= LARGE and x.dtype.kind == "f":
            return function(x, dtype=np.float64).astype(np.float32)
        if by_blocks and x.size >= dtypes.LARGE and x.dtype.itemsize == 8 and x.dtype.kind == "f":
            from gradtrace.engine import trigonometry

            return getattr(trigonometry, name)(x)
        return function(x)

    kernel.by_blocks = by_blocks  # type: ignore[attr-defined]
    kernel.ufunc = name  # type: ignore[attr-defined]
    return kernel


def power_once(a: Any, b: Any) -> Any:
    """a ** b in the same way."""
    if a.dtype.itemsize == 4 and a.size <= LARGE and a.dtype == b.dtype and a.dtype.kind == "f":
        return np.power(a, b, dtype=np.float64).astype(np.float32)
    return np.power(a, b)
