"""Stacks of leaves: many tensors that one node alone reads are one box, with the range of their
gradients.

of_data(trace, folded, users, shown) -> [Group], of the data graph
of_functions(trace, homes, users) -> [Group], of the AccumulateGrads of the autograd graph
"""

from __future__ import annotations

from gradtrace.annotations import Iterable, Mapping, Sequence
from gradtrace.trace.record import TensorRecord, Trace
from gradtrace.views.fold import Fold, Group
from gradtrace.views.lean import BUNDLED, node_of

KIND = "leaves"
FEW = 8  # leaves that a folded chain alone reads and a picture still shows one by one


def of_data(
    trace: Trace, folded: Fold, users: Sequence[Sequence[int]], shown: Sequence[bool]
) -> list[Group]:
    """Return the stacks of leaves that a folded chain alone reads, and of those that another node
    alone reads, if they are many.
    """
    chains = {f"g{group.id}" for group in folded.groups if group.kind == "chain"}
    ways: dict[tuple[str, bool], list[int]] = {}
    for tensor in trace.tensors:
        if not may_be_stacked(tensor):
            continue
        readers = {node_of(folded, user) for user in users[tensor.id]}
        reader = readers.pop() if len(readers) == 1 else ""
        if reader and (shown[tensor.id] or reader in chains):
            ways.setdefault((reader, tensor.requires_grad), []).append(tensor.id)
    return stacked(
        trace,
        folded,
        ((ids, FEW if reader in chains else BUNDLED) for (reader, _), ids in ways.items()),
    )


def of_functions(trace: Trace, folded: Fold, users: Mapping[int, set[str]]) -> list[Group]:
    """Return the stacks of leaves whose AccumulateGrads one node alone sends gradients to."""
    ways: dict[str, list[int]] = {}
    for function in trace.functions:
        around = users.get(function.id, set())
        if (
            function.variable is not None
            and len(around) == 1
            and may_be_stacked(trace.tensors[function.variable])
        ):
            ways.setdefault(next(iter(around)), []).append(function.variable)
    return stacked(
        trace, folded, ((ids, FEW if reader[0] == "g" else BUNDLED) for reader, ids in ways.items())
    )


def may_be_stacked(tensor: TensorRecord) -> bool:
    own = tensor.is_parameter or tensor.is_output or tensor.is_root
    return (
        tensor.operation is None and not own and (tensor.name is not None or tensor.requires_grad)
    )


def stacked(trace: Trace, folded: Fold, repeats: Iterable[tuple[list[int], int]]) -> list[Group]:
    stacks: list[Group] = []
    for ids, most in repeats:
        if len(ids) > most:
            name = f"{trace.tensors[ids[0]].label} … {trace.tensors[ids[-1]].label}"
            number = len(folded.groups) + len(stacks)
            stacks.append(Group(number, KIND, name, "", (), len(ids), None, tuple(ids)))
    return stacks


def text_of(trace: Trace, group: Group) -> str:
    """Return how many leaves a stack has: "200 leaves, 2 of them without a gradient"."""
    tensors = [trace.tensors[i] for i in group.leaves]
    noun = "leaves" if tensors[0].requires_grad else "leaves without grad"
    without = sum(t.grad is None for t in tensors) if tensors[0].requires_grad else 0
    if not without:
        none = ""
    else:
        none = ", grad None" if without == len(tensors) else f", grad None in {without:,}"
    return f"{len(tensors):,} {noun}{none}"


def ends_of(trace: Trace, group: Group, gradients: bool) -> tuple[float, float] | None:
    """Return the smallest and the largest element of a stack's values, or of its gradients; None if
    none is known.
    """
    tensors = [trace.tensors[i] for i in group.leaves]
    values = [t.grad if gradients else t.value for t in tensors]
    summaries = [v.summary for v in values if v is not None]
    low = [float(s.minimum) for s in summaries if s.minimum is not None]
    high = [float(s.maximum) for s in summaries if s.maximum is not None]
    return (min(low), max(high)) if low and high else None
