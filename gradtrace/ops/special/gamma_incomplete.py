"""Regularised incomplete gamma functions igamma and igammac, and the Hurwitz zeta function.

P(a, x) by its power series, Q(a, x) by Legendre's continued fraction (Abramowitz and Stegun, 6.5.29
and 6.5.31), each where it converges; where both are near 1, the other is subtracted from 1. The
common factor x^a exp(-x) / Gamma(a + 1) is computed from the distance of x to a, so that large a
lose no digits.
"""

from __future__ import annotations

import math

from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, Kernel, Operand
from gradtrace.engine.operators.op import Derivative, arith_op, d, float_op
from gradtrace.ops.api import binary, expose, not_a_tensor, public
from gradtrace.ops.fused import no_derivative
from gradtrace.ops.special.gamma import BERNOULLI, lgamma_kernel, polygamma_kernel, zeta_kernel

EULER = 0.5772156649015329
LARGE = 16.0  # from here on Stirling's series is exact in double precision
MOST = 200_000  # terms; for x near a about 9 sqrt(a) are needed
EPS = 1e-17


def stirling_rest(a: Array) -> Array:
    """Return log Gamma(a + 1) - ((a + 1/2) log a - a + log(2 pi) / 2), the remainder of Stirling's
    formula.
    """
    total = np.zeros_like(a)
    power = 1 / a
    for k, b in enumerate(BERNOULLI, 1):
        total += b / (2 * k * (2 * k - 1)) * power
        power = power / (a * a)
    return total


def fall(x: Array, a: Array) -> Array:
    """Return m - log(1 + m) for m = x / a - 1, accurate near 0."""
    m = (x - a) / a
    series = np.zeros_like(m)
    for k in range(24, 1, -1):
        series = (series + (1 if k % 2 == 0 else -1) / k) * m
    return np.where(np.abs(m) < 0.15, series * m, m - np.log(x / a))


def factor(a: Array, x: Array) -> Array:
    """Return x^a exp(-x) / Gamma(a + 1)."""
    big = np.maximum(a, LARGE)
    far = np.exp(-big * fall(x, big) - stirling_rest(big)) / np.sqrt(2 * math.pi * big)
    return np.where(a >= LARGE, far, np.exp(a * np.log(x) - x - lgamma_kernel(a + 1)))


def lower_series(a: Array, x: Array) -> Array:
    """Return P(a, x), for x < a + 1, where its series converges fast."""
    total = np.ones_like(x)
    term = np.ones_like(x)
    for k in range(1, MOST):
        term = term * (x / (a + k))
        total += term
        if (term <= EPS * total).all():
            break
    return factor(a, x) * total


def upper_fraction(a: Array, x: Array) -> Array:
    """Return Q(a, x), for x > a + 1, by Lentz's method for its continued fraction."""
    b = x + 1 - a
    c = np.full_like(x, 1e300)
    d_ = 1 / b
    total = d_
    done = np.zeros(x.shape, bool)
    for k in range(1, MOST):
        numerator = -k * (k - a)
        b = b + 2
        d_ = numerator * d_ + b
        d_ = 1 / np.where(d_ == 0, 1e-300, d_)
        c = b + numerator / c
        c = np.where(c == 0, 1e-300, c)
        total = total * (d_ * c)
        done |= np.abs(d_ * c - 1) <= 2e-16  # at some time: rounding may move it away again
        if done.all():
            break
    return factor(a, x) * a * total


def log_gamma_of_one_more(a: Array) -> Array:
    """Return log Gamma(1 + a) for a in [0, 1], accurate near 0."""
    z = np.where(a > 0.5, a - 1, a)  # Gamma(1 + a) = a Gamma(a) on the upper half
    total = np.zeros_like(a)
    for k in range(30, 1, -1):
        total = (total + (-1) ** k * (float(zeta_kernel(k, np.asarray(2.0)))) / k) * z
    total = (total + (1 - EULER)) * z - np.log1p(z)
    return np.where(a > 0.5, np.log(np.where(a > 0.5, a, 1.0)) + total, total)


def upper_series(a: Array, x: Array) -> Array:
    """Return Q(a, x) for small a and x, not as 1 - P, which would lose digits."""
    total = np.zeros_like(x)
    term = np.ones_like(x)
    for k in range(1, 40):
        term = term * (-x / k)
        total += term / (a + k)
    logs = a * np.log(x) - log_gamma_of_one_more(a)
    return -np.expm1(logs) - a * np.exp(logs) * total


