"""Special functions of probability and information: logit, erfinv, entropies, the normal distribution; also sinc."""

from __future__ import annotations

import math

from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, Operand
from gradtrace.engine.operators.op import d, float_op
from gradtrace.ops.api import Choice, binary, public, unary
from gradtrace.ops.arguments import in_both_forms
from gradtrace.ops.numbers import add_number, mul_number
from gradtrace.ops.special.erf_kernels import erf, erfc, erfcx_kernel, on_floats
from gradtrace.ops.special.error_functions import x_log


def erfinv_kernel(x: Array) -> Array:
    """Inverse erf: Winitzki's initial guess, then third-order Newton steps on erf; inf at the ends, nan beyond."""
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
            erf(z) - inner,
            np.sign(inner) * ((1 - np.abs(inner)) - erfc(np.abs(z))),
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
    return np.where(np.isnan(x), x, np.where(x > 0, -x * logs, np.where(x == 0, 0.0, -np.inf))).astype(x.dtype)


def logit_kernel(x: Array, eps: float | None) -> Array:
    z = x if eps is None else np.clip(x, eps, 1 - eps)
    return np.log(z / (1 - z)).astype(x.dtype)


def logit_grad(xp: XP, g: Operand, out: object, x: Operand, eps: float | None) -> Operand:
    if eps is None and isinstance(g, Tensor):
        return xp.where(xp.logical_and(x >= 0, x <= 1), g / (x * (1 - x)), xp.ones_like(x) * math.nan)
    if eps is None:
        slope = g / xp.where(x == 0, xp.zeros_like(x), x * (1 - x))  # +inf also at -0.0
        return xp.where(xp.logical_and(x >= 0, x <= 1), slope, xp.ones_like(slope) * math.nan)
    outside = xp.logical_or(x < eps, x > 1 - eps)
    return xp.where(outside, xp.zeros_like(g), g / (x * (1 - x)))


# fmt: off
logit_record = float_op("logit(self; eps)", logit_kernel,
    "log(z / (1 - z)); z = self if eps is None else min(max(self, eps), 1 - eps)",
    self=d("self", logit_grad))
erfinv = float_op("erfinv(self)", erfinv_kernel, "erf(out) == self",
    self=d("self", lambda xp, g, out, self:
        xp.exp(xp.pow_scalar(xp.erfinv(self), 2)) * (0.5 * math.sqrt(math.pi)) * g))
sinc = float_op("sinc(self)", "sinc", "where(self == 0, 1, sin(pi * self) / (pi * self))",
    self=d("self", sinc_grad))
logaddexp2 = float_op("logaddexp2(self, other)", "logaddexp2", "log2(2**self + 2**other)",
    unsupported_dtypes="bi logaddexp2_cpu",
    self=d("self other", lambda xp, g, out, self, other: g / (xp.exp2(other - self) + 1), lambda xp, g, out, self,
        other: g / (xp.pow_of_scalar(other - self, 2.0) + 1)),
    other=d("self other", lambda xp, g, out, self, other: g / (xp.exp2(self - other) + 1),
        lambda xp, g, out, self, other: g / (xp.pow_of_scalar(self - other, 2.0) + 1)))
entr = float_op("entr(self)", entr_kernel, "where(self > 0, -self * log(self), where(self == 0, 0, -inf))",
    node="SpecialEntrBackward0", self=d("self", lambda xp, g, out, self: g * (-xp.log(self) - 1)))
# fmt: on


def xlog1py_grad(xp: XP, g: Operand, self: Operand, other: Operand) -> Operand:
    flat = xp.logical_and(self == 0, other <= -1)
    return xp.where(flat, xp.zeros_like(g), g * xp.log1p(other))


# fmt: off
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
# fmt: on

for _record in (erfinv, sinc):
    unary(_record)
    unary(_record, forms="s")
binary(logaddexp2, forms="fm", numbers=False)
unary(entr, forms="s")


@public("xlog1py", forms="s")
def xlog1py_public(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Return input * log1p(other), 0 where input is 0; one of them may be a number (torch.special.xlog1py)."""
    if not isinstance(input, Tensor):
        return xlog1py_of_number(other, input)
    return xlog1py(input, other) if isinstance(other, Tensor) else xlog1py_number(input, other)


@in_both_forms("logit", forms="fms")
def choose_logit(input: Tensor, eps: float | None = None) -> Choice:
    """Return log(x / (1 - x)), with x clamped to [eps, 1 - eps] if eps is given (torch.logit)."""
    return logit_record, (input, eps)


# ---- the normal distribution; erfcx computes its tails

ROOT_HALF, ROOT_TWO_PI, ROOT_PI = math.sqrt(0.5), math.sqrt(2 * math.pi), math.sqrt(math.pi)


def log_ndtr_kernel(x: Array) -> Array:
    scaled = x * ROOT_HALF
    low = np.log(erfcx_kernel(-np.minimum(scaled, -0.5)) / 2) - scaled * scaled
    return np.where(x < -1, low, np.log1p(-erfc(scaled) / 2))


def ndtri_kernel(p: Array) -> Array:
    """Inverse of ndtr: an initial guess (Abramowitz and Stegun, 26.2.23), then third-order Newton steps."""
    inside = (p > 0) & (p < 1)
    half = np.where(inside, np.minimum(p, 1 - p), 0.25)
    log = np.log(half)
    t = np.sqrt(-2 * log)
    z = (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t
    for _ in range(3):
        # (ndtr(z) - half) / density(z), of which both parts may overflow.
        step = ROOT_TWO_PI / 2 * erfcx_kernel(-z * ROOT_HALF) - ROOT_TWO_PI * np.exp(log + z * z / 2)
        z = z - step / (1 + z * step / 2)
    z = np.where(p == 0.5, 0.0, z)
    ends = np.where(p == 0, -np.inf, np.where(p == 1, np.inf, np.nan))
    return np.where(inside, np.where(p > 0.5, -z, z), ends)


# fmt: off
erfcx = float_op("erfcx(self)", on_floats(erfcx_kernel), "exp(self**2) * (1 - erf(self))",
    node="SpecialErfcxBackward0", self=d("self out", lambda xp, g, out, self: (self * out * 2 - 2 / ROOT_PI) * g))
log_ndtr = float_op("log_ndtr(self)", on_floats(log_ndtr_kernel), "log((1 + erf(self / sqrt(2))) / 2)",
    node="SpecialLogNdtrBackward0",
    self=d("self out", lambda xp, g, out, self: g / ROOT_TWO_PI * xp.exp(-(out + self * self / 2))))
ndtri = float_op("ndtri(self)", on_floats(ndtri_kernel), "(1 + erf(out / sqrt(2))) / 2 == self",
    node="SpecialNdtriBackward0", self=d("out", lambda xp, g, out, self: g * ROOT_TWO_PI * xp.exp(out * out * 0.5)))
# fmt: on

for _record in (erfcx, log_ndtr, ndtri):
    unary(_record, forms="s")


@public(forms="s")
def ndtr(input: Tensor) -> Tensor:
    """Area under the normal density up to input: (1 + erf(input / sqrt 2)) / 2 (torch.special.ndtr)."""
    return mul_number(add_number(mul_number(input, ROOT_HALF).erf(), 1), 0.5)
