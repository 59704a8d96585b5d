"""erf and erfc on arrays, in double precision.

The rational approximations are those of Sun's fdlibm, s_erf.c (W. J. Cody's method, "Rational Chebyshev approximations
for the error function", 1969): four ranges of |x|, each with its quotient of polynomials. Within 1 ulp for erf, and
for erfc as far as exp is.
"""

from __future__ import annotations

from typing import Any

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


def by_range(x: Any, complement: bool) -> Any:
    """erf, or erfc if `complement`, of a float64 array."""
    a = np.abs(x)
    out = np.where(np.isnan(x), x, 1.0 - np.sign(x) if complement else np.sign(x))  # beyond all ranges
    i = a < SMALL
    if i.any():
        z = x[i] * x[i]
        y = x[i] * (polynomial(PP, z) / polynomial(QQ, z))
        small = x[i]
        # Near 1/2 the difference 1 - erf is formed so that no digit is lost.
        out[i] = np.where(small < 0.25, 1 - (small + y), 0.5 - (small - 0.5 + y)) if complement else small + y
    i = (a >= SMALL) & (a < MIDDLE)
    if i.any():
        s = a[i] - 1
        p = polynomial(PA, s) / polynomial(QA, s)
        positive = x[i] > 0
        out[i] = np.where(positive, 1 - ERX - p, 1 + (ERX + p)) if complement else np.where(positive, ERX + p, -ERX - p)
    for low, high, top, bottom in ((MIDDLE, LARGE, RA, SA), (LARGE, LAST, RB, SB)):
        i = (a >= low) & (a < high)
        if i.any():
            r = tail(a[i], top, bottom)
            if complement:
                out[i] = np.where(x[i] > 0, r, 2 - r)
            else:
                out[i] = np.where(x[i] > 0, 1 - r, r - 1)
    return out


def _kernel(complement: bool) -> Any:
    def kernel(x: Any) -> Any:
        x = np.asarray(x)
        wide = np.ascontiguousarray(x, np.float64).reshape(-1)
        return by_range(wide, complement).reshape(x.shape).astype(x.dtype)

    return kernel


erf, erfc = _kernel(False), _kernel(True)
