"""Elementwise functions of one tensor, and clamp; each has an array kernel, a float kernel and a rule."""

from __future__ import annotations

import math

from gradtrace.engine import dtypes
from gradtrace.engine.inplace import inplace
from gradtrace.engine.lazy import np
from gradtrace.engine.op import Op, d, op, records
from gradtrace.engine.rounding import in_float64, multiply_add
from gradtrace.engine.select import where_kept
from gradtrace.engine.tensor import Tensor
from gradtrace.engine.types import XP, Array, Operand, Raw
from gradtrace.ops import scalars
from gradtrace.ops.api import expose_inplace, functions, not_a_tensor, public, unary

FLOAT = {"promote": "float"}
LN2, LN10 = math.log(2.0), math.log(10.0)


exponential = in_float64("exp")


def sigmoid_kernel(x: Array) -> Array:
    out: Array = 1 / (1 + exponential(-np.asarray(x)))
    return out


def round_decimals(x: Array, decimals: int) -> Array:
    if decimals == 0:
        return np.rint(x)
    scale = np.asarray(10.0 ** abs(decimals)).astype(x.dtype)
    out: Array = np.rint(x * scale) / scale if decimals >= 0 else np.rint(x / scale) * scale
    return out


def zero(xp: XP, g: Operand, *_: object) -> Operand:
    return xp.zeros_like(g)


