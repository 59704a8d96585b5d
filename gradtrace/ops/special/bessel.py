"""Bessel functions of orders 0 and 1: torch.i0 and functions of torch.special.

PyTorch has derivatives only for i0, i0e, i1 and i1e. PyTorch's J and Y have seven correct digits between 2 and 10;
these have full double precision. The kernels work on float64 arrays, without coefficient tables:

- I: the power series, whose terms are all positive, up to NEAR; above it the asymptotic series (Abramowitz and Stegun,
  9.6.10 and 9.7.1).
- K: the power series up to 1 (9.6.13, 9.6.11); above it the trapezoidal rule on the integral of exp(-x cosh t) cosh(nt)
  (9.6.24), which converges exponentially.
- J and Y: power series up to 2 (9.1.10 to 9.1.13); Miller's backward recurrence and Neumann's series up to FAR (9.1.46,
  9.1.87, 9.1.89); above it Hankel's asymptotic series (9.2.5 to 9.2.10).
"""

from __future__ import annotations

import math

from gradtrace.annotations import Any, Callable
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.types import XP, Array, Operand
from gradtrace.engine.operators.op import d, float_op
from gradtrace.ops.api import unary
from gradtrace.ops.special.erf_kernels import on_floats

EULER = 0.5772156649015329
NEAR, POWERS, TERMS = 22.0, 48, 30  # of I: limit and terms of the power series, terms of the other
FAR, START = 25.0, 90  # of J and Y: start of the asymptotic series, and start of the recurrence
NODES = 64  # of the trapezoidal rule


def piecewise(x: Array, *pieces: tuple[float, Any]) -> Array:
    """Apply each (limit, function) of `pieces` to the elements between the previous limit and its own; keep nan."""
    out = np.array(x)
    left = x == x
    for limit, function in pieces:
        chosen = left & (x <= limit)
        if chosen.any():
            out[chosen] = function(x[chosen])
        left &= ~chosen
    return out


def harmonic(k: int) -> float:
    return sum(1 / i for i in range(1, k + 1))


# ---- I and K


def i_series(x: Array, n: int) -> Array:
    """Return (x/2)^n sum of (x^2/4)^k / (k! (k + n)!), by Horner's rule."""
    t, total = x * x / 4, np.ones_like(x)
    for k in range(POWERS, 0, -1):
        total *= t / (k * (k + n))
        total += 1
    return total * (x / 2) if n else total


def i_asymptotic(x: Array, n: int) -> Array:
    """Return exp(-x) I_n(x) as 1 / sqrt(2 pi x) times a series in 1/x."""
    total = np.ones_like(x)
    for k in range(TERMS, 0, -1):
        total *= ((2 * k - 1) ** 2 - 4 * n * n) / (8 * k * x)
        total += 1
    return total / np.sqrt(2 * math.pi * x)


def i_plain(x: Array, n: int) -> Array:
    """Return I_n of a flat array; nan at infinity, as in PyTorch."""

    def far(a: Array) -> Array:
        rise = np.exp(a / 2)  # split in two: the product may be finite where exp(a) overflows
        return i_asymptotic(a, n) * rise * rise

    out = piecewise(np.abs(x), (NEAR, lambda a: i_series(a, n)), (np.inf, far))
    return np.where(x < 0, -out, out) if n else out


def i_scaled(x: Array, n: int) -> Array:
    """Return exp(-abs(x)) I_n(x) of a flat array."""
    out = piecewise(np.abs(x), (NEAR, lambda a: i_series(a, n) * np.exp(-a)), (np.inf, lambda a: i_asymptotic(a, n)))
    return np.where(x < 0, -out, out) if n else out


def k_series(x: Array, n: int) -> Array:
    t, total = x * x / 4, np.zeros_like(x)
    log = np.log(x / 2) + EULER
    if n == 0:
        for k in range(12, 0, -1):
            total = (total + harmonic(k)) * t / (k * k)
        return total - log * i_series(x, 0)
    for k in range(12, -1, -1):
        weight = harmonic(k) + harmonic(k + 1)
        total = total * t / ((k + 1) * (k + 2)) + weight
    return 1 / x + log * i_series(x, 1) - x / 4 * total


