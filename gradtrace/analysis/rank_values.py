"""The comparison of two ranks' operations."""

from __future__ import annotations

import itertools

from gradtrace.analysis.cause import Evidence
from gradtrace.analysis.facts import Facts
from gradtrace.annotations import Any, Iterator
from gradtrace.trace.record import Operation


def parting(a: Facts, b: Facts, rank: int, other: int) -> Iterator[Evidence]:
    """Yield the first operation of each of two ranks that the other one does not have at that place."""
    for ours, theirs in itertools.zip_longest(a.operations, b.operations):
        if ours is None or theirs is None or signature(ours) != signature(theirs):
            if ours is not None:
                yield a.at(f"rank {rank} goes on here ({ours.name})", ours.span)
            if theirs is not None:
                yield b.at(f"rank {other} goes on here ({theirs.name})", theirs.span)
            return


def signature(operation: Operation) -> tuple[Any, ...]:
    span = operation.span
    return operation.name, None if span is None else (span.file, span.line)