abs_record = op(
    "abs(self)",
    "abs",
    formula="abs(self)",
    kind="elementwise",
    symbolic=lambda s, a: s.sqrt(a**2),
    scalar=abs,
    node="AbsBackward0",
    promote="arith",
    unsupported_dtypes=("b", "abs_cpu"),
    self=d("self", lambda xp, g, out, self: g * xp.sgn(self)),
)
sign = op(
    "sign(self)",
    lambda x: sign_kernel(x),
    formula="where(self > 0, 1, where(self < 0, -1, 0))",
    kind="elementwise",
    zero="flat",
    scalar=scalars.sign,
    node="SignBackward0",
    self=d("", zero),
)
sgn = op(
    "sgn(self)",
    lambda x: sign_kernel(x),
    formula="where(self > 0, 1, where(self < 0, -1, 0))",
    kind="elementwise",
    zero="flat",
    scalar=scalars.sign,
    node="SgnBackward0",
    self=d("self out", lambda xp, g, out, self: xp.zeros_like(g)),
)
exp = op(
    "exp(self)",
    in_float64("exp"),
    formula="exp(self)",
    kind="elementwise",
    zero="saturated",
    symbolic="exp",
    scalar=math.exp,
    node="ExpBackward0",
    **FLOAT,
    self=d("out", lambda xp, g, out, self: g * out),
)
exp2 = op(
    "exp2(self)",
    in_float64("exp2"),
    formula="2**self",
    kind="elementwise",
    symbolic=lambda s, a: 2**a,
    scalar=lambda x: 2.0**x,
    node="Exp2Backward0",
    **FLOAT,
    self=d("out", lambda xp, g, out, self: g * out * LN2),
)
expm1 = op(
    "expm1(self)",
    in_float64("expm1"),
    formula="exp(self) - 1",
    kind="elementwise",
    symbolic=lambda s, a: s.exp(a) - 1,
    scalar=math.expm1,
    node="Expm1Backward0",
    **FLOAT,
    self=d("out", lambda xp, g, out, self: g * (out + 1)),
)
log = op(
    "log(self)",
    in_float64("log"),
    formula="exp(out) == self",
    kind="elementwise",
    symbolic="log",
    scalar=math.log,
    node="LogBackward0",
    **FLOAT,
    self=d("self", lambda xp, g, out, self: g / self),
)
log1p = op(
    "log1p(self)",
    in_float64("log1p"),
    formula="log(1 + self)",
    kind="elementwise",
    symbolic=lambda s, a: s.log(1 + a),
    scalar=math.log1p,
    node="Log1PBackward0",
    **FLOAT,
    self=d("self", lambda xp, g, out, self: g / (self + 1)),
)
log2 = op(
    "log2(self)",
    in_float64("log2"),
    formula="log(self) / log(2)",
    kind="elementwise",
    symbolic=lambda s, a: s.log(a) / s.log(2),
    scalar=math.log2,
    node="Log2Backward0",
    **FLOAT,
    self=d("self", lambda xp, g, out, self: g / (self * LN2)),
)
log10 = op(
    "log10(self)",
    in_float64("log10"),
    formula="log(self) / log(10)",
    kind="elementwise",
    symbolic=lambda s, a: s.log(a) / s.log(10),
    scalar=math.log10,
    node="Log10Backward0",
    **FLOAT,
    self=d("self", lambda xp, g, out, self: g / (self * LN10)),
)
sqrt = op(
    "sqrt(self)",
    "sqrt",
    formula="self**0.5",
    kind="elementwise",
    symbolic="sqrt",
    scalar=math.sqrt,
    node="SqrtBackward0",
    **FLOAT,
    self=d("out", lambda xp, g, out, self: g / (2 * out)),
)
rsqrt = op(
    "rsqrt(self)",
    lambda x: 1 / np.sqrt(x),
    formula="1 / sqrt(self)",
    kind="elementwise",
    symbolic=lambda s, a: 1 / s.sqrt(a),
    scalar=scalars.rsqrt,
    node="RsqrtBackward0",
    **FLOAT,
    self=d("out", lambda xp, g, out, self: -0.5 * g * xp.pow_scalar(out, 3)),
)
reciprocal = op(
    "reciprocal(self)",
    "reciprocal",
    formula="1 / self",
    kind="elementwise",
    symbolic=lambda s, a: 1 / a,
    scalar=scalars.reciprocal,
    node="ReciprocalBackward0",
    **FLOAT,
    self=d("out", lambda xp, g, out, self: -g * (out * out)),
)
sin = op(
    "sin(self)",
    in_float64("sin", by_blocks=True),
    kind="elementwise",
    symbolic="sin",
    scalar=math.sin,
    node="SinBackward0",
    **FLOAT,
    self=d("self", lambda xp, g, out, self: g * xp.cos(self)),
)
cos = op(
    "cos(self)",
    in_float64("cos", by_blocks=True),
    kind="elementwise",
    symbolic="cos",
    scalar=math.cos,
    node="CosBackward0",
    **FLOAT,
    self=d("self", lambda xp, g, out, self: g * -xp.sin(self)),
)
tan = op(
    "tan(self)",
    in_float64("tan"),
    formula="sin(self) / cos(self)",
    kind="elementwise",
    symbolic="tan",
    scalar=math.tan,
    node="TanBackward0",
    **FLOAT,
    self=d("out", lambda xp, g, out, self: g * (1 + xp.pow_scalar(out, 2))),
)
asin = op(
    "asin(self)",
    in_float64("arcsin"),
    formula="sin(out) == self; -pi / 2 <= out <= pi / 2",
    kind="elementwise",
    symbolic="asin",
    scalar=math.asin,
    node="AsinBackward0",
    **FLOAT,
    self=d("self", lambda xp, g, out, self: g * xp.rsqrt(-self * self + 1)),
)
acos = op(
    "acos(self)",
    in_float64("arccos"),
    formula="cos(out) == self; 0 <= out <= pi",
    kind="elementwise",
    symbolic="acos",
    scalar=math.acos,
    node="AcosBackward0",
    **FLOAT,
    self=d("self", lambda xp, g, out, self: g * -xp.rsqrt(-self * self + 1)),
)
atan = op(
    "atan(self)",
    in_float64("arctan"),
    formula="tan(out) == self; -pi / 2 < out < pi / 2",
    kind="elementwise",
    symbolic="atan",
    scalar=math.atan,
    node="AtanBackward0",
    **FLOAT,
    self=d("self", lambda xp, g, out, self: g / (self * self + 1)),
)
atan2 = op(
    "atan2(self, other)",
    "arctan2",
    formula="2 * atan(self / (sqrt(self**2 + other**2) + other))",
    kind="elementwise",
    commutative=False,
    scalar=math.atan2,
    node="Atan2Backward0",
    **FLOAT,
    self=d("self other", lambda xp, g, out, self, other: g * other * inverse_square(xp, self, other)),
    other=d("self other", lambda xp, g, out, self, other: g * -self * inverse_square(xp, self, other)),
)
sinh = op(
    "sinh(self)",
    in_float64("sinh"),
    formula="(exp(self) - exp(-self)) / 2",
    kind="elementwise",
    symbolic="sinh",
    scalar=math.sinh,
    node="SinhBackward0",
    **FLOAT,
    self=d("self", lambda xp, g, out, self: g * xp.cosh(self)),
)
cosh = op(
    "cosh(self)",
    in_float64("cosh"),
    formula="(exp(self) + exp(-self)) / 2",
    kind="elementwise",
    symbolic="cosh",
    scalar=math.cosh,
    node="CoshBackward0",
    **FLOAT,
    self=d("self", lambda xp, g, out, self: g * xp.sinh(self)),
)


