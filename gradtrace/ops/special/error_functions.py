"""Error functions, xlogy and related: records and public names; kernels that numpy lacks are in `erf_kernels`."""

from __future__ import annotations

import math

from gradtrace import ops
from gradtrace.annotations import Any
from gradtrace.engine.calls.inplace import inplace
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, Kernel, Operand
from gradtrace.engine.operators.op import d, float_op
from gradtrace.ops.api import binary, expose, named, public, unary
from gradtrace.ops.pointwise.rounding import round_to
from gradtrace.ops.special import erf_kernels

TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)


# fmt: off
erf = float_op("erf(self)", erf_kernels.erf, "2 / sqrt(pi) * integral[t, 0, self](exp(-t**2))", zero="saturated",
    symbolic="erf", scalar=math.erf,
    self=d("self", lambda xp, g, out, self: xp.exp(-(self * self)) * TWO_OVER_ROOT_PI * g))
erfc = float_op("erfc(self)", erf_kernels.erfc, "1 - erf(self)", scalar=math.erfc,
    self=d("self", lambda xp, g, out, self: xp.exp(-(self * self)) * -TWO_OVER_ROOT_PI * g))
logaddexp = float_op("logaddexp(self, other)", "logaddexp", "log(exp(self) + exp(other))",
    unsupported_dtypes="bi logaddexp_cpu",
    self=d("self other", lambda xp, g, out, self, other: g / (xp.exp(other - self) + 1)),
    other=d("self other", lambda xp, g, out, self, other: g / (xp.exp(self - other) + 1)))
hypot = float_op("hypot(self, other)", "hypot", "sqrt(self**2 + other**2)", unsupported_dtypes="bi hypot_cpu",
    scalar=math.hypot, self=d("self out", lambda xp, g, out, self, other: g * self / out),
    other=d("other out", lambda xp, g, out, self, other: g * other / out))
# fmt: on


def x_log(logarithm: str) -> Kernel:
    """Return a kernel of a * log(b): 0 if a is 0, nan if b is nan; a number takes the other operand's dtype."""

    def kernel(a: Array, b: Array) -> Array:
        kind = (b if isinstance(a, (int, float)) else a).dtype
        a, b = np.asarray(a, kind), np.asarray(b, kind)
        return np.where(np.isnan(b), b, np.where(a == 0, np.zeros_like(a), a * getattr(np, logarithm)(b)))

    return kernel


def xlogy_grad(xp: XP, g: Operand, out: object, self: Operand, other: Operand) -> Operand:
    times_log = xp.xlogy_number(g, other) if isinstance(other, (int, float)) else xp.xlogy(g, other)
    return xp.zeroed(times_log, xp.logical_and(self == 0, other <= 0))


# fmt: off
xlogy = float_op("xlogy(self, other)", x_log("log"), "where(self == 0, 0, self * log(other))",
    self=d("self other", xlogy_grad),
    other=d("self other", lambda xp, g, out, self, other: g * self / other))
xlogy_of_number = float_op("xlogy_of_number(other; number)", lambda b, number: x_log("log")(number, b),
    "0 if number == 0 else number * log(other)", node="XlogyBackward1",
    other=d("other", lambda xp, g, out, other, number: g * number / other))
xlogy_number = float_op("xlogy_number(self; number)", lambda a, number: x_log("log")(a, number),
    "where(self == 0, 0, self * log(number))", node="XlogyBackward2",
    self=d("self", xlogy_grad))
deg2rad = float_op("deg2rad(self)", "deg2rad", "self * pi / 180", scalar=math.radians,
    self=d("", lambda xp, g, out, self: g * (math.pi / 180)))
rad2deg = float_op("rad2deg(self)", "rad2deg", "self * 180 / pi", scalar=math.degrees,
    self=d("", lambda xp, g, out, self: g * (180 / math.pi)))
# fmt: on

for _record in (erf, erfc, deg2rad, rad2deg):
    unary(_record)
for _record in (erf, erfc):
    unary(_record, forms="s")
for _record in (logaddexp, hypot):
    binary(_record, forms="fmi" if _record is not logaddexp else "fm", numbers=False)


@public("xlogy", forms="fms")
def xlogy_public(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Return input * log(other), 0 where input is 0; one of them may be a number (torch.xlogy)."""
    if not isinstance(input, Tensor):
        return xlogy_of_number(other, input)
    return xlogy(input, other) if isinstance(other, Tensor) else xlogy_number(input, other)


@public("xlogy_", forms="m")
def xlogy_inplace(self: Tensor, other: Tensor | float) -> Tensor:
    """In-place form of xlogy (Tensor.xlogy_)."""
    return inplace(xlogy, self, other) if isinstance(other, Tensor) else inplace(xlogy_number, self, other)


@public()
def float_power(input: Tensor | float, exponent: Tensor | float) -> Tensor:
    """Return input ** exponent in float64 (torch.float_power)."""
    base = input.double() if isinstance(input, Tensor) else float(input)
    power = exponent.double() if isinstance(exponent, Tensor) else float(exponent)
    return base**power


@public(forms="m")
def float_power_(self: Tensor, exponent: Tensor | float) -> Tensor:
    """In-place form of float_power; raise RuntimeError unless this tensor is float64."""
    if self.dtype.name != "float64":
        raise RuntimeError(
            f"the base given to float_power_ has dtype {self.dtype.scalar_type} but the operation's result requires "
            "dtype Double"
        )
    return self.pow_(exponent.double() if isinstance(exponent, Tensor) else float(exponent))


def _from_elsewhere(name: str, own: str) -> None:
    """Expose torch.special.NAME, an alias of a function of torch."""

    def function(input: Tensor, *args: Any, **options: Any) -> Tensor:
        return ops.find(ops.api.functions, own)(input, *args, **options)

    expose(named(function, name, f"torch.{own}."), forms="s")


_from_elsewhere("expit", "sigmoid")


@public("round", forms="s")
def special_round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """torch.round, always in the form with decimals (torch.special.round)."""
    return round_to(input, decimals)
