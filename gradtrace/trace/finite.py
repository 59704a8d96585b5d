"""Finite differences of a function of one number, to judge whether a derivative is right.

    found = judge(f, analytic, x)        # f(t) is the function at x + t: f(0), f(h), f(-h)

Central differences use a step that balances rounding against curvature. Where they disagree with
the derivative, one-sided differences tell a kink from a wrong derivative, and Ridders'
extrapolation (Numerical Recipes, 5.7) gives the most exact number.
"""

from __future__ import annotations

import math

from gradtrace.annotations import Callable, NamedTuple
from gradtrace.trace.record import FunctionCheck, Span

OK = "ok"
WRONG = "wrong"
KINK = "kink"
JUMP = "jump"
EDGE = "edge"
NOT_FINITE = "not finite"
FLOAT64 = 2.220446049250313e-16
# of Ridders' steps, by the size of x: the function may vary on another scale
STARTS = (2e-2, 1e-3, 1e-5, 1e-7)
STEPS = 10  # of Ridders' table
SMALL = 10_000  # elements of an argument up to which a Function is run again
FEW = 12  # elements of an input that are tried
LARGE = f"its arguments have more than {SMALL} elements"
NOT_REPEATED = "its forward does not give the same result again"
FLAT = "its forward is flat there, so its backward is an estimate"
ARGUMENT = "its forward gives the argument itself"
SHRINK = 1.4


class Judged(NamedTuple):
    """The result of a comparison. `verdict` is one of:

    "ok", "wrong", "kink" (the slope changes at the point; the derivative lies between both slopes),
    "jump" (the function is not continuous), "edge" (of the domain: the derivative agrees with one
    side), "not finite" (neither the derivative nor the differences are finite).
    """

    verdict: str
    numeric: float
    error: float  # absolute
    left: float
    right: float


# which input, which element, the derivative of backward, the verdict
Wrong = tuple[int, int, float, Judged]


def check_record(name: str, span: Span | None, result: str | Wrong | None) -> FunctionCheck:
    """Return the record of a Function's comparison: the reason for not trying it, its worst
    element, or None.
    """
    if result is None:
        return FunctionCheck(name, "ok", "", span)
    if isinstance(result, str):
        return FunctionCheck(name, "not tried", result, span)
    place, element, analytic, judged = result
    return FunctionCheck(name, "wrong", "", span, place, element, analytic, judged.numeric)


def chosen(size: int) -> list[int]:
    """Return the elements to check: all, or some spread evenly over the tensor."""
    return list(range(size)) if size <= FEW else [size * k // FEW for k in range(FEW)]


def judge(f: Callable[[float], float], analytic: float, x: float, eps: float = FLOAT64) -> Judged:
    """Compare the derivative `analytic` with finite differences of f, whose values are rounded to
    `eps`.
    """
    scale = max(1.0, abs(x))
    h = eps ** (1 / 3) * scale
    here = f(0.0)
    up = f(h)
    down = f(-h)
    right = (up - here) / h
    left = (here - down) / h
    if not math.isfinite(up) or not math.isfinite(down) or not math.isfinite(here):
        return at_edge(analytic, left, right)
    central = (up - down) / (2 * h)
    noise = 4 * eps * max(abs(up), abs(down), abs(here), eps) / h
    tolerance = eps ** (1 / 2.5) * max(abs(analytic), abs(central)) + 8 * noise
    gap = abs(right - left)
    if gap > 10 * tolerance:
        judged = at_kink(f, analytic, h, here, gap, tolerance)
        if judged is not None:
            return judged
    if abs(analytic - central) <= tolerance:
        return Judged(OK, central, abs(analytic - central), left, right)
    tries = [ridders(f, start * scale) for start in (STARTS if eps < 1e-10 else STARTS[:2])]
    best, spread = min(
        (t for t in tries if math.isfinite(t[0])), key=lambda t: t[1], default=(central, gap)
    )
    agrees = abs(analytic - best) <= tolerance + 3 * spread
    return Judged(OK if agrees else WRONG, best, abs(analytic - best), left, right)


def at_edge(analytic: float, left: float, right: float) -> Judged:
    """Judge a derivative by one side, where the function is not defined or infinite on the
    other.
    """
    sides = [s for s in (left, right) if math.isfinite(s)]
    if not sides:
        verdict = NOT_FINITE if not math.isfinite(analytic) else WRONG
        return Judged(verdict, math.nan, math.nan, left, right)
    close = abs(analytic - sides[0]) <= 1e-3 * max(1.0, abs(sides[0]))
    steep = not math.isfinite(analytic) and abs(sides[0]) > 1e2
    return Judged(
        EDGE if close or steep else WRONG, sides[0], abs(analytic - sides[0]), left, right
    )


def at_kink(
    f: Callable[[float], float],
    analytic: float,
    h: float,
    here: float,
    gap: float,
    tolerance: float,
) -> Judged | None:
    """Judge a derivative where the one-sided slopes differ; None if they agree with a smaller step,
    so it was curvature.
    """
    near = h / 16
    right = (f(near) - here) / near
    left = (here - f(-near)) / near
    closer = abs(right - left)
    if closer < 0.5 * gap:
        return None
    middle = (left + right) / 2
    if closer > 4 * gap:
        return Judged(JUMP, middle, abs(analytic - middle), left, right)
    low = min(left, right)
    high = max(left, right)
    slack = 32 * tolerance + 1e-4 * (high - low)
    between = low - slack <= analytic <= high + slack
    return Judged(
        KINK if between else WRONG, middle, 0.0 if between else abs(analytic - middle), left, right
    )


def ridders(f: Callable[[float], float], h: float) -> tuple[float, float]:
    """Return the derivative by Ridders' extrapolation, and an estimate of its error."""
    table = [[(f(h) - f(-h)) / (2 * h)]]
    best = table[0][0]
    spread = math.inf
    for i in range(1, STEPS):
        h /= SHRINK
        row = [(f(h) - f(-h)) / (2 * h)]
        factor = SHRINK * SHRINK
        for j in range(1, i + 1):
            row.append((row[j - 1] * factor - table[i - 1][j - 1]) / (factor - 1))
            factor *= SHRINK * SHRINK
            error = max(abs(row[j] - row[j - 1]), abs(row[j] - table[i - 1][j - 1]))
            if error <= spread:
                best = row[j]
                spread = error
        table.append(row)
        if abs(row[i] - table[i - 1][i - 1]) >= 2 * spread:
            break
    return best, spread