def tanh_slope(g: Operand, result: Operand) -> Operand:
    return g * (1 - result * result)


tanh = op(
    "tanh(self)",
    in_float64("tanh"),
    formula="(exp(self) - exp(-self)) / (exp(self) + exp(-self))",
    kind="elementwise",
    zero="saturated",
    symbolic="tanh",
    scalar=math.tanh,
    node="TanhBackward0",
    **FLOAT,
    self=d("out", lambda xp, g, out, self: xp.tanh_backward(g, out)),
)
tanh_backward = op(
    "tanh_backward(g, result)",
    lambda g, result: (
        tanh_slope(g, result)
        if result.dtype.itemsize == 8
        else g * multiply_add(np.ones((), result.dtype), -result, result)
    ),
    formula="g * (1 - result**2)",
    kind="elementwise",
    scalar=tanh_slope,
    node="TanhBackwardBackward0",
    g=d("result", lambda xp, gg, out, g, result: xp.tanh_backward(gg, result)),
    result=d("g result", lambda xp, gg, out, g, result: gg * (-2 * result * g)),
)
asinh = op(
    "asinh(self)",
    "arcsinh",
    formula="log(self + sqrt(self**2 + 1))",
    kind="elementwise",
    scalar=math.asinh,
    node="AsinhBackward0",
    inplace_node="AsinhBackward1",
    **FLOAT,
    self=d("self", lambda xp, g, out, self: g * xp.rsqrt(xp.pow_scalar(self, 2) + 1)),
)
acosh = op(
    "acosh(self)",
    "arccosh",
    formula="log(self + sqrt(self**2 - 1))",
    kind="elementwise",
    scalar=math.acosh,
    node="AcoshBackward0",
    inplace_node="AcoshBackward1",
    **FLOAT,
    self=d("self", lambda xp, g, out, self: g * xp.rsqrt(self * self - 1)),
)
atanh = op(
    "atanh(self)",
    in_float64("arctanh"),
    formula="log((1 + self) / (1 - self)) / 2",
    kind="elementwise",
    scalar=math.atanh,
    node="AtanhBackward0",
    inplace_node="AtanhBackward1",
    **FLOAT,
    self=d("self", lambda xp, g, out, self: g / (1 - xp.pow_scalar(self, 2))),
)
sigmoid = op(
    "sigmoid(self)",
    sigmoid_kernel,
    formula="1 / (1 + exp(-self))",
    kind="elementwise",
    zero="saturated",
    symbolic=lambda s, a: 1 / (1 + s.exp(-a)),
    scalar=scalars.sigmoid,
    node="SigmoidBackward0",
    **FLOAT,
    self=d("out", lambda xp, g, out, self: g * (1 - out) * out, lambda xp, g, out, self: xp.sigmoid_backward(g, out)),
)
sigmoid_backward = op(
    "sigmoid_backward(g, result)",
    lambda g, result: g * (1 - result) * result,
    formula="g * result * (1 - result)",
    kind="elementwise",
    scalar=lambda g, result: g * (1 - result) * result,
    node="SigmoidBackwardBackward0",
    g=d("result", lambda xp, gg, out, g, result: xp.sigmoid_backward(gg, result)),
    result=d("g result", lambda xp, gg, out, g, result: gg * g * (-2 * result + 1)),
)
relu = op(
    "relu(self)",
    lambda x: relu_kernel(x),
    formula="max(self, 0)",
    kind="elementwise",
    zero="rectifier",
    scalar=scalars.relu,
    node="ReluBackward0",
    unsupported_dtypes=("b", "Boolean inputs not supported for relu"),
    self=d("out", lambda xp, g, out, self: xp.relu_grad(g, out)),
)
# A separate operator, as in PyTorch: its result requires grad because relu's does, although that gradient is 0.
relu_grad = op(
    "relu_grad(g, result)",
    lambda g, result: where_kept(np.logical_not(result <= 0), g),
    formula="where(result > 0, g, 0)",
    kind="elementwise",
    scalar=lambda g, result: 0.0 if result <= 0 else g,
    node="ThresholdBackwardBackward0",
    g=d("result", lambda xp, gg, out, g, result: xp.relu_grad(gg, result)),
    result=d("", zero),
)
floor = op(
    "floor(self)",
    "floor",
    formula="floor(self)",
    kind="elementwise",
    zero="flat",
    scalar=scalars.floor,
    node="FloorBackward0",
    unsupported_dtypes=("b", "floor_vml_cpu"),
    self=d("", zero),
)
ceil = op(
    "ceil(self)",
    "ceil",
    formula="ceil(self)",
    kind="elementwise",
    zero="flat",
    scalar=scalars.ceil,
    node="CeilBackward0",
    unsupported_dtypes=("b", "ceil_vml_cpu"),
    self=d("", zero),
)
trunc = op(
    "trunc(self)",
    "trunc",
    formula="where(self < 0, ceil(self), floor(self))",
    kind="elementwise",
    zero="flat",
    scalar=scalars.trunc,
    node="TruncBackward0",
    unsupported_dtypes=("b", "trunc_vml_cpu"),
    self=d("", zero),
)
round_record = op(
    "round(self)",
    lambda x: np.rint(x) if x.dtype.kind == "f" else x.copy(),
    formula="round(self)",
    kind="elementwise",
    zero="flat",
    scalar=scalars.round_half_even,
    node="RoundBackward0",
    unsupported_dtypes=("b", "round_vml_cpu"),
    self=d("", zero),
)
round_to = op(
    "round_to(self; decimals)",
    round_decimals,
    formula="round(self * 10**decimals) / 10**decimals",
    kind="elementwise",
    zero="flat",
    node="RoundBackward1",
    unsupported_dtypes=("bi", "round_cpu"),
    self=d("", zero),
)
frac = op(
    "frac(self)",
    lambda x: x - np.trunc(x),
    formula="self - trunc(self)",
    kind="elementwise",
    scalar=lambda x: x - math.trunc(x) + 0.0,
    node="FracBackward0",
    unsupported_dtypes=("bi", "frac_cpu"),
    self=d("", lambda xp, g, out, self: g),
)
clamp = op(
    "clamp(self; min, max)",
    lambda x, low, high: clamp_kernel(x, low, high),
    formula="minimum(maximum(self, min), max)",
    kind="elementwise",
    zero="clamp",
    scalar=scalars.clamp,
    node="ClampBackward1",
    self=d("self", lambda xp, g, out, self, min, max: clamp_grad(xp, g, self, min, max)),
)
clamp_min = op(
    "clamp_min(self; min)",
    lambda x, low: clamp_kernel(x, low, None),
    formula="maximum(self, min)",
    kind="elementwise",
    zero="clamp",
    scalar=lambda x, low: scalars.clamp(x, low, None),
    node="ClampMinBackward0",
    self=d("self", lambda xp, g, out, self, min: clamp_grad(xp, g, self, min, None)),
)
clamp_max = op(
    "clamp_max(self; max)",
    lambda x, high: clamp_kernel(x, None, high),
    formula="minimum(self, max)",
    kind="elementwise",
    zero="clamp",
    scalar=lambda x, high: scalars.clamp(x, None, high),
    node="ClampMaxBackward0",
    self=d("self", lambda xp, g, out, self, max: clamp_grad(xp, g, self, None, max)),
)
clamp_tensor = op(
    "clamp_tensor(self, min, max)",
    lambda x, low, high: clamp_kernel(x, low, high),
    formula="minimum(maximum(self, min), max)",
    kind="elementwise",
    zero="clamp",
    promote="arith",
    unsupported_dtypes=("b", "clamp_cpu"),
    node="ClampBackward0",
    self=d("self min max", lambda xp, g, out, self, min, max: clamp_grad(xp, g, self, min, max)),
    min=d(
        "self min max",
        lambda xp, g, out, self, min, max: bound_grad(
            xp, g, self < min if max is None else xp.logical_and(self < min, min < max)
        ),
    ),
    max=d(
        "self min max",
        lambda xp, g, out, self, min, max: bound_grad(
            xp, g, self > max if min is None else xp.logical_or(self > max, max < min)
        ),
    ),
)
clamp_min_tensor = op(
    "clamp_min_tensor(self, min)",
    lambda x, low: clamp_kernel(x, low, None),
    formula="maximum(self, min)",
    kind="elementwise",
    zero="clamp",
    promote="arith",
    node="ClampMinBackward1",
    self=d("self min", lambda xp, g, out, self, min: clamp_grad(xp, g, self, min, None)),
    min=d("self min", lambda xp, g, out, self, min: bound_grad(xp, g, self < min)),
)
clamp_max_tensor = op(
    "clamp_max_tensor(self, max)",
    lambda x, high: clamp_kernel(x, None, high),
    formula="minimum(self, max)",
    kind="elementwise",
    zero="clamp",
    promote="arith",
    node="ClampMaxBackward1",
    self=d("self max", lambda xp, g, out, self, max: clamp_grad(xp, g, self, None, max)),
    max=d("self max", lambda xp, g, out, self, max: bound_grad(xp, g, self > max)),
)
nan_to_num = op(
    "nan_to_num(self; nan, posinf, neginf)",
    lambda x, nan, posinf, neginf: np.nan_to_num(x, nan=nan or 0.0, posinf=posinf, neginf=neginf),
    formula="where(isnan(self), nan, where(self == inf, posinf, where(self == -inf, neginf, self)))",
    kind="elementwise",
    node="NanToNumBackward0",
    self=d(
        "self", lambda xp, g, out, self, *_: g * xp.where(xp.isfinite(self), xp.ones_like(self), xp.zeros_like(self))
    ),
)
isnan = op("isnan(self)", "isnan", formula="1 if self != self else 0", kind="elementwise", scalar=math.isnan)
isinf = op("isinf(self)", "isinf", formula="1 if abs(self) == inf else 0", kind="elementwise", scalar=math.isinf)
isfinite = op(
    "isfinite(self)", "isfinite", formula="1 if abs(self) < inf else 0", kind="elementwise", scalar=math.isfinite
)
isposinf = op(
    "isposinf(self)", "isposinf", formula="1 if self == inf else 0", kind="elementwise", scalar=lambda x: x == math.inf
)
isneginf = op(
    "isneginf(self)",
    "isneginf",
    formula="1 if self == -inf else 0",
    kind="elementwise",
    scalar=lambda x: x == -math.inf,
)
signbit = op(
    "signbit(self)",
    "signbit",
    formula="1 if copysign(1, self) < 0 else 0",
    kind="elementwise",
    scalar=lambda x: math.copysign(1.0, x) < 0,
)


