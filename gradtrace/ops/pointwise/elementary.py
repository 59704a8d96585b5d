"""Signs, exponentials, logarithms, roots, sigmoid and relu; each has an array kernel, a float kernel and a rule."""

from __future__ import annotations

import math

from gradtrace.engine.lazy import np
from gradtrace.engine.op import d, op
from gradtrace.engine.rounding import in_float64
from gradtrace.engine.select import where_kept
from gradtrace.engine.tensor import Tensor
from gradtrace.engine.types import XP, Array, Operand
from gradtrace.ops import scalars
from gradtrace.ops.api import functions, public, unary

FLOAT = {"promote": "float"}
LN2, LN10 = math.log(2.0), math.log(10.0)


exponential = in_float64("exp")


def sigmoid_kernel(x: Array) -> Array:
    out: Array = 1 / (1 + exponential(-np.asarray(x)))
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


def relu_kernel(x: Array) -> Array:
    """Return relu of an array, keeping -0.0: of equal zeros np.maximum returns the second, except in half precision."""
    return np.maximum(0, x) if x.dtype.itemsize > 2 else np.where(x < 0, np.zeros_like(x), x)


def sign_kernel(x: Array) -> Array:
    """Return -1, 0 or 1; 0 for nan."""
    if x.dtype.kind != "f":
        return x.copy() if x.dtype.kind == "b" else np.sign(x)
    out = np.sign(x)
    return np.where(out == out, out, out.dtype.type(0)) if np.isnan(out.sum()) else out


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
):
    unary(_record, *_aliases)
for _record in (exp2, expm1, log1p):
    unary(_record, forms="s")
unary(sigmoid, forms="fmin")
unary(sigmoid, forms="s").__name__ = "expit"
rectified = unary(relu, forms="fmi")
unary(sgn)


@public("square")
def square(input: Tensor) -> Tensor:
    """Return input ** 2 (torch.square)."""
    return input**2


def _pow2_inplace(self: Tensor) -> Tensor:
    out: Tensor = self.pow_(2)
    return out


Tensor.square_ = _pow2_inplace  # type: ignore[assignment, method-assign]
Tensor.__abs__ = functions["abs"]  # type: ignore[method-assign]
