"""torch.utils.benchmark: measure the time of a function. Statements as text are not supported."""

from __future__ import annotations

import statistics
import time
import timeit
from typing import Any

__all__ = ["Measurement", "Timer"]

UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))


class Measurement:
    """Measured times, each in seconds for one run."""

    def __init__(
        self, number_per_run: int, raw_times: list[float], label: str | None = None
    ) -> None:
        self.number_per_run = number_per_run
        self.raw_times = raw_times
        self.label = label

    @property
    def times(self) -> list[float]:
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.times)

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    @property
    def iqr(self) -> float:
        """The interquartile range of the times."""
        if len(self.times) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
        return high - low

    def __repr__(self) -> str:
        unit, size = next(((unit, size) for unit, size in UNITS if self.median >= size), UNITS[-1])
        runs = len(self.times)
        shown = (
            f"  {self.median / size:.2f} {unit}\n  {runs} measurement{'s' * (runs > 1)}, "
            f"{self.number_per_run} runs"
        )
        return (
            f"<gradtrace.utils.benchmark.Measurement object>\n{self.label or 'function'}\n{shown} "
            ", 1 thread"
        )


class Timer:
    """A timer of a statement, given as text or as a function (torch.utils.benchmark.Timer)."""

    def __init__(
        self,
        stmt: Any = "pass",
        setup: Any = "pass",
        global_setup: str = "",
        timer: Any = None,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
    ) -> None:
        self._timer = timeit.Timer(stmt, setup, timer or time.perf_counter, globals)
        self._label = label

    def timeit(self, number: int = 1000000) -> Measurement:
        """Run the function `number` times."""
        return Measurement(number, [self._time(number)], self._label)

    def blocked_autorange(self, callback: Any = None, min_run_time: float = 0.2) -> Measurement:
        """Run the function in blocks for about `min_run_time` seconds."""
        number = 1
        while (taken := self._time(number)) < min_run_time / 1000 and number < 10**6:
            number *= 10
        times = [taken]
        while sum(times) < min_run_time:
            times.append(self._time(number))
        return Measurement(number, times, self._label)

    def _time(self, number: int) -> float:
        return self._timer.timeit(number)