def relu_kernel(x: Array) -> Array:
    """relu that keeps -0.0: of equal zeros np.maximum returns the second, except in half precision."""
    return np.maximum(0, x) if x.dtype.itemsize > 2 else np.where(x < 0, np.zeros_like(x), x)


def inverse_square(xp: XP, self: Operand, other: Operand) -> Operand:
    """Return 1 / (self^2 + other^2), or 0 at the origin, where the gradient of atan2 is defined as 0."""
    square = self * self + other * other
    return xp.zeroed(xp.reciprocal(square), square == 0)


def sign_kernel(x: Array) -> Array:
    """Return -1, 0 or 1; 0 for nan."""
    if x.dtype.kind != "f":
        return x.copy() if x.dtype.kind == "b" else np.sign(x)
    out = np.sign(x)
    return np.where(out == out, out, out.dtype.type(0)) if np.isnan(out.sum()) else out


def clamp_kernel(x: Array, low: Raw | None, high: Raw | None) -> Array:
    dtype = np.asarray(x).dtype
    if low is not None:
        x = np.maximum(np.asarray(low).astype(dtype), x)  # of equal zeros numpy returns the second, PyTorch the input
    if high is not None:
        x = np.minimum(np.asarray(high).astype(dtype), x)
    return x


def clamp_grad(xp: XP, g: Operand, self: Operand, low: Operand | float | None, high: Operand | float | None) -> Operand:
    """Gradient of clamp: 1 at the bounds, 0 outside and for nan; with low > high it is 0 everywhere."""
    inside = self == self
    if low is not None:
        inside = xp.logical_and(inside, self >= low)
    if high is not None:
        inside = xp.logical_and(inside, self <= high)
    return xp.where(inside, g, xp.zeros_like(g))


