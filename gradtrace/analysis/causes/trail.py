"""Follow bad values backwards, from the place where they were noticed to the operations that made
them.

The sign of infinities is found so too, where a record has only statistics of a tensor's elements.
"""

from __future__ import annotations

from math import isinf

from gradtrace.analysis.facts import Facts
from gradtrace.analysis.terms import has_inf, numbers_in, operator
from gradtrace.annotations import Callable
from gradtrace.engine.data.lazy import np
from gradtrace.engine.operators.tables import function_table
from gradtrace.trace.operands import record_of
from gradtrace.trace.record import Operation, TensorRecord, Value

# They store a number as it is.
FILLS = function_table(
    "analysis.causes.trail.FILLS",
    ("masked_fill", "where", "full", "full_like", "index_fill", "copy_"),
)
# Of -inf and finite numbers they make nothing but these.
KEEPING = function_table(
    "analysis.causes.trail.KEEPING",
    (
        "add",
        "clone",
        "contiguous",
        "copy_",
        "index_fill",
        "masked_fill",
        "to",
        "tril",
        "triu",
        "where",
    ),
)


def back(
    facts: Facts, tensor: int, is_bad: Callable[[Value | None], bool]
) -> tuple[list[Operation], list[int]]:
    """Return the operations that made a bad value of good ones, and the tensors that were given
    with one, behind `tensor`.

    Both are sorted by id, which is the order of creation.
    """
    makers: list[Operation] = []
    origins: list[int] = []
    waiting = [tensor]
    seen = {tensor}
    while waiting:
        at = waiting.pop()
        operation = facts.maker(at)
        escape = None if operation else facts.flow.origin_of_data.get(facts.flow.tensor(at))
        sources = operation.tensors if operation else ()
        if escape is not None and escape.tensor is not None:
            sources = (escape.tensor,)
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


def source_of_inf(
    facts: Facts, operation: Operation
) -> tuple[Operation | None, TensorRecord | None]:
    """Return the source of the first infinity that an operation read: another operation, or an
    input.
    """
    for record, value in facts.operands(operation):
        if has_inf(value):
            makers, origins = back(facts, record.id, has_inf)
            if makers:
                return makers[0], None
            if origins:
                return None, facts.tensors[origins[0]]
    return None, None


def is_negative(facts: Facts, tensor: int) -> bool:
    """Whether the infinities of a tensor are known to be -inf: by its elements, or by what made
    them.
    """
    waiting = [tensor]
    for at in waiting:
        value = facts.tensors[at].value
        maker = facts.maker(at)
        if value is not None and value.is_whole:
            if np.any(np.equal(value.data, np.inf)):
                return False
            continue
        earlier = (
            () if maker is None else [i for i in maker.tensors if has_inf(facts.tensors[i].value)]
        )
        if maker is None or not gives_negative(maker, bool(earlier)):
            return False
        waiting += [i for i in earlier if i not in waiting]
    return True


def gives_negative(maker: Operation, is_given: bool) -> bool:
    """Whether an operation has no other infinity than -inf in its result, if those that it is given
    are -inf.
    """
    name = operator(maker)
    record = record_of(maker.name)
    infinities = list(filter(isinf, numbers_in(maker)))
    if any(number > 0 for number in infinities):
        return False
    if not is_given:
        return name.startswith("log") or (
            bool(infinities) and (name in FILLS or maker.name in FILLS)
        )
    return (
        (record is not None and record.kind == "view") or name in KEEPING or maker.name in KEEPING
    )
