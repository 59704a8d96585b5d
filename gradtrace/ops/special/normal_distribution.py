"""Functions of the normal distribution: ndtr, log_ndtr, ndtri, and erfcx, which computes the tails."""

from __future__ import annotations

import math

from gradtrace.engine.lazy import np
from gradtrace.engine.op import d, float_op
from gradtrace.engine.tensor import Tensor
from gradtrace.engine.types import Array
from gradtrace.ops.api import public, unary
from gradtrace.ops.numbers import add_number, mul_number
from gradtrace.ops.special.erf_kernels import (
    LARGE,
    LAST,
    MIDDLE,
    RA,
    RB,
    SA,
    SB,
    erfc,
    on_floats,
    polynomial,
)

ROOT_HALF, ROOT_TWO_PI, ROOT_PI = math.sqrt(0.5), math.sqrt(2 * math.pi), math.sqrt(math.pi)


def erfcx_kernel(x: Array) -> Array:
    """Return exp(x^2) erfc(x): erfc's approximations without their exponential, above LAST an asymptotic series."""
    a = np.abs(x)
    out = np.array(x)
    near = a < MIDDLE
    out[near] = np.exp(a[near] ** 2) * erfc(a[near])
    for low, high, top, bottom in ((MIDDLE, LARGE, RA, SA), (LARGE, LAST, RB, SB)):
        i = (a >= low) & (a < high)
        s = 1 / (a[i] * a[i])
        out[i] = np.exp(polynomial(top, s) / polynomial(bottom, s) - 0.5625) / a[i]
    i = a >= LAST
    s = 0.5 / (a[i] * a[i])
    series = np.ones_like(s)
    for k in (11, 9, 7, 5, 3, 1):
        series = 1 - k * s * series
    out[i] = series / (a[i] * ROOT_PI)
    return np.where(x < 0, 2 * np.exp(x * x) - out, out)


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


@public("ndtr", forms="s")
def ndtr(input: Tensor) -> Tensor:
    """Area under the normal density up to input: (1 + erf(input / sqrt 2)) / 2 (torch.special.ndtr)."""
    return mul_number(add_number(mul_number(input, ROOT_HALF).erf(), 1), 0.5)
