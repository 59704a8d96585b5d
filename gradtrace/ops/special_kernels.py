"""erf and erfc on arrays, in double precision.

erf is read from a table of its values 1/256 apart and continued from there by its own differential equation: with
h = x - x0 no larger than 1/512, erf(x) = erf(x0) + erf'(x0) times the integral of exp(-2 x0 s - s^2) over [0, h], whose
expansion needs four terms. There are no branches in it, so that numpy's loops run it at full speed; within 2 ulp.

erfc has the rational approximations of Sun's fdlibm, s_erf.c (W. J. Cody's method, "Rational Chebyshev approximations
for the error function", 1969): four ranges of |x|, each with its quotient of polynomials; good as far as exp is.
"""

from __future__ import annotations

import math
import threading

from gradtrace.annotations import Any
from gradtrace.engine.lazy import np

# erf(x) = x + x P(x^2) / Q(x^2) up to 0.84375
PP = (1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02,
      -5.77027029648944159157e-03, -2.37630166566501626084e-05)
QQ = (1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03,
      1.32494738004321644526e-04, -3.96022827877536812320e-06)
# erf(x) = ERX + P(|x| - 1) / Q(|x| - 1) up to 1.25
ERX = 8.45062911510467529297e-01
PA = (-2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01,
      3.18346619901161753674e-01, -1.10894694282396677476e-01, 3.54783043256182359371e-02,
      -2.16637559486879084300e-03)
QA = (1.0, 1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02,
      1.26171219808761642112e-01, 1.36370839120290507362e-02, 1.19844998467991074170e-02)
# erfc(x) = exp(-x^2 - 0.5625 + R(1/x^2) / S(1/x^2)) / x up to 1/0.35, and beyond
RA = (-9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e+01,
      -6.23753324503260060396e+01, -1.62396669462573470355e+02, -1.84605092906711035994e+02,
      -8.12874355063065934246e+01, -9.81432934416914548592e+00)
SA = (1.0, 1.96512716674392571292e+01, 1.37657754143519042600e+02, 4.34565877475229228821e+02,
      6.45387271733267880336e+02, 4.29008140027567833386e+02, 1.08635005541779435134e+02,
      6.57024977031928170135e+00, -6.04244152148580987438e-02)
RB = (-9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e+01,
      -1.60636384855821916062e+02, -6.37566443368389627722e+02, -1.02509513161107724954e+03,
      -4.83519191608651397019e+02)
SB = (1.0, 3.03380607434824582924e+01, 3.25792512996573918826e+02, 1.53672958608443695994e+03,
      3.19985821950859553908e+03, 2.55305040643316442583e+03, 4.74528541206955367215e+02,
      -2.24409524465858183362e+01)
SMALL, MIDDLE, LARGE, LAST = 0.84375, 1.25, 1 / 0.35, 28.0


def polynomial(coefficients: tuple[float, ...], x: Any) -> Any:
    """By Horner's rule, lowest coefficient first."""
    total = np.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        total *= x
        total += c
    return total


def tail(x: Any, top: tuple[float, ...], bottom: tuple[float, ...]) -> Any:
    """erfc of x > 1.25. The square is split so that exp gets its leading part exactly."""
    s = 1 / (x * x)
    ratio = polynomial(top, s) / polynomial(bottom, s)
    z = (x.view(np.uint64) & np.uint64(0xFFFFFFFF00000000)).view(np.float64)
    return np.exp(-z * z - 0.5625) * np.exp((z - x) * (z + x) + ratio) / x


def erfc(x: Any) -> Any:
    """erfc of an array, in its dtype."""
    x = np.asarray(x)
    wide = np.ascontiguousarray(x, np.float64).reshape(-1)
    return by_range(wide).reshape(x.shape).astype(x.dtype)


