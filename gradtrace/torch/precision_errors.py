"""Compare a result with its float64 runs: the errors that it adds and inherits, and what became of its elements."""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import torch

from gradtrace.torch.precision_shadows import largest

ALIKE = 2.0  # how many times larger or smaller the squared error of a sample may be than that of the whole
BLOCK = 65_536  # elements that are compared at once, so that they stay in the processor's cache
Tensor = torch.Tensor


class ErrorSizes(NamedTuple):
    """Fields of `trace.precision.Measured`; `shares` are those of the sources, in their order."""

    norm: float
    added: float
    inherited: float
    error: float
    shares: list[float]  # if the error is infinite, of the elements that are not finite
    overflowed: int
    underflowed: int
    subnormal: int
    saturated: int
    largest: float
    smallest: float
    reach: float  # the largest finite magnitude in the shadow


class Sums:
    """What `compare` adds up over the blocks of a result."""

    def __init__(self, dtype: Any, tracks: int) -> None:
        self.info = torch.finfo(dtype)
        self.shadow = self.added = self.inherited = self.error = 0.0
        self.reached = [0.0] * tracks  # of each track, its projection on the error, less that of the shadow
        self.overflowed = self.underflowed = self.subnormal = self.saturated = 0
        self.lost = [0] * (tracks + 1)  # of each track, and the result: elements that only in the shadow are finite
        self.largest, self.smallest, self.reach = 0.0, math.inf, 0.0

    def add(self, result: Tensor, runs: list[Tensor]) -> None:
        """Add a block of the result, in its own type, and of each track, in float64."""
        error = result - runs[0]
        squares = square(error)
        if self.info.dtype == "float16":
            self.reach = max(self.reach, largest(runs[0]))
        if not math.isfinite(squares):
            known = [torch.isfinite(one) for one in (result, *runs)]
            self.overflowed += int((~known[0] & known[-1]).sum())
            self.largest = max(self.largest, largest(runs[-1]))
            for place, one in enumerate((*known[1:], known[0])):
                self.lost[place] += int((~one & known[1]).sum())
            self.shadow += square(runs[0][known[1]]) - square(runs[0][finite := torch.stack(known).all(0)])
            result, *runs = (one[finite] for one in (result, *runs))
            error = result - runs[0]
            squares = square(error)
        self.error += squares
        self.shadow += square(runs[0])
        self.elements(result, runs[-1])
        if len(runs) == 1:
            self.added += squares
            return
        step = result - runs[-1]
        self.added += square(step)
        for place, one in enumerate(runs[1:], 1):
            torch.sub(one, runs[0], out=step)
            self.reached[place] += dot(step, error)
        self.inherited += square(step)

    def elements(self, result: Tensor, local: Tensor) -> None:
        if not local.numel():
            return
        sizes = local.abs()
        low, high = (float(end) for end in torch.aminmax(sizes))
        self.largest = max(self.largest, high)
        self.reach = max(self.reach, high)
        if not low and high:
            low = float(sizes.masked_fill_(sizes == 0, math.inf).min())
        if low:
            self.smallest = min(self.smallest, low)
        if low < self.info.tiny * 2:
            self.underflowed += int(((result == 0) & (local != 0)).sum())
            self.subnormal += int(((result != 0) & (result.abs() < self.info.tiny)).sum())
        if 0.5 < high <= 1:
            self.saturated += int(((result.abs() == 1) & (local.abs() != 1)).sum())


def dot(a: Tensor, b: Tensor) -> float:
    return float(torch.dot(a, b))


def square(a: Tensor) -> float:
    return dot(a, a)


def compare(actual: Tensor, tracks: list[Tensor]) -> ErrorSizes:
    """Compare a result with what the tracks of its frame have for it (see `precision_shadows.WideFrame`)."""
    return sizes_of(sums_of(actual, tracks))


def compare_sample(actual: Tensor, shadow: Tensor, sample: Tensor, tracks: list[Tensor]) -> ErrorSizes | None:
    """Compare a result with its shadow, and a sample of it with what the tracks have for that.

    None if the sample has another error than the whole (relative to its size, by more than `ALIKE`), or if an element
    is not finite, 0, subnormal or 1 where its shadow is not.
    """
    whole = sums_of(actual, [shadow])
    if whole.overflowed or whole.underflowed or whole.subnormal or whole.saturated or whole.lost[-1]:
        return None
    part = sums_of(sample, tracks)
    times = actual.numel() / sample.numel()
    if not whole.error / ALIKE <= part.error * times <= whole.error * ALIKE or any(part.lost):
        return None
    if part.added and not part.error:
        return None
    times = whole.error / part.error if part.error else 0.0
    whole.added, whole.inherited = part.added * times, part.inherited * times
    whole.reached, whole.lost = [one * times for one in part.reached], part.lost
    return sizes_of(whole)


def sums_of(actual: Tensor, tracks: list[Tensor]) -> Sums:
    result, *runs = (flat(one) for one in (actual.detach(), *tracks))
    sums = Sums(actual.dtype, len(runs))
    for start in range(0, result.numel(), BLOCK):
        block = slice(start, start + BLOCK)
        sums.add(result[block].cpu(), [one[block] for one in runs])
    return sums


def sizes_of(sums: Sums) -> ErrorSizes:
    norm = math.sqrt(sums.shadow)
    scale = norm * sums.info.eps / 2
    added, inherited, error = (relative(math.sqrt(one), scale) for one in (sums.added, sums.inherited, sums.error))
    reached, total = (sums.lost[:-1], sums.lost[-1]) if sums.lost[-1] else (sums.reached, sums.error)
    shares = [(after - before) / total if total else 0.0 for before, after in itertools.pairwise(reached)]
    added, inherited, error = (
        math.inf if infinite else size
        for infinite, size in ((sums.overflowed, added), (sums.lost[-2], inherited), (sums.lost[-1], error))
    )
    ends = sums.largest, 0.0 if math.isinf(sums.smallest) else sums.smallest
    counts = sums.overflowed, sums.underflowed, sums.subnormal, sums.saturated
    return ErrorSizes(norm, added, inherited, error, shares, *counts, *ends, sums.reach)


def flat(tensor: Tensor) -> Tensor:
    return (torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor).reshape(-1)


def relative(size: float, scale: float) -> float:
    return size / scale if scale else math.inf if size else 0.0
