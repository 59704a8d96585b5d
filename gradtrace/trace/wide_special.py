"""The error functions in numpy's long double, where the operators' own kernels compute in float64.

erf is its series of positive terms, in which nothing cancels: 2 x exp(-x**2) / sqrt(pi) * sum((2
x**2)**n / (2n+1)!!) (Abramowitz and Stegun 7.1.6); erfc is its continued fraction from 1 on
(7.1.14), below it 1 - erf.
"""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.engine.data.lazy import np

Array = Any
TERMS = 220  # of the series, up to END
END = 7.0  # 1 - erf(7) is 4e-23
FRACTIONS = 500  # of the continued fraction, which converges more slowly the smaller x is


def erf(x: Array) -> Array:
    size = np.minimum(np.abs(x), END)
    term = total = size
    for n in range(1, TERMS):
        term = term * (2 * size * size / (2 * n + 1))
        total = total + term
    return np.copysign(total * np.exp(-size * size) * 2 / np.sqrt(pi()), x)


def erfc(x: Array) -> Array:
    large = np.maximum(x, 1)
    fraction = large
    for n in range(FRACTIONS, 0, -1):
        fraction = large + np.longdouble(n) / 2 / fraction
    with np.errstate(under="ignore"):
        return np.where(x < 1, 1 - erf(x), np.exp(-large * large) / fraction / np.sqrt(pi()))


def pi() -> Array:
    return 4 * np.arctan(np.longdouble(1))


KERNELS = {"erf": erf, "erfc": erfc}
