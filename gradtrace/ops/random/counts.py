"""Poisson and binomial numbers, computed from uniform ones.

The methods are those of PyTorch's CPU kernels: Hoermann's transformed rejection, PTRS for Poisson
numbers (https://doi.org/10.1016/0167-6687(93)90997-4) and BTRS for binomial ones
(https://doi.org/10.1080/00949659308811496), and the products or sums of uniform numbers for small
means.
"""

from __future__ import annotations

import math
from contextlib import closing

from gradtrace.annotations import TYPE_CHECKING, Callable

if TYPE_CHECKING:
    from gradtrace.engine.data.types import NumpyDtype
    from gradtrace.ops.random.stream import Stream

LARGE_MEAN = 10
AT_ONCE = 256  # uniform numbers taken from the stream ahead
# Corrections of Stirling's approximation of log(k!), for k < 10.
STIRLING = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
    0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


class Uniform:
    """Uniform numbers one by one, read from a stream in blocks; `close` gives unused ones back to
    the stream.
    """

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.before = stream.words.get_state(legacy=False)
        self.ready: list[float] = []
        self.used = 0

    def __call__(self) -> float:
        if not self.ready:
            self.ready = self.stream.uniform64(AT_ONCE)[::-1].tolist()
        self.used += 1
        return self.ready.pop()

    def close(self) -> None:
        """Set the stream to the state after the numbers that were used."""
        self.stream.words.set_state(self.before)
        self.stream.uint32(2 * self.used)


def poisson(stream: Stream, rates: list[float]) -> list[float]:
    """Return a Poisson number for each rate."""
    with closing(Uniform(stream)) as uniform:
        return [poisson_one(rate, uniform) for rate in rates]


def poisson_one(rate: float, uniform: Callable[[], float]) -> float:
    if rate >= LARGE_MEAN:
        return poisson_large(rate, uniform)
    if rate == 0:
        return 0
    limit = math.exp(-rate)
    product = uniform()
    k = 0
    while product > limit:
        product *= uniform()
        k += 1
    return k


def poisson_large(rate: float, uniform: Callable[[], float]) -> float:
    """Return a Poisson number for a rate of at least 10 (PTRS)."""
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse = 1.1239 + 1.1328 / (b - 3.4)
    accepted = 0.9277 - 3.6224 / (b - 2)
    while True:
        u = uniform() - 0.5
        v = uniform()
        us = 0.5 - abs(u)
        if us == 0:
            continue
        k = floor_int64((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= accepted:
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        height = log(v) + math.log(inverse) - math.log(a / (us * us) + b)
        if height <= -rate + k * math.log(rate) - math.lgamma(k + 1):
            return k


def floor_int64(x: float) -> int:
    """Return floor(x); the smallest int64, like a cast in C, if it does not fit in an int64."""
    return math.floor(x) if abs(x) < 2**63 else -(2**63)


def log(x: float) -> float:
    """Return the logarithm of a non-negative number; -inf for 0."""
    return math.log(x) if x else -math.inf


def binomial(
    stream: Stream, counts: list[float], chances: list[float], kind: NumpyDtype
) -> list[float]:
    """Return a binomial number for each count and probability; `kind` is the dtype of the latter."""
    with closing(Uniform(stream)) as uniform:
        return [binomial_one(n, p, uniform, kind) for n, p in zip(counts, chances, strict=True)]


def binomial_one(n: float, p: float, uniform: Callable[[], float], kind: NumpyDtype) -> float:
    if n <= 0 or p <= 0:
        return 0.0
    if p >= 1:
        return n
    if p != p or math.isinf(n):
        return math.nan
    if p > 0.5:
        return n - successes(n, float(kind.type(1.0 - p)), uniform)
    return successes(n, p, uniform)


def successes(n: float, p: float, uniform: Callable[[], float]) -> float:
    """Return a binomial number for a probability p of at most 1/2."""
    if n * p >= LARGE_MEAN:
        return binomial_large(n, p, uniform)
    total = 0.0
    k = 0
    scale = math.log1p(-p)
    while True:
        total += math.ceil(log(uniform()) / scale)
        if total > n:
            return k
        k += 1


def binomial_large(n: float, p: float, uniform: Callable[[], float]) -> float:
    """Return a binomial number for n * p of at least 10 (BTRS)."""
    deviation = math.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    center = n * p + 0.5
    accepted = 0.92 - 4.2 / b
    odds = p / (1 - p)
    alpha = (2.83 + 5.1 / b) * deviation
    mode = math.floor((n + 1) * p)
    while True:
        u = uniform() - 0.5
        v = uniform()
        us = 0.5 - abs(u)
        if us == 0:
            continue
        k = math.floor((2 * a / us + b) * u + center)
        if k < 0 or k > n:
            continue
        if us >= 0.07 and v <= accepted:
            return k
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (n - mode + 1)))
            + (n + 1) * math.log((n - mode + 1) / (n - k + 1))
            + (k + 0.5) * math.log(odds * (n - k + 1) / (k + 1))
            + stirling(mode)
            + stirling(n - mode)
            - stirling(k)
            - stirling(n - k)
        )
        if log(v * alpha / (a / (us * us) + b)) <= bound:
            return k


def stirling(k: float) -> float:
    """Return the correction of Stirling's approximation of log(k!)."""
    if k < len(STIRLING):
        return STIRLING[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)
