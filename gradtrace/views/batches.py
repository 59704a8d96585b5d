"""Fold what only gathers data: a DataLoader takes each sample by itself and stacks them, 32 boxes
beside a small net.

batches(trace) -> [[0, 2, 4, 6]]            the operations behind each batch, the last one gathers
with_batches(trace, fold, batches) -> Fold   each of them as one group
"""

from __future__ import annotations

from gradtrace.annotations import Sequence
from gradtrace.trace.record import Operation, Trace
from gradtrace.views.fold import Fold, Group

FEWEST = 8  # tensors that are gathered; fewer are shown one by one


def batches(trace: Trace) -> list[list[int]]:
    """Return the operations of each batch: one without a gradient that reads many results, and what
    only made these.
    """
    gathering = [
        o
        for o in trace.operations
        if o.grad_fn is None and len(o.outputs) == 1 and len(o.inputs) >= FEWEST
    ]
    if not gathering:
        return []
    readers: dict[int, list[int]] = {}
    for operation in trace.operations:
        for tensor in operation.tensors:
            readers.setdefault(tensor, []).append(operation.id)
    groups = [made_for(trace, operation, readers) for operation in gathering]
    return [sorted(inside) for inside in groups if inside]


def made_for(trace: Trace, last: Operation, readers: dict[int, list[int]]) -> set[int]:
    """Return an operation and those that only it uses, if these made at least FEWEST of its
    operands and all of them; else nothing.
    """
    if len(set(last.tensors)) < FEWEST:
        return set()
    inside = {last.id}
    waiting = [last]
    for operation in waiting:  # which grows
        makers = {
            producer
            for t in operation.tensors
            if (producer := trace.tensors[t].operation) is not None
        }
        for index in sorted(makers - inside, reverse=True):
            maker = trace.operations[index]
            if is_only_for(trace, maker, last, inside, readers):
                inside.add(index)
                waiting.append(maker)
    return inside if all(trace.tensors[t].operation in inside for t in last.tensors) else set()


def is_only_for(
    trace: Trace, maker: Operation, last: Operation, inside: set[int], readers: dict[int, list[int]]
) -> bool:
    """Whether an operation has no gradient, the scope of `last`, and no unread, named or otherwise
    used result.
    """
    outputs = [trace.tensors[i] for i in maker.outputs]
    if (
        maker.grad_fn is not None
        or maker.scope != last.scope
        or any(t.names or t.is_output or t.is_root for t in outputs)
    ):
        return False
    return all(readers.get(t.id) and inside.issuperset(readers[t.id]) for t in outputs)


def with_batches(trace: Trace, fold: Fold, gathered: Sequence[list[int]]) -> Fold:
    """Return the fold with a group for each batch whose operations it shows."""
    member = list(fold.member)
    groups = list(fold.groups)
    for ids in gathered:
        if any(member[i] is not None for i in ids):
            continue
        last = trace.operations[ids[-1]]
        name = f"{last.name} of {len(last.tensors)}"
        groups.append(Group(len(groups), "batch", name, "", tuple(ids), 1, fold.places[last.id]))
        for i in ids:
            member[i] = groups[-1].id
    return fold._replace(groups=tuple(groups), member=tuple(member))