def bound_grad(xp: XP, g: Operand, active: Operand) -> Operand:
    return xp.where(active, g, xp.zeros_like(g))


# ---- the public names

for _record, _aliases in (
    (abs_record, ("absolute",)),
    (sign, ()),
    (sgn, ()),
    (exp, ()),
    (exp2, ()),
    (expm1, ()),
    (log, ()),
    (log1p, ()),
    (log2, ()),
    (log10, ()),
    (sqrt, ()),
    (rsqrt, ()),
    (reciprocal, ()),
    (sin, ()),
    (cos, ()),
    (tan, ()),
    (asin, ("arcsin",)),
    (acos, ("arccos",)),
    (atan, ("arctan",)),
    (sinh, ()),
    (cosh, ()),
    (asinh, ("arcsinh",)),
    (acosh, ("arccosh",)),
    (atanh, ("arctanh",)),
    (floor, ()),
    (ceil, ()),
    (trunc, ("fix",)),
    (frac, ()),
):
    unary(_record, *_aliases)
for _record in (exp2, expm1, log1p):
    unary(_record, forms="s")
unary(tanh, forms="fmin")
unary(sigmoid, forms="fmin")
unary(sigmoid, forms="s").__name__ = "expit"
rectified = unary(relu, forms="fmi")
unary(sgn)
for _record in (isnan, isinf, isfinite, isposinf, isneginf, signbit):
    unary(_record, forms="fm")