def k_integral(x: Array, n: int) -> Array:
    """Return exp(x) K_n(x) for x >= 1; beyond `end` the integrand is below double precision."""
    end = np.arccosh(1 + 42 / x)
    step = end / NODES
    total = np.full_like(x, 0.5)
    for i in range(1, NODES + 1):
        t = i * step
        half = np.sinh(t / 2)
        total += np.exp(-2 * x * half * half) * (np.cosh(t) if n else 1)
    return total * step


def k_any(x: Array, n: int, scaled: bool) -> Array:
    """Return K_n of a flat array, or exp(x) K_n(x): inf at 0, nan for negative x."""
    out = piecewise(
        x,
        (0, lambda a: np.where(a == 0, np.inf, np.nan)),
        (1, lambda a: k_series(a, n) * (np.exp(a) if scaled else 1)),
        (np.inf, lambda a: k_integral(a, n) * (1 if scaled else np.exp(-a))),
    )
    return np.where(x == np.inf, 0.0, out)


# ---- J and Y


def j_series(x: Array, n: int) -> Array:
    t, total = -x * x / 4, np.ones_like(x)
    for k in range(16, 0, -1):
        total = total * t / (k * (k + n)) + 1
    return total * (x / 2) if n else total


def y_series(x: Array, n: int) -> Array:
    t, total = -x * x / 4, np.zeros_like(x)
    log = np.log(x / 2) + EULER
    if n == 0:
        for k in range(16, 0, -1):
            total = (total + harmonic(k)) * t / (k * k)
        return 2 / math.pi * (log * j_series(x, 0) - total)
    for k in range(16, -1, -1):
        total = total * t / ((k + 1) * (k + 2)) + harmonic(k) + harmonic(k + 1)
    return 2 / math.pi * (log * j_series(x, 1) - 1 / x) - x / 2 / math.pi * total


def recurrence(x: Array) -> list[Array]:
    """Return J_0, J_1, ... by Miller's method: J_(k-1) = 2 k / x J_k - J_(k+1) downwards, then scaled to a sum of 1."""
    values = [np.zeros_like(x), np.full_like(x, 1e-250)]
    for k in range(START, 0, -1):
        values.append(2 * k / x * values[-1] - values[-2])
    values = values[:0:-1]
    scale = values[0] + 2 * sum(values[2::2])
    return [value / scale for value in values]


def j_middle(x: Array, n: int) -> Array:
    return recurrence(x)[n]


