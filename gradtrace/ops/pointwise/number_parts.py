"""Rounding, signs, mantissas and common divisors: floor, round, copysign, heaviside, ldexp, frexp,
gcd, lcm.
"""

from __future__ import annotations

import math

from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, Operand
from gradtrace.engine.operators.op import PASS_ON, ZERO_GRAD, arith_op, d, elementwise_op, float_op
from gradtrace.ops import scalars
from gradtrace.ops.api import Choice, binary, check_tensors, public, unary
from gradtrace.ops.arguments import in_both_forms, require_float
from gradtrace.ops.results import Result, result_type


def copysign_grad(xp: XP, g: Operand, out: Operand, x: Operand, *_: object) -> Operand:
    # At 0 the sign cannot be computed from out / x; PyTorch gives 0 there.
    ratio = out / xp.where(x == 0, xp.ones_like(x), x)
    return g * xp.where(x == 0, xp.zeros_like(ratio), ratio)


# fmt: off
copysign = float_op("copysign(self, other)", "copysign", "where(signbit(other), -abs(self), abs(self))",
    self=d("self out", copysign_grad,
        lambda xp, g, out, self, other: g * xp.zeroed(out / self, self == 0)),
    other=ZERO_GRAD)
copysign_number = float_op("copysign_number(self, other)", "copysign", "where(signbit(other), -abs(self), abs(self))",
    node="CopysignBackward1",
    self=d("self out", copysign_grad,
        lambda xp, g, out, self, other: g * xp.zeroed(out / self, self == 0)))
heaviside = arith_op("heaviside(self, values)", lambda a, b: np.heaviside(a, b).astype(a.dtype),
    "where(self == 0, values, where(self > 0, 1, 0))", zero="flat", undefined=True)
nextafter = arith_op("nextafter(self, other)", "nextafter", unsupported_dtypes="bi nextafter_cpu",
    self=d("self other", lambda xp, g, out, self, other: xp.where(self == other, xp.zeros_like(g), g)),
    other=ZERO_GRAD)
gcd = arith_op("gcd(self, other)", "gcd", "gcd(self, other)", unsupported_dtypes="fb gcd_cpu")
lcm = arith_op("lcm(self, other)", "lcm", "abs(self * other) / gcd(self, other)", unsupported_dtypes="fb lcm_cpu")
ldexp = float_op("ldexp(self, other)", lambda a, b: a * np.exp2(b), "self * 2**other",
    self=d("other", lambda xp, g, out, self, other: g * xp.exp2(other)),
    other=d("out", lambda xp, g, out, self, other: g * out * float(np.log(2.0))))
frexp_record = elementwise_op("frexp(self)", lambda a: np.frexp(a),
    "self == mantissa * 2**exponent; 1 / 2 <= abs(mantissa) < 1", outputs=2, differentiable=(0,),
    self=d("out1", lambda xp, g, out, self: mantissa_grad(xp, g[0], out[1])))
# fmt: on


def mantissa_grad(xp: XP, g: Operand, exponent: Operand) -> Operand:
    raw = exponent.array if isinstance(exponent, Tensor) else exponent
    return xp.times_array(g, np.exp2(-np.asarray(raw, np.float64)))


@in_both_forms("copysign")
def choose_copysign(input: Tensor, other: Tensor | float) -> Choice:
    """Return the magnitude of input with the sign of other, a tensor or a number
    (torch.copysign).
    """
    return copysign if isinstance(other, Tensor) else copysign_number, (input, other)


binary(nextafter, numbers=False)
binary(gcd, numbers=False)
binary(lcm, numbers=False)


@in_both_forms("heaviside")
def choose_heaviside(input: Tensor, values: Tensor) -> Choice:
    """Heaviside step: 0 below 0, 1 above, `values` at 0 (torch.heaviside)."""
    check_tensors("heaviside", input=input, values=values)
    if input.dtype is not values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return heaviside, (input, values)


@in_both_forms("ldexp")
def choose_ldexp(input: Tensor, other: Tensor) -> Choice:
    """Return input * 2 ** other (torch.ldexp)."""
    check_tensors("ldexp", input=input, other=other)
    return ldexp, (input, other)


@public()
def frexp(input: Tensor) -> Result:
    """Decompose into a mantissa in [1/2, 1) and an exponent (torch.frexp)."""
    require_float(input, "torch.frexp() only supports floating-point dtypes")
    return result_type("frexp", "mantissa", "exponent")(frexp_record(input))


def round_decimals(x: Array, decimals: int) -> Array:
    if decimals == 0:
        return np.rint(x)
    scale = np.asarray(10.0 ** abs(decimals)).astype(x.dtype)
    return np.rint(x * scale) / scale if decimals >= 0 else np.rint(x / scale) * scale


# fmt: off
floor = elementwise_op("floor(self)", "floor", "floor(self)", zero="flat", scalar=scalars.floor,
    unsupported_dtypes="b floor_vml_cpu", self=ZERO_GRAD)
ceil = elementwise_op("ceil(self)", "ceil", "ceil(self)", zero="flat", scalar=scalars.ceil,
    unsupported_dtypes="b ceil_vml_cpu", self=ZERO_GRAD)
trunc = elementwise_op("trunc(self)", "trunc", "where(self < 0, ceil(self), floor(self))", zero="flat",
    scalar=scalars.trunc, unsupported_dtypes="b trunc_vml_cpu", self=ZERO_GRAD)
round_record = elementwise_op("round(self)", lambda x: np.rint(x) if x.dtype.kind == "f" else x.copy(), "round(self)",
    zero="flat", scalar=scalars.round_half_even, unsupported_dtypes="b round_vml_cpu", self=ZERO_GRAD)
round_to = elementwise_op("round_to(self; decimals)", round_decimals, "round(self * 10**decimals) / 10**decimals",
    zero="flat", node="RoundBackward1", unsupported_dtypes="bi round_cpu", self=ZERO_GRAD)
frac = elementwise_op("frac(self)", lambda x: x - np.trunc(x), "self - trunc(self)",
    scalar=lambda x: x - math.trunc(x) + 0.0, unsupported_dtypes="bi frac_cpu", self=PASS_ON)
# fmt: on


for _record in (floor, ceil, frac):
    unary(_record)
unary(trunc, "fix")


@in_both_forms("round")
def choose_round(input: Tensor, *, decimals: int = 0) -> Choice:
    """Round to the nearest integer, half to even, or to `decimals` digits after the point
    (torch.round).
    """
    return (round_record, (input,)) if decimals == 0 else (round_to, (input, decimals))
