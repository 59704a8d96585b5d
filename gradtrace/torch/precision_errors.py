"""Compare a result with its float64 runs: the errors that it adds and inherits, and what became of
its elements.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import torch

from gradtrace.torch.precision_shadows import Shadow, extent_of, largest, wide
from gradtrace.trace.array_summary import relative_size

# how many times larger or smaller the squared error of a sample may be than that of the whole
ALIKE = 2.0
NEARLY = 1e-4
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
        # of each track, its projection on the error, less that of the shadow
        self.reached = [0.0] * tracks
        self.overflowed = self.underflowed = self.subnormal = self.saturated = 0
        self.lost = [0] * (
            tracks + 1
            # of each track, and the result: elements that are not the shadow's inf or nan, or not
            # finite
        )
        self.largest = 0.0
        self.smallest = math.inf
        self.reach = 0.0
        self.rows: list[Tensor] = []  # if asked for: the norm of the error of each row
        # for the differences of a block
        self.scratch: list[Tensor] = [torch.empty(0, dtype=torch.float64)] * 2

    @property
    def is_ordinary(self) -> bool:
        """Whether no element is infinite, 0, subnormal or 1 where the compared one is not."""
        return not (
            self.overflowed or self.underflowed or self.subnormal or self.saturated or self.lost[-1]
        )

    def add(self, result: Tensor, runs: list[Tensor], inner: int = 0) -> None:
        """Add a block of the result, in its own type, and of each track, in float64; `inner`
        elements are a row.
        """
        error = self.less(0, result, runs[0])
        squares, (small, large) = self.squares(error, inner), ends_of(sizes := result.abs())
        size = (
            large
            if len(runs) == 1 and is_nearly(large, squares, self.info)
            else magnitude_of(runs[-1])
        )
        if self.info.dtype == "float16" and not (len(runs) == 1 and math.isfinite(squares + size)):
            self.reach = max(self.reach, largest(runs[0]))
        if not math.isfinite(squares + size):
            masks = [torch.isfinite(tensor) for tensor in (result, *runs)]
            self.overflowed += int((~masks[0] & masks[-1]).sum())
            self.largest = max(self.largest, largest(runs[-1]))
            for place, tensor in enumerate((*runs, result)):
                self.lost[place] += int(unlike(tensor, runs[0]).sum())
            self.shadow += square(runs[0][masks[1]]) - square(
                runs[0][finite := torch.stack(masks).all(0)]
            )
            result, *runs = (tensor[finite] for tensor in (result, *runs))
            error = self.less(0, result, runs[0])
            squares, (small, large), size = (
                square(error),
                ends_of(sizes := result.abs()),
                magnitude_of(runs[-1]),
            )
        self.shadow += square(runs[0])
        self.elements(sizes, runs[-1], small, large, size)
        self.differences(error, squares, result, runs)

    def less(self, place: int, a: Tensor, b: Tensor) -> Tensor:
        """Return a - b in float64, in a place of the scratch memory."""
        if self.scratch[place].numel() < a.numel():
            self.scratch[place] = b.new_empty(a.numel())
        if a.dtype is torch.float16:  # faster in two steps
            a = a.float()
        return self.scratch[place][: a.numel()].copy_(a).sub_(b)

    def squares(self, error: Tensor, inner: int) -> float:
        if not inner:
            return square(error)
        self.rows.append(
            torch.linalg.vector_norm(error.view(-1, inner), dim=1) if inner > 1 else error.clone()
        )
        return square(self.rows[-1])

    def differences(
        self, error: Tensor, squares: float, result: Tensor, runs: list[Tensor]
    ) -> None:
        """Add the squared norms of the error, given as `squares`, and of its parts."""
        self.error += squares
        if len(runs) == 1:
            self.added += squares
            return
        step = self.less(1, result, runs[-1])
        self.added += square(step)
        for place, run in enumerate(runs[1:], 1):
            torch.sub(run, runs[0], out=step)
            self.reached[place] += dot(step, error)
        self.inherited += square(step)

    def elements(
        self, sizes: Tensor, local: Tensor, small: float, large: float, size: float
    ) -> None:
        """Note the largest magnitude, `size`. Elements are only counted where the ends of `sizes`,
        the magnitudes of the result, say that there may be any.
        """
        if not local.numel():
            return
        self.largest = max(self.largest, size)
        self.reach = max(self.reach, size)
        if small < self.info.tiny:
            zero = sizes == 0
            empty = int(torch.count_nonzero(zero))
            subnormal = int(torch.count_nonzero(sizes < self.info.tiny)) - empty
            underflowed = 0
            if empty and (gone := zero.logical_and_(local != 0)).any():
                underflowed = int(torch.count_nonzero(gone & (local.abs() < self.info.tiny)))
            self.underflowed += underflowed
            self.subnormal += subnormal
            if underflowed or subnormal:
                self.smallest = min(self.smallest, float(local[local != 0].abs().min()))
        if 0.5 < size <= 1 <= large:
            self.saturated += int(((sizes == 1) & (local.abs() != 1)).sum())


def unlike(a: Tensor, b: Tensor) -> Tensor:
    """Return which elements are inf or nan in one of two tensors, and something else in the
    other.
    """
    return (a != b) & ((a == a) | (b == b)) & ~(torch.isfinite(a) & torch.isfinite(b))


def ends_of(tensor: Tensor) -> tuple[float, float]:
    """Return the smallest and the largest element."""
    if not tensor.numel():
        return 0.0, 0.0
    low, high = torch.aminmax(tensor)
    return float(low), float(high)


def magnitude_of(tensor: Tensor) -> float:
    low, high = ends_of(tensor)
    return max(-low, high)


def is_nearly(large: float, squares: float, info: Any) -> bool:
    """Return whether the largest magnitude of a result is that of its shadow up to rounding, and
    not near 1, where saturation begins, or near an end of the dtype; `squares` is the squared norm
    of its error.
    """
    return (
        squares <= (large * NEARLY) ** 2
        and abs(large - 1) > NEARLY
        and info.tiny < large < info.max / 2
    )


def dot(a: Tensor, b: Tensor) -> float:
    return float(torch.dot(a, b))


def square(a: Tensor) -> float:
    return dot(a, a)


def compare(actual: Tensor, tracks: list[Tensor]) -> ErrorSizes:
    """Compare a result with what the tracks of its frame have for it (see
    `precision_shadows.WideFrame`).
    """
    changes = [not is_same(before, after) for before, after in itertools.pairwise(tracks)]
    places = [*itertools.accumulate(changes, initial=0)]
    sums = sums_of(actual, [tracks[0], *itertools.compress(tracks[1:], changes)])
    sums.reached = [sums.reached[k] for k in places]
    sums.lost = [*(sums.lost[k] for k in places), sums.lost[-1]]
    return sizes_of(sums)


def is_same(a: Tensor, b: Tensor) -> bool:
    """Return whether two tensors of one shape have the same memory."""
    return a.data_ptr() == b.data_ptr() and a.stride() == b.stride()


def compare_sample(
    whole: Sums, weights: Tensor, sample: Tensor, tracks: list[Tensor]
) -> ErrorSizes | None:
    """Return the errors of a result from its comparison with the shadow, and a sample of it and of
    the tracks.

    `weights` says for each row of the sample how many it stands for. None if the sample has another
    error than the whole (by more than `ALIKE`), or if one of its elements is not finite.
    """
    scale = weights.sqrt()
    result, *runs = (flat(wide(tensor).mul_(scale)) for tensor in (sample, *tracks))
    part = Sums(torch.float64, len(runs))
    error = result - runs[0]
    part.differences(error, square(error), result, runs)
    if not math.isfinite(part.error + part.added + part.inherited):
        return None
    if not whole.error / ALIKE <= part.error <= whole.error * ALIKE or (
        part.added and not part.error
    ):
        return None
    times = whole.error / part.error if part.error else 0.0
    whole.added = part.added * times
    whole.inherited = part.inherited * times
    whole.reached = [product * times for product in part.reached]
    whole.lost = [0] * len(part.lost)
    return sizes_of(whole)


def sums_of(actual: Tensor, tracks: list[Tensor], inner: int = 0) -> Sums:
    """Compare a result with what tracks have for it; with `inner` also each row of so many
    elements.
    """
    result, *runs = (flat(tensor) for tensor in (actual.detach(), *tracks))
    sums = Sums(actual.dtype, len(runs))
    inner *= 1 + actual.is_complex()
    step = max(1, BLOCK // inner) * inner if inner else BLOCK
    for start in range(0, result.numel(), step):
        block = slice(start, start + step)
        sums.add(result[block].cpu(), [run[block] for run in runs], inner)
    return sums


def sizes_of(sums: Sums) -> ErrorSizes:
    norm = math.sqrt(sums.shadow)
    scale = norm * sums.info.eps / 2
    added, inherited, error = (
        relative_size(math.sqrt(squared_norm), scale)
        for squared_norm in (sums.added, sums.inherited, sums.error)
    )
    reached, total = (
        (sums.lost[:-1], sums.lost[-1]) if sums.lost[-1] else (sums.reached, sums.error)
    )
    shares = [
        (after - before) / total if total else 0.0 for before, after in itertools.pairwise(reached)
    ]
    added, inherited, error = (
        math.inf if infinite else size
        for infinite, size in (
            (sums.overflowed, added),
            (sums.lost[-2], inherited),
            (sums.lost[-1], error),
        )
    )
    ends = sums.largest, 0.0 if math.isinf(sums.smallest) else sums.smallest
    counts = sums.overflowed, sums.underflowed, sums.subnormal, sums.saturated
    return ErrorSizes(norm, added, inherited, error, shares, *counts, *ends, sums.reach)


def passed_on(tensor: Tensor, shadow: Shadow) -> ErrorSizes | None:
    """Return the errors of a tensor that only shows elements whose errors are known, each equally
    often; else None.
    """
    extent, times = extent_of(tensor)
    errors = shadow.errors.get(extent)
    if errors is None or not times:
        return None
    counts = dict.fromkeys(("overflowed", "underflowed", "subnormal", "saturated"), 0)
    norm = errors.norm * math.sqrt(times)
    return errors._replace(norm=norm, added=0.0, inherited=errors.error, shares=[1.0], **counts)


def flat(tensor: Tensor) -> Tensor:
    return (torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor).reshape(
        -1
    )
