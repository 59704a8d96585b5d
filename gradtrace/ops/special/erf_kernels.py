"""erf and erfc on arrays, in double precision.

erf is looked up in a table with steps of 1/4096, and the difference from the nearest table point x0
is integrated: with h = x - x0 it is 2/sqrt(pi) exp(-x^2) times the integral of exp(2 x s - s^2)
over [0, h]. Three terms suffice; the next is below 1e-16. There are no branches, so numpy's loops
run at full speed; the error is within 2 ulp.

erfc uses the rational approximations of Sun's fdlibm, s_erf.c (W. J. Cody's method, "Rational
Chebyshev approximations for the error function", 1969): four ranges of |x|, each with a quotient of
polynomials; as accurate as exp.
"""

from __future__ import annotations

import math
import threading

from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.types import Array

# erf(x) = x + x P(x^2) / Q(x^2) up to 0.84375
PP = (
    1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02, -5.77027029648944159157e-03,
    -2.37630166566501626084e-05,
)  # fmt: skip
QQ = (
    1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03,
    1.32494738004321644526e-04, -3.96022827877536812320e-06,
)  # fmt: skip
# erf(x) = ERX + P(|x| - 1) / Q(|x| - 1) up to 1.25
ERX = 8.45062911510467529297e-01
PA = (
    -2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01, 3.18346619901161753674e-01,
    -1.10894694282396677476e-01, 3.54783043256182359371e-02, -2.16637559486879084300e-03,
)  # fmt: skip
QA = (
    1.0, 1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02,
    1.26171219808761642112e-01, 1.36370839120290507362e-02, 1.19844998467991074170e-02,
)  # fmt: skip
# erfc(x) = exp(-x^2 - 0.5625 + R(1/x^2) / S(1/x^2)) / x up to 1/0.35, and beyond
RA = (
    -9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e01, -6.23753324503260060396e01,
    -1.62396669462573470355e02, -1.84605092906711035994e02, -8.12874355063065934246e01, -9.81432934416914548592e00,
)  # fmt: skip
SA = (
    1.0, 1.96512716674392571292e01, 1.37657754143519042600e02, 4.34565877475229228821e02, 6.45387271733267880336e02,
    4.29008140027567833386e02, 1.08635005541779435134e02, 6.57024977031928170135e00, -6.04244152148580987438e-02,
)  # fmt: skip
RB = (
    -9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e01, -1.60636384855821916062e02,
    -6.37566443368389627722e02, -1.02509513161107724954e03, -4.83519191608651397019e02,
)  # fmt: skip
SB = (
    1.0, 3.03380607434824582924e01, 3.25792512996573918826e02, 1.53672958608443695994e03, 3.19985821950859553908e03,
    2.55305040643316442583e03, 4.74528541206955367215e02, -2.24409524465858183362e01,
)  # fmt: skip
SMALL = 0.84375
MIDDLE = 1.25
LARGE = 1 / 0.35
LAST = 28.0
TAILS = ((MIDDLE, LARGE, RA, SA), (LARGE, LAST, RB, SB))


def polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    """Evaluate by Horner's rule, lowest coefficient first."""
    total = np.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        total *= x
        total += c
    return total


def tail(x: Array, top: tuple[float, ...], bottom: tuple[float, ...]) -> Array:
    """Return erfc for x > 1.25; x^2 is split so that exp gets its leading part exactly."""
    s = 1 / (x * x)
    ratio = polynomial(top, s) / polynomial(bottom, s)
    z = (x.view(np.uint64) & np.uint64(0xFFFFFFFF00000000)).view(np.float64)
    return np.exp(-z * z - 0.5625) * np.exp((z - x) * (z + x) + ratio) / x


def erfc(x: Array) -> Array:
    """Return erfc of an array, in its dtype."""
    x = np.asarray(x)
    wide = np.ascontiguousarray(x, np.float64).reshape(-1)
    return laid_out_like(x, by_range(wide).reshape(x.shape))


def laid_out_like(x: Array, result: Array) -> Array:
    """Return a contiguous `result` in the dtype and the memory order of `x`."""
    if x.flags.c_contiguous:
        return result.astype(x.dtype, copy=False)
    laid = np.empty_like(x)
    np.copyto(laid, result, casting="same_kind")
    return laid


