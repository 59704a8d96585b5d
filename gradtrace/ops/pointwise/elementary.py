"""Signs, exponentials, logarithms, roots, sigmoid and relu; each has an array kernel, a float
kernel and a rule.
"""

from __future__ import annotations

import math

from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array
from gradtrace.engine.operators.op import ZERO_GRAD, arith_op, d, elementwise_op, float_op
from gradtrace.engine.operators.rounding import in_float64
from gradtrace.engine.operators.select import where_kept
from gradtrace.ops import scalars
from gradtrace.ops.api import functions, public, unary

LN2 = math.log(2.0)
LN10 = math.log(10.0)


exponential = in_float64("exp")


def sigmoid_kernel(x: Array) -> Array:
    return 1 / (1 + exponential(-np.asarray(x)))


def sign_kernel(x: Array) -> Array:
    """Return -1, 0 or 1; 0 for nan."""
    if x.dtype.kind != "f":
        return x.copy() if x.dtype.kind == "b" else np.sign(x)
    out = np.sign(x)
    return np.where(out == out, out, out.dtype.type(0)) if np.isnan(out.sum()) else out


def relu_kernel(x: Array) -> Array:
    """Return relu of an array, keeping -0.0: of equal zeros np.maximum returns the second, except
    in half precision.
    """
    return np.maximum(0, x) if x.dtype.itemsize > 2 else np.where(x < 0, np.zeros_like(x), x)


# fmt: off
abs_record = arith_op("abs(self)", "abs", "abs(self)", symbolic=lambda s, a: s.sqrt(a**2), scalar=abs,
    unsupported_dtypes="b abs_cpu", self=d("self", lambda xp, g, out, self: g * xp.sgn(self)))
sign = elementwise_op("sign(self)", sign_kernel, "where(self > 0, 1, where(self < 0, -1, 0))",
    zero="flat", scalar=scalars.sign, self=ZERO_GRAD)
sgn = elementwise_op("sgn(self)", sign_kernel, "where(self > 0, 1, where(self < 0, -1, 0))", zero="flat",
    scalar=scalars.sign, self=d("self out", lambda xp, g, out, self: xp.zeros_like(g)))
exp = float_op("exp(self)", in_float64("exp"), "exp(self)", zero="saturated", symbolic="exp", scalar=math.exp,
    self=d("out", lambda xp, g, out, self: g * out))
exp2 = float_op("exp2(self)", in_float64("exp2"), "2**self", symbolic=True, scalar=lambda x: 2.0**x,
    self=d("out", lambda xp, g, out, self: g * out * LN2))
expm1 = float_op("expm1(self)", in_float64("expm1"), "exp(self) - 1", symbolic=True,
    scalar=math.expm1, self=d("out", lambda xp, g, out, self: g * (out + 1)))
log = float_op("log(self)", in_float64("log"), "exp(out) == self", symbolic="log", scalar=math.log,
    self=d("self", lambda xp, g, out, self: g / self))
log1p = float_op("log1p(self)", in_float64("log1p"), "log(1 + self)", symbolic=True,
    scalar=math.log1p, self=d("self", lambda xp, g, out, self: g / (self + 1)))
log2 = float_op("log2(self)", in_float64("log2"), "log(self) / log(2)", symbolic=True,
    scalar=math.log2, self=d("self", lambda xp, g, out, self: g / (self * LN2)))
log10 = float_op("log10(self)", in_float64("log10"), "log(self) / log(10)", symbolic=True,
    scalar=math.log10, self=d("self", lambda xp, g, out, self: g / (self * LN10)))
sqrt = float_op("sqrt(self)", "sqrt", "self**0.5", symbolic="sqrt", scalar=math.sqrt,
    self=d("out", lambda xp, g, out, self: g / (2 * out)))
rsqrt = float_op("rsqrt(self)", lambda x: 1 / np.sqrt(x), "1 / sqrt(self)", symbolic=True,
    scalar=scalars.rsqrt, self=d("out", lambda xp, g, out, self: -0.5 * g * xp.pow_scalar(out, 3)))
reciprocal = float_op("reciprocal(self)", "reciprocal", "1 / self", symbolic=True,
    scalar=scalars.reciprocal, self=d("out", lambda xp, g, out, self: -g * (out * out)))
sigmoid = float_op("sigmoid(self)", sigmoid_kernel, "1 / (1 + exp(-self))", zero="saturated",
    symbolic=True, scalar=scalars.sigmoid,
    self=d("out", lambda xp, g, out, self: g * (1 - out) * out, lambda xp, g, out, self: xp.sigmoid_backward(g, out)))
sigmoid_backward = elementwise_op("sigmoid_backward(g, result)", lambda g, result: g * (1 - result) * result,
    "g * result * (1 - result)", scalar=lambda g, result: g * (1 - result) * result,
    g=d("result", lambda xp, gg, out, g, result: xp.sigmoid_backward(gg, result)),
    result=d("g result", lambda xp, gg, out, g, result: gg * g * (-2 * result + 1)))
relu = elementwise_op("relu(self)", relu_kernel, "max(self, 0)", zero="rectifier", scalar=scalars.relu,
    unsupported_dtypes="b Boolean inputs not supported for relu",
    self=d("out", lambda xp, g, out, self: xp.relu_grad(g, out)))
# A separate operator, as in PyTorch: its result requires grad because relu's does, although that
# gradient is 0.
relu_grad = elementwise_op("relu_grad(g, result)", lambda g, result: where_kept(np.logical_not(result <= 0), g),
    "where(result > 0, g, 0)", scalar=lambda g, result: 0.0 if result <= 0 else g, node="ThresholdBackwardBackward0",
    g=d("result", lambda xp, gg, out, g, result: xp.relu_grad(gg, result)), result=ZERO_GRAD)
# fmt: on


# ---- the public names

unary(abs_record, "absolute")
for _record in (sign, sgn, exp, exp2, expm1, log, log1p, log2, log10, sqrt, rsqrt, reciprocal):
    unary(_record)
for _record in (exp2, expm1, log1p):
    unary(_record, forms="s")
unary(sigmoid, forms="fmin")
unary(sigmoid, forms="s").__name__ = "expit"
rectified = unary(relu, forms="fmi")
unary(sgn)


@public()
def square(input: Tensor) -> Tensor:
    """Return input ** 2 (torch.square)."""
    return input**2


def _pow2_inplace(self: Tensor) -> Tensor:
    return self.pow_(2)


Tensor.square_ = _pow2_inplace  # type: ignore[assignment, method-assign]
Tensor.__abs__ = functions["abs"]  # type: ignore[method-assign]
