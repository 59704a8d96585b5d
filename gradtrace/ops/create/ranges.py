"""Evenly spaced numbers: arange, range, linspace, logspace, with the rounding of PyTorch's
kernels.
"""

from __future__ import annotations

import math

from gradtrace.annotations import Any
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.dtypes import as_dtype
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array, NumpyDtype
from gradtrace.engine.operators.rounding import fused_multiply_add
from gradtrace.ops.api import public
from gradtrace.ops.create.factories import finish, plain_number


def range_dtype(name: str, dtype: Any, default: dtypes.dtype) -> NumpyDtype:
    output_dtype = as_dtype(dtype) or default
    if output_dtype is dtypes.bool_:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
    return output_dtype.np


@public(forms="f")
def arange(
    start: Tensor | float | None = None,
    end: Tensor | float | None = None,
    step: Tensor | float = 1,
    *,
    dtype: dtypes.dtype | None = None,
    device: object = None,
    requires_grad: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """start, start + step, ... before end; int64 for integers, else the default dtype
    (torch.arange).
    """
    if end is None:
        start, end = 0, start
        if end is None:
            raise TypeError("arange() needs the bound `end`: arange([start,] end, step=1)")
    low, high, by = (plain_number(v) for v in (0 if start is None else start, end, step))
    some_float = any(isinstance(v, float) for v in (low, high, by))
    kind = range_dtype("arange", dtype, dtypes.get_default_dtype() if some_float else dtypes.int64)
    check_range(low, high, by)
    if kind == np.int64 and some_float:
        low = int(low)
        high = int(high)
        by = int(by)
        if by == 0:
            raise ValueError("step must be nonzero")
    count = max(math.ceil((high - low) / by) if some_float else -((low - high) // by), 0)
    return finish(steps_up(low, by, count, kind), requires_grad, device)


@public("range", forms="f")
def closed_range(
    start: Tensor | float,
    end: Tensor | float,
    step: Tensor | float = 1,
    *,
    dtype: dtypes.dtype | None = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """start, start + step, ... up to end inclusive (torch.range, which PyTorch deprecates)."""
    low, high, by = (plain_number(v) for v in (start, end, step))
    kind = range_dtype("range", dtype, dtypes.get_default_dtype())
    check_range(low, high, by)
    values = low + np.arange(math.floor((high - low) / by) + 1) * by
    return finish(values.astype(kind), requires_grad, device)


def check_range(start: float, end: float, step: float) -> None:
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start:g} -> {end:g}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")


def steps_up(start: float, step: float, count: int, kind: NumpyDtype) -> Array:
    """Return start + i * step for i < count, with the rounding of PyTorch's kernel.

    The kernel computes in a wider type: float64 for float32, float32 for float16, int64 for
    integers. It works on vectors of 32 bytes, two at a time: the first number of each is rounded to
    the dtype, and the others are computed from this rounded number. Numbers left over at the end
    are each computed from `start`.
    """
    number = np.arange(count)
    if kind.kind != "f":
        return (int(start) + number * int(step)).astype(kind)
    wide: Any = np.dtype(np.float32 if kind.itemsize == 2 else np.float64)
    low = wide.type(start)
    by = wide.type(step)
    values = fused_multiply_add(low, by, number.astype(wide)).astype(kind)
    lanes = 32 // kind.itemsize
    whole = count - count % (2 * lanes)
    first = values[:whole:lanes].repeat(lanes).astype(wide)
    values[:whole] = fused_multiply_add(first, by, (number[:whole] % lanes).astype(wide)).astype(
        kind
    )
    return values


@public(forms="f")
def linspace(
    start: Tensor | float,
    end: Tensor | float,
    steps: int,
    *,
    dtype: dtypes.dtype | None = None,
    device: object = None,
    requires_grad: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """`steps` values evenly spaced from start to end inclusive (torch.linspace)."""
    for name, value in (("start", start), ("end", end)):
        if isinstance(value, Tensor) and value.ndim:
            raise RuntimeError(
                f"linspace only supports 0-dimensional start and end tensors, but got {name} with {value.ndim} "
                "dimension(s)."
            )
    kind = range_dtype("linspace", dtype, dtypes.get_default_dtype())
    low = plain_number(start)
    high = plain_number(end)
    check_steps(steps)
    first = rounded(low, kind)
    last = rounded(high, kind)
    if steps < 2:
        return finish(np.full(steps, first), requires_grad, device)
    if kind.kind != "f":
        first = np.float64(first)
        last = np.float64(last)
    step = (last - first) / first.dtype.type(steps - 1)
    values = from_both_ends(first, last, step, steps, fused=kind.itemsize > 2 or kind.kind != "f")
    return finish(values.astype(kind), requires_grad, device)


@public(forms="f")
def logspace(
    start: Tensor | float,
    end: Tensor | float,
    steps: int,
    base: float = 10.0,
    *,
    dtype: dtypes.dtype | None = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """base ** linspace(start, end, steps) (torch.logspace)"""
    kind = range_dtype("logspace", dtype, dtypes.get_default_dtype())
    low = plain_number(start)
    high = plain_number(end)
    check_steps(steps)
    if steps < 2:
        powers = np.full(steps, float(low))
    else:
        first = rounded(low, kind)
        last = rounded(high, kind)
        gap = last - first if kind.kind == "f" else int(last) - int(first)
        powers = from_both_ends(
            np.float64(first), np.float64(last), np.float64(gap) / (steps - 1), steps, fused=False
        )
    values = [power(float(base), exponent) for exponent in powers.tolist()]
    return finish(np.array(values, np.float64).astype(kind), requires_grad, device)


def power(base: float, exponent: float) -> float:
    """Return base ** exponent from the C library, which rounds better than numpy does on arrays."""
    try:
        return math.pow(base, exponent)
    except (OverflowError, ValueError):
        return float(np.power(base, exponent))


def check_steps(steps: int) -> None:
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")


def rounded(value: float, kind: NumpyDtype) -> Any:
    """Return the number as a numpy scalar of a dtype."""
    return np.asarray(value).astype(kind)[()]


def from_both_ends(low: Any, high: Any, step: Any, steps: int, *, fused: bool) -> Array:
    """Return evenly spaced numbers: the first half computed from `low` upwards, the second from
    `high` downwards.
    """
    number = np.arange(steps)
    up = number.astype(low.dtype)
    down = (steps - 1 - number).astype(low.dtype)
    first = fused_multiply_add(low, step, up) if fused else low + step * up
    last = fused_multiply_add(high, -step, down) if fused else high - step * down
    return np.where(number < steps // 2, first, last)
