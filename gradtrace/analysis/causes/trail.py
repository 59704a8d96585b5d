"""Follow bad values backwards, from the place where they were noticed to the operations that made them."""

from __future__ import annotations

from gradtrace.analysis.answer import Facts
from gradtrace.analysis.causes.cause import has_inf, operands
from gradtrace.annotations import Callable
from gradtrace.trace.record import Operation, TensorRecord, Value


def back(facts: Facts, tensor: int, is_bad: Callable[[Value | None], bool]) -> tuple[list[Operation], list[int]]:
    """Return the operations that made a bad value of good ones, and the tensors that were given with one, behind
    `tensor`.

    Both are sorted by id, which is the order of creation.
    """
    makers: list[Operation] = []
    given: list[int] = []
    waiting, seen = [tensor], {tensor}
    while waiting:
        at = waiting.pop()
        operation = facts.trace.tensors[at].operation
        escape = facts.flow.origin_of_data.get(facts.flow.tensor(at))
        if operation is None:
            if escape is not None and escape.tensor is not None and is_bad(facts.trace.tensors[escape.tensor].value):
                before = [escape.tensor]
            else:
                given.append(at)
                continue
        else:
            record = facts.trace.operations[operation]
            sources = [o.tensor for o in record.inputs if o.tensor is not None]
            before = [i for i in sources if is_bad(facts.trace.tensors[i].value)]
            if not before:
                makers.append(record)
        for i in before:
            if i not in seen:
                seen.add(i)
                waiting.append(i)
    return sorted(makers, key=lambda o: o.id), sorted(given)


def source_of_inf(facts: Facts, operation: Operation) -> tuple[Operation | None, TensorRecord | None]:
    """Return the source of the first infinity that an operation read: another operation, or an input."""
    for record, value in operands(facts, operation):
        if has_inf(value):
            makers, given = back(facts, record.id, has_inf)
            if makers:
                return makers[0], None
            if given:
                return None, facts.trace.tensors[given[0]]
    return None, None
