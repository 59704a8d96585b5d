"""Products and sums rounded once, like the fused multiply-adds of PyTorch's kernels.

PyTorch computes `a.add_(b, alpha=s)`, addcmul and lerp (and so every optimiser's step) with one
instruction for each element. numpy has no such function, so the product is computed in a wider
type. That takes several passes over the data, so large arrays are computed without it and rounded
twice.

`dot_product` sums products of large arrays without the threads of BLAS. From some 10,000 elements
on, OpenBLAS divides a dot product among its threads, which then spin while they wait for the next
one. For work that is bound by memory this gains little on an idle machine, and on a busy one it
takes processor time from others and waits for a thread that is not running. A product of rows of
1,024 elements stays in its thread.
"""

from __future__ import annotations

import math

from gradtrace.annotations import TYPE_CHECKING, Any, Callable
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.lazy import np

if TYPE_CHECKING:
    from gradtrace.engine.data.types import Array, Kernel

LARGE = 2048  # elements


def multiply_add(a: Array, x: float | Array, y: float | Array) -> Array:
    """Return a + x * y for arrays of one floating dtype. One factor may be a number, which is cast
    to that dtype.
    """
    kind = a.dtype
    if kind.itemsize < 4:
        return in_float32(lambda a, x, y: a + x * y, a, x, y)
    if a.size > LARGE:
        return a + x * y
    return fused_multiply_add(a, of_dtype(x, y, kind), of_dtype(y, x, kind))


def of_dtype(factor: float | Array, operand: float | Array, dtype: Any) -> Any:
    """Return a number rounded to a dtype: a Python float, which numpy multiplies faster, if
    `operand` is an array.
    """
    if not isinstance(factor, (int, float)):
        return factor
    return float(dtype.type(factor)) if type(operand) is np.ndarray else dtype.type(factor)


def fused_multiply_add(a: Any, x: Any, y: Any) -> Array:
    """Return a + x * y for arrays, numpy scalars and floats of one dtype, float32 or float64, of
    any size.
    """
    wide = np.float64 if a.dtype.itemsize == 4 else np.longdouble
    total: Array = widened(x, wide) * widened(y, wide) + a
    return total.astype(a.dtype)


def widened(x: Any, dtype: Any) -> Array:
    """Return an array or numpy scalar in another dtype. A Python float is returned unchanged.

    A broadcast view (a stride is 0) becomes an array in C order, as with a ufunc. This is faster on
    small arrays than `np.exp(x, dtype=...)`, which casts through a buffer.
    """
    if type(x) is float:
        return x  # type: ignore[return-value]
    return x.astype(dtype, "C" if 0 in x.strides else "K")


def in_float32(function: Callable[..., Array], *operands: Any) -> Array:
    """Return a function of arrays and numbers, computed in float32 and rounded once to float16."""
    wide = np.dtype(np.float32)
    return function(
        *(np.asarray(fitting(operand, wide)).astype(wide) for operand in operands)
    ).astype(np.float16)


def times_number(a: Array, number: float) -> Array:
    return a * number if a.dtype != np.float16 else (a * np.float32(number)).astype(a.dtype)


def over_number(a: Array, number: float) -> Array:
    return a / number if a.dtype != np.float16 else (a / np.float32(number)).astype(a.dtype)


# the largest numbers, by the bytes of a floating dtype
LIMITS = {2: 65504.0, 4: 3.4028234663852886e38}


def fitting(value: Any, dtype: Any) -> Any:
    """Return a number; raise RuntimeError, as PyTorch does, if it is finite and beyond a floating
    dtype's range.
    """
    limit = (
        LIMITS.get(dtype.itemsize)
        if dtype.kind == "f" and isinstance(value, (float, int))
        else None
    )
    if limit is not None and limit < abs(value) < math.inf:
        name = dtypes.from_np(dtype).c_name
        raise RuntimeError(f"value cannot be converted to type {name} without overflow")
    return value


def blend(start: Array, end: Array, weight: Any) -> Array:
    """Return start + weight * (end - start), computed from the nearer end like torch.lerp."""
    away = end - start
    if np.ndim(weight) == 0:
        weight = start.dtype.type(weight)
        return (
            multiply_add(start, weight, away)
            if abs(weight) < 0.5
            else multiply_add(end, away, weight - 1)
        )
    near = np.abs(weight) < 0.5
    return np.where(near, multiply_add(start, weight, away), multiply_add(end, away, weight - 1))


def in_float64(name: str, by_blocks: bool = False) -> Kernel:
    """Return a kernel that calls numpy's `name`. float32 is computed in float64, as PyTorch is
    nearly exact.

    The attribute `ufunc` of the kernel is the name of numpy's function, for code that runs it in
    blocks. With `by_blocks`, `trigonometry.py` computes large float64 arrays.
    """

    function: Kernel | None = None

    def kernel(x: Array) -> Any:
        nonlocal function
        if function is None:
            function = getattr(np, name)
        if x.dtype.itemsize == 4 and x.size <= LARGE and x.dtype.kind == "f":
            return function(widened(x, np.float64)).astype(np.float32)
        if by_blocks and x.size >= dtypes.LARGE and x.dtype.itemsize == 8 and x.dtype.kind == "f":
            from gradtrace.engine.operators import trigonometry

            return getattr(trigonometry, name)(x)
        return function(x)

    kernel.by_blocks = by_blocks  # type: ignore[attr-defined]
    kernel.ufunc = name  # type: ignore[attr-defined]
    return kernel


def power_once(a: Array, b: Array) -> Array:
    """Return a ** b, computed in float64 for float32."""
    if a.dtype.itemsize == 4 and a.size <= LARGE and a.dtype == b.dtype and a.dtype.kind == "f":
        power: Array = np.power(widened(a, np.float64), widened(b, np.float64))
        return power.astype(np.float32)
    return np.power(a, b)


ROW = 1024  # elements of a product that stays in its thread


def dot_product(a: Array, b: Array) -> Any:
    """Return the sum of a[i] * b[i] of two arrays of one dimension and one dtype, as a scalar of
    numpy.
    """
    if a.size <= ROW:
        return a.dot(b)
    whole = a.size // ROW * ROW
    rows = np.vecdot(a[:whole].reshape(-1, ROW), b[:whole].reshape(-1, ROW))
    return np.add.reduce(rows) + a[whole:].dot(b[whole:])
