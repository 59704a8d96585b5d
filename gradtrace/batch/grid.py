"""Parameter sweeps as generated columns: `--grid S=80:120:1000` is a column of 1000 points from 80
to 120.

Several grids give every combination, with the last one varying fastest. Only one chunk is in memory
at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from gradtrace.batch.columns import Chunk, TableReader, twice_in
from gradtrace.engine.data.lazy import np
from gradtrace.errors import UsageError

FORM = "for instance --grid S=80:120:1000 (from, to, points) or --grid K=90,100,110"


class Axis(NamedTuple):
    """One grid: `n` points from `low` to `high` at equal distances, or the listed points."""

    name: str
    low: float
    high: float
    n: int
    points: tuple[float, ...] = ()

    def points_at(self, index: Any) -> Any:
        """Return the points at an array of positions; each point depends only on its position."""
        if self.points:
            return np.asarray(self.points)[index]
        if self.n == 1:
            return np.full(len(index), self.low)
        return np.where(
            index == self.n - 1,
            self.high,
            self.low + index * ((self.high - self.low) / (self.n - 1)),
        )


def parse(text: str) -> Axis:
    """Parse NAME=FROM:TO:POINTS or NAME=a,b,c; UsageError for any other text."""
    name, equals, rest = text.partition("=")
    try:
        if not equals or not name.isidentifier():
            raise ValueError
        if ":" not in rest:
            points = tuple(float(p) for p in rest.split(","))
            return Axis(name, points[0], points[-1], len(points), points)
        low, high, count = rest.split(":")
        axis = Axis(name, float(low), float(high), int(float(count)))
        if (
            axis.n < 1
            or not math.isfinite(axis.low)
            or not math.isfinite(axis.high)
            or axis.n != float(count)
        ):
            raise ValueError
        return axis
    except ValueError:
        raise UsageError(f"--grid: '{text}' is not a grid", FORM) from None


class GridReader(TableReader):
    """A reader of a table whose rows are all combinations of the points of several grids."""

    def __init__(self, axes: list[Axis]) -> None:
        self.name = "the grid"
        self.axes = axes
        self.names = [axis.name for axis in axes]
        twice = twice_in(self.names)
        if twice is not None:
            raise UsageError(f"--grid: '{twice}' is given twice")
        self.rows = math.prod(axis.n for axis in axes)

    def chunks(self, size: int, skip: int = 0) -> Iterator[Chunk]:
        for first in range(skip, self.rows, size):
            index = np.arange(first, min(first + size, self.rows))
            columns = {}
            for axis in reversed(self.axes):
                columns[axis.name] = axis.points_at(index % axis.n)
                index = index // axis.n
            n = len(index)
            yield Chunk(first, n, {name: columns[name] for name in self.names})
