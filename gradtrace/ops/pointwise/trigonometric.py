"""Sine, cosine, tangent, their hyperbolic forms and their inverses."""

from __future__ import annotations

import math

from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.types import XP, Operand
from gradtrace.engine.operators.op import d, elementwise_op, float_op
from gradtrace.engine.operators.rounding import in_float64, multiply_add
from gradtrace.ops.api import binary, unary

# fmt: off
sin = float_op("sin(self)", in_float64("sin", by_blocks=True), symbolic="sin", scalar=math.sin,
    self=d("self", lambda xp, g, out, self: g * xp.cos(self)))
cos = float_op("cos(self)", in_float64("cos", by_blocks=True), symbolic="cos", scalar=math.cos,
    self=d("self", lambda xp, g, out, self: g * -xp.sin(self)))
tan = float_op("tan(self)", in_float64("tan"), "sin(self) / cos(self)", symbolic="tan", scalar=math.tan,
    self=d("out", lambda xp, g, out, self: g * (1 + xp.pow_scalar(out, 2))))
asin = float_op("asin(self)", in_float64("arcsin"), "sin(out) == self; -pi / 2 <= out <= pi / 2", symbolic="asin",
    scalar=math.asin, self=d("self", lambda xp, g, out, self: g * xp.rsqrt(-self * self + 1)))
acos = float_op("acos(self)", in_float64("arccos"), "cos(out) == self; 0 <= out <= pi", symbolic="acos",
    scalar=math.acos, self=d("self", lambda xp, g, out, self: g * -xp.rsqrt(-self * self + 1)))
atan = float_op("atan(self)", in_float64("arctan"), "tan(out) == self; -pi / 2 < out < pi / 2", symbolic="atan",
    scalar=math.atan, self=d("self", lambda xp, g, out, self: g / (self * self + 1)))
atan2 = float_op("atan2(self, other)", "arctan2", "2 * atan(self / (sqrt(self**2 + other**2) + other))",
    commutative=False, scalar=math.atan2,
    self=d("self other", lambda xp, g, out, self, other: g * other * inverse_square(xp, self, other)),
    other=d("self other", lambda xp, g, out, self, other: g * -self * inverse_square(xp, self, other)))
sinh = float_op("sinh(self)", in_float64("sinh"), "(exp(self) - exp(-self)) / 2", symbolic="sinh", scalar=math.sinh,
    self=d("self", lambda xp, g, out, self: g * xp.cosh(self)))
cosh = float_op("cosh(self)", in_float64("cosh"), "(exp(self) + exp(-self)) / 2", symbolic="cosh", scalar=math.cosh,
    self=d("self", lambda xp, g, out, self: g * xp.sinh(self)))
# fmt: on


def tanh_slope(g: Operand, result: Operand) -> Operand:
    return g * (1 - result * result)


# fmt: off
tanh = float_op("tanh(self)", in_float64("tanh"), "(exp(self) - exp(-self)) / (exp(self) + exp(-self))",
    zero="saturated", symbolic="tanh", scalar=math.tanh,
    self=d("out", lambda xp, g, out, self: xp.tanh_backward(g, out)))
tanh_backward = elementwise_op("tanh_backward(g, result)",
    lambda g, result: tanh_slope(g, result) if result.dtype.itemsize == 8
        else g * multiply_add(np.ones((), result.dtype), -result, result), "g * (1 - result**2)", scalar=tanh_slope,
    g=d("result", lambda xp, gg, out, g, result: xp.tanh_backward(gg, result)),
    result=d("g result", lambda xp, gg, out, g, result: gg * (-2 * result * g)))
asinh = float_op("asinh(self)", "arcsinh", "log(self + sqrt(self**2 + 1))", scalar=math.asinh,
    inplace_node="AsinhBackward1", self=d("self", lambda xp, g, out, self: g * xp.rsqrt(xp.pow_scalar(self, 2) + 1)))
acosh = float_op("acosh(self)", "arccosh", "log(self + sqrt(self**2 - 1))", scalar=math.acosh,
    inplace_node="AcoshBackward1", self=d("self", lambda xp, g, out, self: g * xp.rsqrt(self * self - 1)))
atanh = float_op("atanh(self)", in_float64("arctanh"), "log((1 + self) / (1 - self)) / 2", scalar=math.atanh,
    inplace_node="AtanhBackward1", self=d("self", lambda xp, g, out, self: g / (1 - xp.pow_scalar(self, 2))))
# fmt: on


def inverse_square(xp: XP, self: Operand, other: Operand) -> Operand:
    """Return 1 / (self^2 + other^2), or 0 at the origin, where the gradient of atan2 is defined as
    0.
    """
    square = self * self + other * other
    return xp.zeroed(xp.reciprocal(square), square == 0)


# ---- the public names

for _record in (sin, cos, tan, sinh, cosh):
    unary(_record)
for _record in (asin, acos, atan, asinh, acosh, atanh):
    unary(_record, "arc" + _record.name.removeprefix("a"))
unary(tanh, forms="fmin")
binary(atan2, "arctan2", numbers=False)
