"""Bounds: clamp, nan_to_num, and the tests for nan, infinities and the sign bit."""

from __future__ import annotations

import math

from gradtrace.engine.calls.inplace import inplace
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, Operand, Raw
from gradtrace.engine.operators.op import Op, arith_op, d, elementwise_op, records
from gradtrace.engine.operators.rounding import fitting
from gradtrace.ops import scalars
from gradtrace.ops.api import Choice, public, unary
from gradtrace.ops.arguments import in_both_forms


def clamp_kernel(x: Array, low: Raw | None, high: Raw | None) -> Array:
    dtype = np.asarray(x).dtype
    if low is not None:
        low = np.asarray(fitting(low, dtype)).astype(dtype)
        x = np.maximum(low, x)  # of equal zeros numpy returns the second, PyTorch the input
    if high is not None:
        x = np.minimum(np.asarray(fitting(high, dtype)).astype(dtype), x)
    return x


def clamp_grad(
    xp: XP,
    g: Operand,
    out: object,
    self: Operand,
    low: Operand | float | None,
    high: Operand | float | None,
) -> Operand:
    """Return the gradient of clamp: 1 at the bounds, 0 outside and for nan; with low > high it is 0
    everywhere.
    """
    inside = self == self
    if low is not None:
        inside = xp.logical_and(inside, self >= low)
    if high is not None:
        inside = xp.logical_and(inside, self <= high)
    return xp.where(inside, g, xp.zeros_like(g))


# fmt: off
clamp = elementwise_op("clamp(self; min, max)", clamp_kernel,
    "minimum(maximum(self, min), max)", zero="clamp", scalar=scalars.clamp, node="ClampBackward1",
    self=d("self", clamp_grad))
clamp_min = elementwise_op("clamp_min(self; min)", lambda x, low: clamp_kernel(x, low, None), "maximum(self, min)",
    zero="clamp", scalar=lambda x, low: scalars.clamp(x, low, None),
    self=d("self", lambda xp, g, out, self, min: clamp_grad(xp, g, out, self, min, None)))
clamp_max = elementwise_op("clamp_max(self; max)", lambda x, high: clamp_kernel(x, None, high), "minimum(self, max)",
    zero="clamp", scalar=lambda x, high: scalars.clamp(x, None, high),
    self=d("self", lambda xp, g, out, self, max: clamp_grad(xp, g, out, self, None, max)))
clamp_tensor = arith_op("clamp_tensor(self, min, max)", clamp_kernel,
    "minimum(maximum(self, min), max)", zero="clamp", unsupported_dtypes="b clamp_cpu", node="ClampBackward0",
    self=d("self min max", clamp_grad),
    min=d("self min max", lambda xp, g, out, self, min, max:
        bound_grad(xp, g, self < min if max is None else xp.logical_and(self < min, min < max))),
    max=d("self min max", lambda xp, g, out, self, min, max:
        bound_grad(xp, g, self > max if min is None else xp.logical_or(self > max, max < min))))
clamp_min_tensor = arith_op("clamp_min_tensor(self, min)", lambda x, low: clamp_kernel(x, low, None),
    "maximum(self, min)", zero="clamp", node="ClampMinBackward1",
    self=d("self min", lambda xp, g, out, self, min: clamp_grad(xp, g, out, self, min, None)),
    min=d("self min", lambda xp, g, out, self, min: bound_grad(xp, g, self < min)))
clamp_max_tensor = arith_op("clamp_max_tensor(self, max)", lambda x, high: clamp_kernel(x, None, high),
    "minimum(self, max)", zero="clamp", node="ClampMaxBackward1",
    self=d("self max", lambda xp, g, out, self, max: clamp_grad(xp, g, out, self, None, max)),
    max=d("self max", lambda xp, g, out, self, max: bound_grad(xp, g, self > max)))
nan_to_num = elementwise_op("nan_to_num(self; nan, posinf, neginf)",
    lambda x, nan, posinf, neginf: np.nan_to_num(x, nan=nan or 0.0, posinf=posinf, neginf=neginf),
    "where(isnan(self), nan, where(self == inf, posinf, where(self == -inf, neginf, self)))",
    self=d("self", lambda xp, g, out, self, *_:
        g * xp.where(xp.isfinite(self), xp.ones_like(self), xp.zeros_like(self))))
