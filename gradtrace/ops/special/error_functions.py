"""Error functions, logit, sinc, entr, xlogy and related: records and public names.

The kernels of erf and erfc are in `erf_kernels`.
"""

from __future__ import annotations

import math

from gradtrace import ops
from gradtrace.annotations import Any
from gradtrace.engine.calls.inplace import inplace
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, Kernel, Operand
from gradtrace.engine.operators.op import d, float_op
from gradtrace.ops.api import Choice, binary, expose, named, public, unary
from gradtrace.ops.arguments import in_both_forms
from gradtrace.ops.pointwise.number_parts import round_to
from gradtrace.ops.special import erf_kernels

TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)


def erfinv_kernel(x: Array) -> Array:
    """Inverse erf: Winitzki's initial guess, then third-order Newton steps on erf; inf at the ends,
    nan beyond.
    """
    y = np.asarray(x, np.float64)
    inner = np.where(np.abs(y) < 1, y, 0.0)
    a = 0.147
    log = np.log1p(-inner * inner)
    b = 2 / (math.pi * a) + log / 2
    z = np.copysign(np.sqrt(np.sqrt(b * b - log / a) - b), inner)
    for _ in range(4):
        # Near 1 the difference of the complements keeps its digits.
        above = np.where(
            np.abs(inner) < 0.5,
            erf_kernels.erf(z) - inner,
            np.sign(inner) * ((1 - np.abs(inner)) - erf_kernels.erfc(np.abs(z))),
        )
        step = above * (math.sqrt(math.pi) / 2) * np.exp(z * z)
        z = z - step / (1 + z * step)
    ends = np.where(np.abs(y) == 1, np.copysign(np.inf, y), np.nan)
    return np.where(np.abs(y) < 1, z, ends).astype(np.asarray(x).dtype)


def sinc_grad(xp: XP, g: Operand, out: object, x: Operand) -> Operand:
    # Where the square is 0 the quotient below would be 0 / 0; its limit is 0.
    flat = x * x * math.pi == 0
    x = xp.where(flat, xp.ones_like(x), x)
    y = x * math.pi
    slope = (y * xp.cos(y) - xp.sin(y)) / (x * x * math.pi)
    return xp.where(flat, xp.zeros_like(g), g * slope)


def entr_kernel(x: Array) -> Array:
    logs = np.log(np.where(x > 0, x, 1.0))
    return np.where(
        np.isnan(x), x, np.where(x > 0, -x * logs, np.where(x == 0, 0.0, -np.inf))
    ).astype(x.dtype)


def logit_kernel(x: Array, eps: float | None) -> Array:
    z = x if eps is None else np.clip(x, eps, 1 - eps)
    return np.log(z / (1 - z)).astype(x.dtype)


def logit_grad(xp: XP, g: Operand, out: object, x: Operand, eps: float | None) -> Operand:
    if eps is None and isinstance(g, Tensor):
        return xp.where(
            xp.logical_and(x >= 0, x <= 1), g / (x * (1 - x)), xp.ones_like(x) * math.nan
        )
    if eps is None:
        slope = g / xp.where(x == 0, xp.zeros_like(x), x * (1 - x))  # +inf also at -0.0
        return xp.where(xp.logical_and(x >= 0, x <= 1), slope, xp.ones_like(slope) * math.nan)
    outside = xp.logical_or(x < eps, x > 1 - eps)
    return xp.where(outside, xp.zeros_like(g), g / (x * (1 - x)))


# fmt: off
erf = float_op("erf(self)", erf_kernels.erf, "2 / sqrt(pi) * integral[t, 0, self](exp(-t**2))", zero="saturated",
    symbolic="erf", scalar=math.erf,
    self=d("self", lambda xp, g, out, self: xp.exp(-(self * self)) * TWO_OVER_ROOT_PI * g))
erfc = float_op("erfc(self)", erf_kernels.erfc, "1 - erf(self)", scalar=math.erfc,
    self=d("self", lambda xp, g, out, self: xp.exp(-(self * self)) * -TWO_OVER_ROOT_PI * g))
erfinv = float_op("erfinv(self)", erfinv_kernel, "erf(out) == self",
    self=d("self", lambda xp, g, out, self:
        xp.exp(xp.pow_scalar(xp.erfinv(self), 2)) * (0.5 * math.sqrt(math.pi)) * g))
sinc = float_op("sinc(self)", "sinc", "where(self == 0, 1, sin(pi * self) / (pi * self))",
    self=d("self", sinc_grad))
logit_record = float_op("logit(self; eps)", logit_kernel,
    "log(z / (1 - z)); z = self if eps is None else min(max(self, eps), 1 - eps)",
    self=d("self", logit_grad))
entr = float_op("entr(self)", entr_kernel, "where(self > 0, -self * log(self), where(self == 0, 0, -inf))",
    node="SpecialEntrBackward0", self=d("self", lambda xp, g, out, self: g * (-xp.log(self) - 1)))
logaddexp = float_op("logaddexp(self, other)", "logaddexp", "log(exp(self) + exp(other))",
    unsupported_dtypes="bi logaddexp_cpu",
    self=d("self other", lambda xp, g, out, self, other: g / (xp.exp(other - self) + 1)),
    other=d("self other", lambda xp, g, out, self, other: g / (xp.exp(self - other) + 1)))
