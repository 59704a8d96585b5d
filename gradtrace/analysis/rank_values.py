"""The comparison of two ranks' operations."""

from __future__ import annotations

import itertools

from gradtrace.analysis.cause import Evidence
from gradtrace.analysis.facts import Facts
from gradtrace.annotations import Any, Iterator
from gradtrace.trace.record import Operation


def parting(a: Facts, b: Facts, rank: int, other: int) -> Iterator[Evidence]:
    """Yield the first operation of each of two ranks that the other one does not have at that place."""
    for one, two in itertools.zip_longest(a.operations, b.operations):
        if one is None or two is None or signature(one) != signature(two):
            if one is not None:
                yield a.at(f"rank {rank} goes on here ({one.name})", one.span)
            if two is not None:
                yield b.at(f"rank {other} goes on here ({two.name})", two.span)
            return


def signature(operation: Operation) -> tuple[Any, ...]:
    span = operation.span
    return operation.name, None if span is None else (span.file, span.line)