@public("square")
def square(input: Tensor) -> Tensor:
    """Return input ** 2 (torch.square)."""
    return input**2


@public("round")
def rounded(input: Tensor, *, decimals: int = 0) -> Tensor:
    """Round to the nearest integer, half to even, or to `decimals` digits after the point (torch.round)."""
    return round_record(input) if decimals == 0 else round_to(input, decimals)


@public("atan2", "arctan2")
def arctan2(input: Tensor, other: Tensor) -> Tensor:
    """Angle of the point (other, input) (torch.atan2)."""
    for position, (name, value) in enumerate((("input", input), ("other", other)), 1):
        if not isinstance(value, Tensor):
            raise not_a_tensor("atan2", name, position, value)
    return atan2(input, other)


@public("clamp", "clip")
def clamped(input: Tensor, min: Tensor | float | None = None, max: Tensor | float | None = None) -> Tensor:
    """Clamp input to [min, max]; a bound may be a tensor or None (torch.clamp)."""
    min, max = dtypes.python_number(min), dtypes.python_number(max)
    record, rest = choose_clamp(input, min, max)
    out: Tensor = record(in_bounds_dtype(input, min, max), *rest)
    return out


def choose_clamp(
    input: Tensor, low: Tensor | float | None, high: Tensor | float | None
) -> tuple[Op, tuple[Tensor | float | None, ...]]:
    if low is None and high is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if isinstance(low, Tensor) or isinstance(high, Tensor):
        return clamp_tensor, (low, high)
    return clamp, (low, high)


