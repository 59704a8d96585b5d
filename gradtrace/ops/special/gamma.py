"""The gamma function's logarithm and its derivatives: lgamma, digamma, polygamma.

The array kernels shift arguments by recurrence to where the asymptotic (Stirling) series has full
precision, and use the reflection formula below 1/2 (Abramowitz and Stegun, 6.1 and 6.3 to 6.4).
numpy has none of these functions.
"""

from __future__ import annotations

import math

from gradtrace.engine.calls.inplace import inplace
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array, Kernel, Raw
from gradtrace.engine.operators.op import d, float_op
from gradtrace.ops.api import expose, is_int, public, unary

# Bernoulli numbers B2, B4, ... of the asymptotic series.
BERNOULLI = (
    1 / 6,
    -1 / 30,
    1 / 42,
    -1 / 30,
    5 / 66,
    -691 / 2730,
    7 / 6,
    -3617 / 510,
    43867 / 798,
    -174611 / 330,
)
FAR = 16.0  # from here on ten terms of the series are exact in double precision


def via_float64(kernel: Kernel) -> Kernel:
    """Run a kernel in float64; the result has the input's dtype."""
    return lambda x, *rest: np.asarray(kernel(np.asarray(x, np.float64), *rest)).astype(x.dtype)


def shifted(x: Array) -> tuple[Array, Array]:
    """Return x + n and n, where n is the smallest integer >= 0 with x + n >= FAR."""
    n = np.maximum(np.ceil(FAR - x), 0)
    return x + n, n


def lgamma_kernel(x: Array) -> Array:
    return np.asarray(np.frompyfunc(log_gamma, 1, 1)(x), np.float64)


def log_gamma(x: float) -> float:
    if x == -math.inf or (x <= 0 and x == math.floor(x)):
        return math.inf
    return math.lgamma(x)


def digamma_kernel(x: Array) -> Array:
    """Return psi(x) = log z - 1/(2z) - sum B2k / (2k z^2k) - sum 1/(x + i), z = x + n; reflected
    for x < 0.
    """
    reflect = x < 0
    y = np.where(reflect, 1 - x, x)
    z, n = shifted(y)
    total = np.log(z) - 0.5 / z
    power = 1 / (z * z)
    term = power
    for k, b in enumerate(BERNOULLI, 1):
        total = total - b / (2 * k) * term
        term = term * power
    for i in range(int(FAR)):
        total = total - np.where(i < n, 1 / np.where(i < n, y + i, 1.0), 0.0)
    turned = total - math.pi / np.tan(math.pi * (x - np.round(x)))
    out = np.where(reflect, turned, total)
    pole = (x <= 0) & (x == np.floor(x))
    return np.where(pole, np.where(x == 0, -np.copysign(np.inf, x), np.nan), out)


def zeta_kernel(s: Raw, x: Array) -> Array:
    """Return the Hurwitz zeta function sum 1/(x + i)^s for x > 0, s > 1, by the Euler-Maclaurin
    formula.
    """
    s = s * 1.0
    z, n = shifted(x)
    total = z ** (1 - s) / (s - 1) + 0.5 * z**-s
    factor = s
    power = z ** (-s - 1)
    for k, b in enumerate(BERNOULLI, 1):
        total = total + b / math.factorial(2 * k) * factor * power
        factor = factor * (s + 2 * k - 1) * (s + 2 * k)
        power = power / (z * z)
    for i in range(int(FAR)):
        total = total + np.where(i < n, np.where(i < n, x + i, 1.0) ** -s, 0.0)
    return total


def cotangent_slope(n: int, c: Array) -> Array:
    """Return the n-th derivative of cot(pi x), over pi^n: a polynomial in c = cot(pi x), by p ->
    -(1 + c^2) p'.
    """
    p = [0, 1]
    for _ in range(n):
        slope = [k * a for k, a in enumerate(p)][1:]
        p = [-a for a in slope] + [0, 0]
        for k, a in enumerate(slope):
            p[k + 2] -= a
    total = np.zeros_like(c)
    for a in reversed(p):
        total = total * c + a
    return total


def polygamma_kernel(x: Array, n: int) -> Array:
    """Return (-1)^(n+1) n! zeta(n+1, x), by reflection below 0; poles and infinities give PyTorch's
    values.
    """
    if n == 0:
        return digamma_kernel(x)
    turned = x < 0
    flat = np.where(turned, 1 - x, x)
    out = (-1.0) ** (n + 1) * math.factorial(n) * zeta_kernel(n + 1, flat)
    if turned.any():
        cot = 1 / np.tan(math.pi * (x - np.round(x)))
        if n == 1:
            out = np.where(turned, math.pi**2 / np.sin(math.pi * x) ** 2 - out, out)
        else:
            out = np.where(
                turned, (-1.0) ** n * out - math.pi ** (n + 1) * cotangent_slope(n, cot), out
            )
    if n == 1:
        return np.where(x == np.inf, 0.0, np.where(x == -np.inf, np.nan, out))
    out = np.where((x <= 0) & (x == np.floor(x)), (-1.0) ** (n + 1) * np.inf, out)
    return np.where(x == np.inf, np.nan, out)


# fmt: off
digamma = float_op("digamma(self)", via_float64(digamma_kernel), "d[self](log(gamma(self)))",
    self=d("self", lambda xp, g, out, self: g * xp.polygamma(self, 1)))
lgamma = float_op("lgamma(self)", via_float64(lgamma_kernel), "log(abs(gamma(self)))",
    self=d("self", lambda xp, g, out, self: g * xp.digamma(self)))
polygamma_record = float_op("polygamma(self; n)", via_float64(polygamma_kernel), "d[self, n + 1](log(gamma(self)))",
    inplace_node="PolygammaBackward1", self=d("self", lambda xp, g, out, self, n: g * xp.polygamma(self, n + 1)))
# fmt: on

unary(digamma)
unary(lgamma)
expose(unary(digamma, forms=""), "digamma", "psi", forms="s")
expose(unary(lgamma, forms=""), "gammaln", forms="s")


def check_order(n: object) -> None:
    if not is_int(n):
        raise TypeError(
            f"polygamma(): argument 'n' (position 1) must be int, not {type(n).__name__}"
        )
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")


def polygamma_of(n: int, input: Tensor) -> Tensor:
    """n-th derivative of digamma (torch.polygamma)."""
    check_order(n)
    return polygamma_record(input, int(n))


public("polygamma", forms="fs")(polygamma_of)
public("polygamma", forms="m")(lambda self, n: polygamma_of(n, self))


@public("polygamma_", forms="m")
def polygamma_inplace(self: Tensor, n: int) -> Tensor:
    """In-place form of polygamma (Tensor.polygamma_)."""
    check_order(n)
    return inplace(polygamma_record, self, n)
