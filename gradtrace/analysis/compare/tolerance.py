"""How far apart two values may be and still count as equal.

The rule follows the probabilistic bound of Higham and Mary ("A New Approach to Probabilistic
Rounding Error Analysis", SIAM Journal on Scientific Computing, 2019): the rounding errors of a sum
of n terms add to about sqrt(n) roundings. Up to sums of 256 terms along the way to a value the base
of its dtype is allowed (160 roundings in float32, five in the short dtypes, for what comes of more
than one operation), then sqrt(n / 256) times as much, at most ten times. What was computed from a
value in a shorter dtype has the precision of that dtype.
"""

from __future__ import annotations

from math import sqrt

from gradtrace.annotations import NamedTuple

BASE = {
    "float64": 1e-9,
    "complex128": 1e-9,
    "float32": 1e-5,
    "complex64": 1e-5,
    "float16": 2.5e-3,
    "bfloat16": 1e-2,
}
SHORT = 0.25  # for the eight-bit floating dtypes
ROUNDING = {"float64": 1.2e-16, "float32": 6e-8, "float16": 4.9e-4, "bfloat16": 2e-3}
LENGTH = 256  # terms
MOST = 10.0


class Tolerance(NamedTuple):
    """The relative and absolute difference that is allowed; without `rtol`, the rule of this
    module.
    """

    rtol: float | None = None
    atol: float = 0.0  # of the root of the mean square of the elements' differences
    exact: bool = False

    def allowed(self, base: float, length: float) -> float:
        """Return the relative difference allowed for a value of precision `base` after sums of
        `length` terms.
        """
        if self.exact:
            return 0.0
        if self.rtol is not None:
            return self.rtol
        return base * min(MOST, max(1.0, sqrt(length / LENGTH)))


def base_of(dtype: str) -> float:
    """Return the relative difference allowed for a dtype; 0 for whole numbers."""
    return BASE.get(dtype, SHORT if dtype.startswith("float8") else 0.0)