def in_bounds_dtype(input: Tensor, *bounds: Tensor | float | None) -> Tensor:
    """Cast the input to its common dtype with bounds that are numbers."""
    if input.is_floating_point():
        return input
    numbers = [b for b in bounds if isinstance(b, (int, float)) and not isinstance(b, bool)]
    common = dtypes.result_type((input._data, True), *((b, False) for b in numbers))
    return input if common is input.dtype else records["cast"](input, common.np)


@public("clamp_min")
def clamped_below(input: Tensor, min: Tensor | float) -> Tensor:
    """Clamp input from below (torch.clamp_min)."""
    return clamp_min_tensor(input, min) if isinstance(min, Tensor) else clamp_min(in_bounds_dtype(input, min), min)


@public("clamp_max")
def clamped_above(input: Tensor, max: Tensor | float) -> Tensor:
    """Clamp input from above (torch.clamp_max)."""
    return clamp_max_tensor(input, max) if isinstance(max, Tensor) else clamp_max(in_bounds_dtype(input, max), max)


@public("nan_to_num")
def without_nan(
    input: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """Replace nan and infinities by numbers (torch.nan_to_num)."""
    if not isinstance(input, Tensor):
        raise not_a_tensor("nan_to_num", "input", 1, input)
    return nan_to_num(input, nan or 0.0, posinf, neginf)


def _clamp_inplace(self: Tensor, min: Tensor | float | None = None, max: Tensor | float | None = None) -> Tensor:
    record, rest = choose_clamp(self, min, max)
    common = in_bounds_dtype(self, min, max).dtype
    if common.category > self.dtype.category:
        kept = self.dtype.c_name
        raise RuntimeError(f"result type {common.scalar_type} can't be cast to the desired output type {kept}")
    return inplace(record, self, *rest)


def _clamp_min_inplace(self: Tensor, min: Tensor | float) -> Tensor:
    return inplace(clamp_min_tensor if isinstance(min, Tensor) else clamp_min, self, min)


def _clamp_max_inplace(self: Tensor, max: Tensor | float) -> Tensor:
    return inplace(clamp_max_tensor if isinstance(max, Tensor) else clamp_max, self, max)


def _pow2_inplace(self: Tensor) -> Tensor:
    out: Tensor = self.pow_(2)
    return out


def _round_inplace(self: Tensor, *, decimals: int = 0) -> Tensor:
    return inplace(round_record, self) if decimals == 0 else inplace(round_to, self, decimals)


def _nan_to_num_inplace(
    self: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    return inplace(nan_to_num, self, nan or 0.0, posinf, neginf)


for _name, _function in (
    ("clamp_", _clamp_inplace),
    ("clip_", _clamp_inplace),
    ("clamp_min_", _clamp_min_inplace),
    ("clamp_max_", _clamp_max_inplace),
    ("square_", _pow2_inplace),
    ("round_", _round_inplace),
    ("nan_to_num_", _nan_to_num_inplace),
):
    setattr(Tensor, _name, _function)
expose_inplace(atan2, "atan2", "arctan2", numbers=False)
Tensor.__abs__ = functions["abs"]  # type: ignore[method-assign]
Tensor.__round__ = lambda self, decimals=0: rounded(self, decimals=decimals)  # type: ignore[attr-defined]