logaddexp2 = float_op("logaddexp2(self, other)", "logaddexp2", "log2(2**self + 2**other)",
    unsupported_dtypes="bi logaddexp2_cpu",
    self=d("self other", lambda xp, g, out, self, other: g / (xp.exp2(other - self) + 1), lambda xp, g, out, self,
        other: g / (xp.pow_of_scalar(other - self, 2.0) + 1)),
    other=d("self other", lambda xp, g, out, self, other: g / (xp.exp2(self - other) + 1),
        lambda xp, g, out, self, other: g / (xp.pow_of_scalar(self - other, 2.0) + 1)))
hypot = float_op("hypot(self, other)", "hypot", "sqrt(self**2 + other**2)", unsupported_dtypes="bi hypot_cpu",
    scalar=math.hypot, self=d("self out", lambda xp, g, out, self, other: g * self / out),
    other=d("other out", lambda xp, g, out, self, other: g * other / out))
# fmt: on


def x_log(logarithm: str) -> Kernel:
    """Return a kernel of a * log(b): 0 if a is 0, nan if b is nan; a number takes the other
    operand's dtype.
    """

    def kernel(a: Array, b: Array) -> Array:
        kind = (b if isinstance(a, (int, float)) else a).dtype
        a = np.asarray(a, kind)
        b = np.asarray(b, kind)
        return np.where(
            np.isnan(b), b, np.where(a == 0, np.zeros_like(a), a * getattr(np, logarithm)(b))
        )

    return kernel


def xlogy_grad(xp: XP, g: Operand, out: object, self: Operand, other: Operand) -> Operand:
    times_log = xp.xlogy_number(g, other) if isinstance(other, (int, float)) else xp.xlogy(g, other)
    return xp.zeroed(times_log, xp.logical_and(self == 0, other <= 0))


def xlog1py_grad(xp: XP, g: Operand, self: Operand, other: Operand) -> Operand:
    flat = xp.logical_and(self == 0, other <= -1)
    return xp.where(flat, xp.zeros_like(g), g * xp.log1p(other))


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
xlog1py = float_op("xlog1py(self, other)", x_log("log1p"), "where(self == 0, 0, self * log(1 + other))",
    node="SpecialXlog1PyBackward0",
    self=d("self other", lambda xp, g, out, self, other: xlog1py_grad(xp, g, self, other)),
    other=d("self other", lambda xp, g, out, self, other: g * self / (other + 1)))
xlog1py_of_number = float_op("xlog1py_of_number(other; number)", lambda b, number: x_log("log1p")(number, b),
    "0 if number == 0 else number * log(1 + other)", node="SpecialXlog1PyBackward1",
    other=d("other", lambda xp, g, out, other, number: g * number / (other + 1)))
xlog1py_number = float_op("xlog1py_number(self; number)", lambda a, number: x_log("log1p")(a, number),
    "where(self == 0, 0, self * log(1 + number))", node="SpecialXlog1PyBackward2",
    self=d("self", lambda xp, g, out, self, number: xlog1py_grad(xp, g, self, xp.zeros_like(self) + number)))
deg2rad = float_op("deg2rad(self)", "deg2rad", "self * pi / 180", scalar=math.radians,
    self=d("", lambda xp, g, out, self: g * (math.pi / 180)))
rad2deg = float_op("rad2deg(self)", "rad2deg", "self * 180 / pi", scalar=math.degrees,
    self=d("", lambda xp, g, out, self: g * (180 / math.pi)))
# fmt: on

for _record in (erf, erfc, erfinv, sinc, deg2rad, rad2deg):
    unary(_record)
for _record in (erf, erfc, erfinv, sinc, entr):
    unary(_record, forms="s")
for _record in (logaddexp, logaddexp2):
    binary(_record, forms="fm", numbers=False)
binary(hypot, forms="fmi", numbers=False)


@public("xlogy", forms="fms")
def xlogy_public(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Return input * log(other), 0 where input is 0; one of them may be a number (torch.xlogy)."""
    if not isinstance(input, Tensor):
        return xlogy_of_number(other, input)
    return xlogy(input, other) if isinstance(other, Tensor) else xlogy_number(input, other)


@public("xlog1py", forms="s")
def xlog1py_public(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Return input * log1p(other), 0 where input is 0; one of them may be a number
    (torch.special.xlog1py).
    """
    if not isinstance(input, Tensor):
        return xlog1py_of_number(other, input)
    return xlog1py(input, other) if isinstance(other, Tensor) else xlog1py_number(input, other)


@in_both_forms("logit", forms="fms")
def choose_logit(input: Tensor, eps: float | None = None) -> Choice:
    """Return log(x / (1 - x)), with x clamped to [eps, 1 - eps] if eps is given (torch.logit)."""
    return logit_record, (input, eps)


@public("xlogy_", forms="m")
def xlogy_inplace(self: Tensor, other: Tensor | float) -> Tensor:
    """In-place form of xlogy (Tensor.xlogy_)."""
    return (
        inplace(xlogy, self, other)
        if isinstance(other, Tensor)
        else inplace(xlogy_number, self, other)
    )


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
