"""Modified Bessel functions of the first kind, of orders 0 and 1: torch.i0, and i0, i0e, i1, i1e of
torch.special.

The kernels work on float64 arrays, without coefficient tables: the power series, whose terms are
all positive, up to NEAR; above it the asymptotic series (Abramowitz and Stegun, 9.6.10 and 9.7.1).
"""

from __future__ import annotations

import math

from gradtrace.annotations import Any, Callable
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.types import XP, Array, Kernel, Operand
from gradtrace.engine.operators.op import d, float_op
from gradtrace.ops.api import unary

NEAR, POWERS, TERMS = 22.0, 48, 30  # limit and terms of the power series, terms of the other


def on_floats(kernel: Kernel, order: int) -> Kernel:
    """Extend a kernel of flat float64 arrays to any array; the result has the input's dtype."""

    def call_kernel(x: Array) -> Array:
        x = np.asarray(x)
        return (
            kernel(np.ascontiguousarray(x, np.float64).reshape(-1), order)
            .reshape(x.shape)
            .astype(x.dtype)
        )

    return call_kernel


def near_or_far(x: Array, near: Callable[[Array], Array], far: Callable[[Array], Array]) -> Array:
    """Apply `near` to the elements up to NEAR and `far` to those above; keep nan."""
    out = np.array(x)
    for chosen, function in ((x <= NEAR, near), (x > NEAR, far)):
        if chosen.any():
            out[chosen] = function(x[chosen])
    return out


def i_series(x: Array, n: int) -> Array:
    """Return (x/2)^n sum of (x^2/4)^k / (k! (k + n)!), by Horner's rule."""
    t = x * x / 4
    total = np.ones_like(x)
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

    out = near_or_far(np.abs(x), lambda a: i_series(a, n), far)
    return np.where(x < 0, -out, out) if n else out


def i_scaled(x: Array, n: int) -> Array:
    """Return exp(-abs(x)) I_n(x) of a flat array."""
    out = near_or_far(
        np.abs(x), lambda a: i_series(a, n) * np.exp(-a), lambda a: i_asymptotic(a, n)
    )
    return np.where(x < 0, -out, out) if n else out


# ---- records and public names

EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10}


def quotient(xp: XP, x: Operand, slope: Callable[[Any], Any]) -> Operand:
    """Return `slope(x)`, which divides by x; for |x| below the machine epsilon and for nan return
    its limit 1/2.

    This follows PyTorch's i1_backward.
    """
    plain = xp.abs(x) > EPSILON.get(
        str(getattr(x, "dtype", "")).rpartition(".")[2], EPSILON["float64"]
    )
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
