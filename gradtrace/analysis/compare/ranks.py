"""Compare the records of several processes of one run: which of them parts from the others, and where."""

from __future__ import annotations

from gradtrace.analysis.compare.search import Difference
from gradtrace.analysis.compare.tolerance import Tolerance
from gradtrace.analysis.compare.verdict import Verdict, compare
from gradtrace.annotations import NamedTuple
from gradtrace.trace.record import Trace


class Rank(NamedTuple):
    """One record: its name, and its comparison with the one that most agree with (None: it is that one)."""

    name: str
    found: Verdict | None

    @property
    def first(self) -> Difference | None:
        return self.found.differences[0] if self.found is not None and self.found.differences else None


class Ranks(NamedTuple):
    reference: str
    ranks: tuple[Rank, ...]

    @property
    def same(self) -> bool:
        return all(rank.found is None or rank.found.same for rank in self.ranks)


def ranks(names: list[str], traces: list[Trace], tolerance: Tolerance) -> Ranks:
    """Compare each record with the first one, or with the second if all others part from the first."""
    names = [name if trace.rank is None else f"rank {trace.rank}" for name, trace in zip(names, traces, strict=True)]
    verdicts = against(0, traces, tolerance)
    if not any(verdict.same for verdict in verdicts if verdict is not None):
        others = against(1, traces, tolerance)
        if any(verdict.same for verdict in others if verdict is not None):
            return Ranks(names[1], tuple(map(Rank, names, others)))
    return Ranks(names[0], tuple(map(Rank, names, verdicts)))


def against(chosen: int, traces: list[Trace], tolerance: Tolerance) -> list[Verdict | None]:
    return [None if n == chosen else compare(traces[chosen], trace, tolerance) for n, trace in enumerate(traces)]