def by_range(x: Array) -> Array:
    """Return erfc of a float64 array."""
    a = np.abs(x)
    out = np.where(np.isnan(x), x, 1.0 - np.sign(x))  # outside all ranges
    i = a < SMALL
    if i.any():
        z = x[i] * x[i]
        small = x[i]
        y = small * (polynomial(PP, z) / polynomial(QQ, z))
        # Near 1/2 the difference 1 - erf is computed without loss of digits.
        out[i] = np.where(small < 0.25, 1 - (small + y), 0.5 - (small - 0.5 + y))
    i = (a >= SMALL) & (a < MIDDLE)
    if i.any():
        s = a[i] - 1
        p = polynomial(PA, s) / polynomial(QA, s)
        out[i] = np.where(x[i] > 0, 1 - ERX - p, 1 + (ERX + p))
    for low, high, top, bottom in TAILS:
        i = (a >= low) & (a < high)
        if i.any():
            r = tail(a[i], top, bottom)
            out[i] = np.where(x[i] > 0, r, 2 - r)
    return out


# ---- erf

STEPS, END = 4096, 6  # table points per unit; from END on erf is 1 in double precision
SMALLEST = 256  # up to this many elements no scratch arrays are kept
CHUNK = 16384  # elements per pass, so that intermediate results stay in the cache
# Adding this to x rounds it to a table point, whose position is then in the low bits.
MAGIC = 1.5 * 2.0**52 / STEPS
MAGIC_BITS = 0x4278000000000000 - END * STEPS
FAR = 1e12  # arrays with larger squares are clipped first
C = 2 / math.sqrt(math.pi)
_table: list[Array] = []
_scratch = threading.local()


def erf(x: Array, out: Array | None = None) -> Array:
    """Return erf of an array, in its dtype, in `out` if given (contiguous, of x's shape and dtype,
    not x itself).
    """
    x = np.asarray(x)
    wide = np.ascontiguousarray(x, np.float64).reshape(-1)
    direct = out is not None and out.dtype == np.float64
    result = out.reshape(-1) if out is not None and direct else np.empty(len(wide))
    for start in range(0, len(wide), CHUNK):
        piece = slice(start, start + CHUNK)
        from_table(wide[piece], result[piece])
    if out is None:
        return laid_out_like(x, result.reshape(x.shape))
    if not direct:
        np.copyto(out, result.reshape(x.shape), casting="same_kind")
    return out


def table() -> Array:
    """Return erf at the points from -END to END. At 0 it is -0.0, so that adding it keeps the sign
    of a zero.
    """
    if not _table:
        right = np.array([math.erf(k / STEPS) for k in range(END * STEPS + 1)])
        right[0] = -0.0
        _table.append(np.concatenate([-right[:0:-1], right]))
    return _table[0]


def scratch(n: int) -> list[Array]:
    """Return scratch arrays of n elements, four of floats and one of positions; large ones are
    cached per thread.
    """
    if n <= SMALLEST:
        return [*np.empty((4, n)), np.empty(n, np.int64)]
    if not hasattr(_scratch, "arrays"):
        _scratch.arrays = (*np.empty((4, CHUNK)), np.empty(CHUNK, np.int64))
    return [a[:n] for a in _scratch.arrays]


def from_table(x: Array, out: Array) -> None:
    """Write erf of 1 to CHUNK elements to `out`."""
    h, m, t, bell, place = scratch(len(x))
    np.multiply(x, x, m)
    np.negative(m, t)
    np.exp(t, bell)
    if not np.maximum.reduce(m) <= FAR:  # also true for nan
        x = np.clip(x, -END, END)
        np.multiply(x, x, m)
    np.multiply(m, C * 2 / 3, t)
    np.subtract(t, C / 3, t)
    np.add(x, MAGIC, m)
    # may be out of range for large x or nan: take clips it
    np.subtract(m.view(np.int64), MAGIC_BITS, place)
    np.subtract(m, MAGIC, m)
    np.subtract(x, m, h)
    np.multiply(t, h, t)
    np.multiply(x, C, m)
    np.add(t, m, t)
    np.multiply(t, h, t)
    np.add(t, C, t)
    np.multiply(t, h, t)
    np.multiply(t, bell, t)
    table().take(place, out=m, mode="clip")
    np.add(m, t, out)