isnan = elementwise_op("isnan(self)", "isnan", "1 if self != self else 0", scalar=math.isnan)
isinf = elementwise_op("isinf(self)", "isinf", "1 if abs(self) == inf else 0", scalar=math.isinf)
isfinite = elementwise_op("isfinite(self)", "isfinite", "1 if abs(self) < inf else 0", scalar=math.isfinite)
isposinf = elementwise_op("isposinf(self)", "isposinf", "1 if self == inf else 0", scalar=lambda x: x == math.inf)
isneginf = elementwise_op("isneginf(self)", "isneginf", "1 if self == -inf else 0", scalar=lambda x: x == -math.inf)
signbit = elementwise_op("signbit(self)", "signbit", "1 if copysign(1, self) < 0 else 0",
    scalar=lambda x: math.copysign(1.0, x) < 0)
# fmt: on


def bound_grad(xp: XP, g: Operand, active: Operand) -> Operand:
    return xp.where(active, g, xp.zeros_like(g))


# ---- the public names

for _record in (isnan, isinf, isfinite, isposinf, isneginf, signbit):
    unary(_record, forms="fm")


@public("clamp", "clip")
def clamped(
    input: Tensor, min: Tensor | float | None = None, max: Tensor | float | None = None
) -> Tensor:
    """Clamp input to [min, max]; a bound may be a tensor or None (torch.clamp)."""
    min = dtypes.python_number(min)
    max = dtypes.python_number(max)
    record, rest = choose_clamp(input, min, max)
    return record(in_bounds_dtype(input, min, max), *rest)


def choose_clamp(
    input: Tensor, low: Tensor | float | None, high: Tensor | float | None
) -> tuple[Op, tuple[Tensor | float | None, ...]]:
    if low is None and high is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if isinstance(low, Tensor) or isinstance(high, Tensor):
        return clamp_tensor, (low, high)
    return clamp, (low, high)


def in_bounds_dtype(input: Tensor, *bounds: Tensor | float | None) -> Tensor:
    """Cast an integer input to the common dtype of the input and those bounds that are numbers."""
    if input.is_floating_point():
        return input
    numbers = [b for b in bounds if isinstance(b, (int, float)) and not isinstance(b, bool)]
    common = dtypes.result_type((input._data, True), *((b, False) for b in numbers))
    return input if common is input.dtype else records["cast"](input, common.np)


@public("clamp_min")
def clamped_below(input: Tensor, min: Tensor | float) -> Tensor:
    """Clamp input from below (torch.clamp_min)."""
    return (
        clamp_min_tensor(input, min)
        if isinstance(min, Tensor)
        else clamp_min(in_bounds_dtype(input, min), min)
    )


@public("clamp_max")
def clamped_above(input: Tensor, max: Tensor | float) -> Tensor:
    """Clamp input from above (torch.clamp_max)."""
    return (
        clamp_max_tensor(input, max)
        if isinstance(max, Tensor)
        else clamp_max(in_bounds_dtype(input, max), max)
    )


@in_both_forms("nan_to_num")
def choose_nan_to_num(
    input: Tensor,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Choice:
    """Replace nan and infinities by numbers (torch.nan_to_num)."""
    return nan_to_num, (input, nan or 0.0, posinf, neginf)


def _clamp_inplace(
    self: Tensor, min: Tensor | float | None = None, max: Tensor | float | None = None
) -> Tensor:
    record, rest = choose_clamp(self, min, max)
    common = in_bounds_dtype(self, min, max).dtype
    if common.category > self.dtype.category:
        kept = self.dtype.c_name
        raise RuntimeError(
            f"result type {common.scalar_type} can't be cast to the desired output type {kept}"
        )
    return inplace(record, self, *rest)


def _clamp_min_inplace(self: Tensor, min: Tensor | float) -> Tensor:
    return inplace(clamp_min_tensor if isinstance(min, Tensor) else clamp_min, self, min)


def _clamp_max_inplace(self: Tensor, max: Tensor | float) -> Tensor:
    return inplace(clamp_max_tensor if isinstance(max, Tensor) else clamp_max, self, max)


for _name, _function in (
    ("clamp_", _clamp_inplace),
    ("clip_", _clamp_inplace),
    ("clamp_min_", _clamp_min_inplace),
    ("clamp_max_", _clamp_max_inplace),
):
    setattr(Tensor, _name, _function)