def regularised(a: Array, x: Array, upper: bool) -> Array:
    """Return P or Q for finite positive a and x."""
    out = np.empty_like(x)
    # 1 - P would lose Q's digits here.
    tiny = (
        upper & (x <= 1.1) & (a <= np.where(x <= 0.5, -0.4 / np.log(np.minimum(x, 0.5)), x * 1.1))
    )
    fraction = ~tiny & (x > a + 1)
    series = ~tiny & ~fraction
    for chosen, function, gives_upper in (
        (tiny, upper_series, True),
        (fraction, upper_fraction, True),
        (series, lower_series, False),
    ):
        if chosen.any():
            result = function(a[chosen], x[chosen])
            out[chosen] = result if gives_upper == upper else 1 - result
    return out


def incomplete(upper: bool) -> Kernel:
    """Return the kernel, with PyTorch's values at 0 and infinity and nan for negative arguments."""
    at_zero, at_infinity = (1.0, 0.0) if upper else (0.0, 1.0)

    def kernel(a: Array, x: Array) -> Array:
        dtype = np.result_type(a, x)
        shape = np.broadcast_shapes(np.shape(a), np.shape(x))
        a, x = (np.array(np.broadcast_to(v, shape), np.float64).reshape(-1) for v in (a, x))
        out = np.where(x == 0, at_zero, np.where(x == np.inf, at_infinity, np.nan))
        out = np.where(a == 0, np.where(x > 0, at_infinity, np.nan), out)
        out = np.where(a == np.inf, np.where(x == np.inf, np.nan, at_zero), out)
        inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
        out[inside] = regularised(a[inside], x[inside], upper)
        out[(a < 0) | (x < 0)] = np.nan
        return out.reshape(shape).astype(dtype)

    return kernel


def not_differentiable(name: str) -> Derivative:
    return d("", no_derivative(name))


def slope(xp: XP, g: Operand, out: object, a: Operand, x: Operand) -> Operand:
    return g * xp.exp(xp.log(x) * (a - 1) - x - xp.lgamma(a))


# fmt: off
igamma = arith_op("igamma(self, other)", incomplete(False),
    "integral[t, 0, other](t**(self - 1) * exp(-t)) / gamma(self)", unsupported_dtypes="bi igamma_cpu",
    self=not_differentiable("igamma: input"),
    other=d("self other", slope))
igammac = arith_op("igammac(self, other)", incomplete(True),
    "integral[t, other, inf](t**(self - 1) * exp(-t)) / gamma(self)", unsupported_dtypes="bi igammac_cpu",
    self=not_differentiable("igammac: input"),
    other=d("self other", lambda xp, g, out, self, other: -slope(xp, g, out, self, other)))
# fmt: on


for _record, _alias in ((igamma, "gammainc"), (igammac, "gammaincc")):
    expose(binary(_record, numbers=False), _alias, forms="s", record=_record)


# ---- zeta


def hurwitz(s: Array, q: Array) -> Array:
    """Sum over k >= 0 of (q + k)^-s for s > 1; inf at s = 1 and at q = 0, -1, ..., nan where it is
    not real.
    """
    dtype = np.result_type(s, q)
    s, q = (np.array(v, np.float64) for v in np.broadcast_arrays(s, q))
    out = np.full(s.shape, np.nan)
    whole = s == np.floor(s)
    plain = (s > 1) & (s < np.inf) & (q > 0)
    if plain.any():
        out[plain] = zeta_kernel(s[plain], q[plain])
    for order in np.unique(s[(s > 1) & (q < 0) & whole & (s <= 170)]):
        n = int(order) - 1
        here = (s == order) & (q < 0)
        out[here] = polygamma_kernel(q[here], n) / ((-1.0) ** (n + 1) * math.factorial(n))
    out[(s == np.inf) & (q < 1)] = np.inf
    out[(s == np.inf) & (q == 1)] = 1.0
    out[~(s < 1) & (q <= 0) & (q == np.floor(q))] = np.inf
    out[(s > 1) & (q == np.inf)] = np.nan  # as in PyTorch
    out[s == 1] = np.inf
    return out.astype(dtype)


# fmt: off
zeta_record = float_op("zeta(self, other)", hurwitz, "sum[k, 0, inf](1 / (k + other)**self)",
    node="SpecialZetaBackward0", self=not_differentiable("zeta"),
    other=d("self other", lambda xp, g, out, self, other: g * -self * xp.zeta(self + 1, other)))
# fmt: on


@public(forms="s")
def zeta(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Hurwitz zeta function: the sum of (other + k)^-input over k = 0, 1, ...
    (torch.special.zeta).
    """
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        raise not_a_tensor("special_zeta", "input", 1, input)
    return zeta_record(input, other)