def y_middle(x: Array, n: int) -> Array:
    """Return Y_n by Neumann's series in J of higher orders."""
    j = recurrence(x)
    log = np.log(x / 2) + EULER
    if n == 0:
        rest = sum((-1) ** k * j[2 * k] / k for k in range(1, START // 2 - 1))
        return 2 / math.pi * log * j[0] - 4 / math.pi * rest
    rest = sum((-1) ** k * (2 * k + 1) / (k * (k + 1)) * j[2 * k + 1] for k in range(1, START // 2 - 1))
    return 2 / math.pi * ((log - 1) * j[1] - j[0] / x - rest)


def hankel(x: Array, n: int) -> tuple[Array, Array, Array, Array]:
    """Return the series P and Q, and cosine and sine of the phase x - (n/2 + 1/4) pi."""
    p, q, term = np.ones_like(x), np.zeros_like(x), np.ones_like(x)
    for k in range(1, 40):
        term = term * (4 * n * n - (2 * k - 1) ** 2) / (8 * k * x)
        sign = -1 if k % 4 in (2, 3) else 1
        if k % 2:
            q = q + sign * term
        else:
            p = p + sign * term
    c, s = np.cos(x), np.sin(x)
    cosine, sine = (s + c, s - c) if n == 0 else (s - c, -s - c)
    return p, q, cosine, sine


def j_far(x: Array, n: int) -> Array:
    p, q, cosine, sine = hankel(x, n)
    return (p * cosine - q * sine) / np.sqrt(math.pi * x)


def y_far(x: Array, n: int) -> Array:
    p, q, cosine, sine = hankel(x, n)
    return (p * sine + q * cosine) / np.sqrt(math.pi * x)


def j(x: Array, n: int) -> Array:
    """Return J_n of a flat array; nan at infinity, as in PyTorch."""
    pieces = ((2, j_series), (FAR, j_middle), (np.inf, j_far))
    out = piecewise(np.abs(x), *((limit, lambda a, f=f: f(a, n)) for limit, f in pieces))
    return np.where(x < 0, -out, out) if n else out


def y(x: Array, n: int) -> Array:
    """Return Y_n of a flat array: -inf at 0, nan for negative x."""
    return piecewise(
        x,
        (0, lambda a: np.where(a == 0, -np.inf, np.nan)),
        (2, lambda a: y_series(a, n)),
        (FAR, lambda a: y_middle(a, n)),
        (np.inf, lambda a: y_far(a, n)),
    )


def spherical_j0(x: Array) -> Array:
    """Return sin(x) / x, which is 1 at 0."""
    return np.where(np.isinf(x), 0.0, np.where(x == 0, 1.0, np.sin(x) / np.where(x == 0, 1.0, x)))


# ---- records and public names

EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10}


def quotient(xp: XP, x: Operand, slope: Callable[[Any], Any]) -> Operand:
    """Return `slope(x)`, which divides by x; for |x| below the machine epsilon and for nan return its limit 1/2.

    This follows PyTorch's i1_backward.
    """
    plain = xp.abs(x) > EPSILON.get(str(getattr(x, "dtype", "")).rpartition(".")[2], EPSILON["float64"])
    return xp.where(plain, slope(xp.where(plain, x, xp.ones_like(x))), xp.ones_like(x) * 0.5)


# fmt: off
i0 = float_op("i0(self)", on_floats(i_plain, 0), "integral[t, 0, pi](exp(self * cos(t))) / pi",
    self=d("self", lambda xp, g, out, self: g * xp.i1(self)))
i0e = float_op("i0e(self)", on_floats(i_scaled, 0), "exp(-abs(self)) * i0(self)", node="SpecialI0EBackward0",
    self=d("self out", lambda xp, g, out, self: g * (xp.i1e(self) - xp.sgn(self) * out)))
i1 = float_op("i1(self)", on_floats(i_plain, 1), "integral[t, 0, pi](exp(self * cos(t)) * cos(t)) / pi",
    node="SpecialI1Backward0",
    self=d("self out", lambda xp, g, out, self: g * quotient(xp, self, lambda x: xp.i0(x) - out / x)))
i1e = float_op("i1e(self)", on_floats(i_scaled, 1), "exp(-abs(self)) * i1(self)", node="SpecialI1EBackward0",
    self=d("self out", lambda xp, g, out, self:
        g * quotient(xp, self, lambda x: xp.i0e(x) - out * (xp.sgn(x) + xp.reciprocal(x)))))
# fmt: on

unary(i0)
for _record in (i0, i0e, i1, i1e):
    unary(_record, forms="s")

for _name, _formula, _kernel, *_rest in (
    ("bessel_j0", "integral[t, 0, pi](cos(self * sin(t))) / pi", j, 0),
    ("bessel_j1", "integral[t, 0, pi](cos(t - self * sin(t))) / pi", j, 1),
    (
        "bessel_y0",
        "4 / pi**2 * integral[t, 0, pi / 2](cos(self * cos(t)) * (gamma + log(2 * self * sin(t)**2)))",
        y,
        0,
    ),
    ("bessel_y1", "-d[self](bessel_y0(self))", y, 1),
    ("modified_bessel_i0", "integral[t, 0, pi](exp(self * cos(t))) / pi", i_plain, 0),
    ("modified_bessel_i1", "integral[t, 0, pi](exp(self * cos(t)) * cos(t)) / pi", i_plain, 1),
    ("modified_bessel_k0", "integral[t, 0, inf](exp(-self * cosh(t)))", k_any, 0, False),
    ("modified_bessel_k1", "integral[t, 0, inf](exp(-self * cosh(t)) * cosh(t))", k_any, 1, False),
    ("scaled_modified_bessel_k0", "exp(self) * modified_bessel_k0(self)", k_any, 0, True),
    ("scaled_modified_bessel_k1", "exp(self) * modified_bessel_k1(self)", k_any, 1, True),
    ("spherical_bessel_j0", "sin(self) / self", spherical_j0),
):
    unary(float_op(f"{_name}(self)", on_floats(_kernel, *_rest), _formula), forms="s")
