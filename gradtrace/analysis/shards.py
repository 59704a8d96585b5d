"""The norms of whole parameters that several ranks hold in parts, from the sums of squares in each one's record."""

from __future__ import annotations

from gradtrace.analysis.ranks import by_rank
from gradtrace.annotations import NamedTuple, Sequence
from gradtrace.trace.record import Shard, Trace


class WholeNorms(NamedTuple):
    """A parameter with the norms of all its parts together; None if a part is missing or was not measured."""

    name: str
    shape: tuple[int, ...]
    placement: str
    norm: float | None
    grad_norm: float | None
    missing: int  # parts without a record


def whole_norms(traces: Sequence[Trace]) -> list[WholeNorms]:
    """Return the norms of each parameter that these records have in parts."""
    parts: dict[str, list[Shard]] = {}
    for facts in by_rank(traces).values():
        for shard in facts.trace.shards:
            parts.setdefault(shard.name, []).append(shard)
    return [combined(some) for some in parts.values()]


def combined(parts: Sequence[Shard]) -> WholeNorms:
    first = parts[0]
    missing = max(0, first.processes - len(parts))
    norm, grad = (
        None if missing else norm_of([getattr(shard, which) for shard in parts], first.copies)
        for which in ("squares", "grad_squares")
    )
    return WholeNorms(first.name, first.shape, first.placement, norm, grad, missing)


def norm_of(squares: Sequence[float | None], copies: int) -> float | None:
    """Return the norm of parts of which each stands in `copies` records."""
    present = [square for square in squares if square is not None]
    return None if len(present) < len(squares) else float((sum(present) / copies) ** 0.5)
