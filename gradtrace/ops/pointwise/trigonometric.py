"""Sine, cosine, tangent, their hyperbolic forms and their inverses."""

from __future__ import annotations

import math

from gradtrace.engine.lazy import np
from gradtrace.engine.op import d, op
from gradtrace.engine.rounding import in_float64, multiply_add
from gradtrace.engine.tensor import Tensor
from gradtrace.engine.types import XP, Operand
from gradtrace.ops.api import expose_inplace, not_a_tensor, public, unary

FLOAT = {"promote": "float"}


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


def inverse_square(xp: XP, self: Operand, other: Operand) -> Operand:
    """Return 1 / (self^2 + other^2), or 0 at the origin, where the gradient of atan2 is defined as 0."""
    square = self * self + other * other
    return xp.zeroed(xp.reciprocal(square), square == 0)


# ---- the public names

for _record in (sin, cos, tan, sinh, cosh):
    unary(_record)
for _record in (asin, acos, atan, asinh, acosh, atanh):
    unary(_record, "arc" + _record.name.removeprefix("a"))
unary(tanh, forms="fmin")


@public("atan2", "arctan2")
def arctan2(input: Tensor, other: Tensor) -> Tensor:
    """Angle of the point (other, input) (torch.atan2)."""
    for position, (name, value) in enumerate((("input", input), ("other", other)), 1):
        if not isinstance(value, Tensor):
            raise not_a_tensor("atan2", name, position, value)
    return atan2(input, other)


expose_inplace(atan2, "atan2", "arctan2", numbers=False)
