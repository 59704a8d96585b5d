"""Follow bad values backwards, from the place where they were noticed to the operations that made them."""

from __future__ import annotations

from gradtrace.analysis.facts import Facts
from gradtrace.analysis.terms import has_inf
from gradtrace.annotations import Callable
from gradtrace.trace.record import Operation, TensorRecord, Value


def back(facts: Facts, tensor: int, is_bad: Callable[[Value | None], bool]) -> tuple[list[Operation], list[int]]:
    """Return the operations that made a bad value of good ones, and the tensors that were given with one, behind
    `tensor`.

    Both are sorted by id, which is the order of creation.
    """
    makers: list[Operation] = []
    origins: list[int] = []
    waiting, seen = [tensor], {tensor}
    while waiting:
        at = waiting.pop()
        operation = facts.maker(at)
        escape = None if operation else facts.flow.origin_of_data.get(facts.flow.tensor(at))
        sources = (
            operation.tensors if operation else () if escape is None or escape.tensor is None else (escape.tensor,)
        )
        before = [i for i in sources if is_bad(facts.tensors[i].value)]
        if not before and operation is not None:
            makers.append(operation)
        elif not before:
            origins.append(at)
        for i in before:
            if i not in seen:
                seen.add(i)
                waiting.append(i)
    return sorted(makers, key=lambda o: o.id), sorted(origins)


def source_of_inf(facts: Facts, operation: Operation) -> tuple[Operation | None, TensorRecord | None]:
    """Return the source of the first infinity that an operation read: another operation, or an input."""
    for record, value in facts.operands(operation):
        if has_inf(value):
            makers, origins = back(facts, record.id, has_inf)
            if makers:
                return makers[0], None
            if origins:
                return None, facts.tensors[origins[0]]
    return None, None