def by_range(x: Any) -> Any:
    """erfc of a float64 array."""
    a = np.abs(x)
    out = np.where(np.isnan(x), x, 1.0 - np.sign(x))  # beyond all ranges
    i = a < SMALL
    if i.any():
        z = x[i] * x[i]
        small = x[i]
        y = small * (polynomial(PP, z) / polynomial(QQ, z))
        # Near 1/2 the difference 1 - erf is formed so that no digit is lost.
        out[i] = np.where(small < 0.25, 1 - (small + y), 0.5 - (small - 0.5 + y))
    i = (a >= SMALL) & (a < MIDDLE)
    if i.any():
        s = a[i] - 1
        p = polynomial(PA, s) / polynomial(QA, s)
        out[i] = np.where(x[i] > 0, 1 - ERX - p, 1 + (ERX + p))
    for low, high, top, bottom in ((MIDDLE, LARGE, RA, SA), (LARGE, LAST, RB, SB)):
        i = (a >= low) & (a < high)
        if i.any():
            r = tail(a[i], top, bottom)
            out[i] = np.where(x[i] > 0, r, 2 - r)
    return out


# ---- erf

STEPS, END = 256, 6  # of the table: points per unit; from here on erf is 1 in double precision
CHUNK = 8192  # elements at a time: what is computed on the way stays in the cache
# Adding this rounds to a whole number and leaves that in the low bits: the position in the table.
MAGIC, MAGIC_BITS = 1.5 * 2.0**52, 0x4338000000000000
_tables: list[Any] = []
_scratch = threading.local()


def erf(x: Any, out: Any = None) -> Any:
    """erf of an array, in its dtype; into `out` if given: contiguous, of x's shape and dtype, or x itself."""
    x = np.asarray(x)
    wide = np.ascontiguousarray(x, np.float64).reshape(-1)
    direct = out is not None and out.dtype == np.float64
    result = out.reshape(-1) if direct else np.empty(len(wide))
    for start in range(0, len(wide), CHUNK):
        from_table(wide[start : start + CHUNK], result[start : start + CHUNK])
    if direct:
        return out
    if out is not None:
        np.copyto(out, result.reshape(x.shape), casting="same_kind")
        return out
    return result.reshape(x.shape).astype(x.dtype, copy=False)


def tables() -> list[Any]:
    """erf and its derivative at the points."""
    if not _tables:
        points = [k / STEPS for k in range(END * STEPS + 1)]
        slopes = np.array([2 / math.sqrt(math.pi) * math.exp(-p * p) for p in points])
        _tables[:] = [np.array([math.erf(p) for p in points]), slopes]
    return _tables


def scratch(n: int) -> list[Any]:
    """This thread's arrays of n elements: four of floats, one of positions."""
    if not hasattr(_scratch, "arrays"):
        _scratch.arrays = (*np.empty((4, CHUNK)), np.empty(CHUNK, np.int64))
    return [a[:n] for a in _scratch.arrays]


def from_table(x: Any, out: Any) -> None:
    """erf of at most CHUNK elements, from that of |x|. With p = x0 h and q = h^2 the factor of erf'(x0) h is

    1 + p (-1 + p (2/3 + p (-1/3 + p 2/15))) + q (-1/3 + p/2 - p^2 2/5 + q/10).
    """
    values, slopes = tables()
    h, p, q, s, place = scratch(len(x))
    np.absolute(x, h)
    np.minimum(h, END, out=h)
    np.multiply(h, STEPS, p)
    np.add(p, MAGIC, p)
    np.subtract(p.view(np.int64), MAGIC_BITS, place)  # of a NaN: anything; take clips it
    np.subtract(p, MAGIC, p)
    np.multiply(p, 1 / STEPS, p)
    np.subtract(h, p, h)
    np.multiply(p, h, p)
    np.multiply(h, h, q)
    np.multiply(p, -2 / 5, s)
    np.add(s, 1 / 2, s)
    np.multiply(s, p, s)
    np.add(s, -1 / 3, s)
    np.multiply(s, q, s)
    np.multiply(q, q, q)
    np.multiply(q, 1 / 10, q)
    np.add(s, q, s)
    np.multiply(p, 2 / 15, q)
    for c in (-1 / 3, 2 / 3, -1.0):
        np.add(q, c, q)
        np.multiply(q, p, q)
    np.add(s, q, s)
    np.take(slopes, place, out=q, mode="clip")
    np.multiply(q, h, q)
    np.multiply(s, q, s)
    np.add(s, q, s)
    np.take(values, place, out=q, mode="clip")
    np.add(s, q, s)
    np.copysign(s, x, out)
