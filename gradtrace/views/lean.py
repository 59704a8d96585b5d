"""Replace boxes by marks: transposes of matrices, and the results of folded modules.

transposes(trace, folded, users) -> {tensor: the matrix that it is the transpose of} results(trace,
folded, shown) -> {group: the one tensor that leaves it} bundles(trace, folded, users, shown) ->
{tensor: the node that it comes from, with many others that go the same way} joined(trace, folded,
transposes) -> {tensor: the operation whose only result it is}
"""

from __future__ import annotations

from gradtrace.annotations import Mapping, Sequence
from gradtrace.engine.operators.tables import record_table
from gradtrace.trace.record import FAILED, Operation, TensorRecord, Trace
from gradtrace.views.fold import Fold

BUNDLED = 32  # tensors between two nodes that a picture still shows one by one
TRANSPOSES = record_table("views.lean.TRANSPOSES", frozenset({"t", "transpose", "permute"}))


def transposes(trace: Trace, folded: Fold, users: Sequence[Sequence[int]]) -> dict[int, int]:
    """Return the unnamed transposes of matrices that are drawn as an edge from the matrix, marked
    with a T.

    A transpose inside a group, at which backward started, whose gradient was kept, or that no
    operation reads is not among them.
    """
    matrices: dict[int, int] = {}
    for operation in trace.operations:
        if folded.member[operation.id] is None and is_transpose(trace, operation):
            output = trace.tensors[operation.outputs[0]]
            matrix = next(o.tensor for o in operation.inputs if o.tensor is not None)
            if is_passing(output) and users[output.id] and matrix not in matrices:
                matrices[output.id] = matrix
    return matrices


def is_transpose(trace: Trace, operation: Operation) -> bool:
    """Whether an operation only swaps the two dimensions of a matrix."""
    if operation.name not in TRANSPOSES or len(operation.outputs) != 1:
        return False
    read = [operand.tensor for operand in operation.inputs if operand.tensor is not None]
    before = trace.tensors[read[0]].value if len(read) == 1 else None
    after = trace.tensors[operation.outputs[0]].value
    if before is None or after is None or len(before.shape) != 2:
        return False
    return tuple(after.shape) == tuple(before.shape)[::-1] and "dim=(0, 1)" not in operation.label


def is_passing(tensor: TensorRecord) -> bool:
    """Whether a tensor is only an intermediate one: without a name or a gradient, and not an
    output.
    """
    return may_be_inside(tensor) and not tensor.names and tensor.grad is None


def results(trace: Trace, folded: Fold, shown: Sequence[bool]) -> dict[int, int]:
    """Return the result of each folded module or batch with just one result; its box shows it."""
    by_group: dict[int, int] = {}
    for group in folded.groups:
        if group.kind not in ("module", "batch", "pass"):
            continue
        leaving = [t for i in group.operations for t in trace.operations[i].outputs if shown[t]]
        if len(leaving) == 1 and may_be_inside(trace.tensors[leaving[0]]):
            by_group[group.id] = leaving[0]
    return by_group


def bundles(
    trace: Trace, folded: Fold, users: Sequence[Sequence[int]], shown: Sequence[bool]
) -> dict[int, str]:
    """Return the intermediate tensors of which more than BUNDLED go from one group or operation to
    one other, with the node that they come from; a picture draws one edge with their number.
    """
    ways: dict[tuple[str, str], list[int]] = {}
    for tensor in trace.tensors if folded.groups else ():
        if (
            tensor.operation is None
            or not shown[tensor.id]
            or not may_be_inside(tensor)
            or tensor.grad is not None
        ):
            continue
        readers = {node_of(folded, user) for user in users[tensor.id]}
        to_series = any(is_series(folded, reader) for reader in readers)
        # the name of a loop's variable is in its title
        if len(readers) == 1 and (to_series or not tensor.names):
            ways.setdefault((node_of(folded, tensor.operation), readers.pop()), []).append(
                tensor.id
            )
    return {
        tensor: source
        for (source, target), many in ways.items()
        if len(many) > (1 if is_series(folded, target) else BUNDLED)
        for tensor in many
    }


def is_series(folded: Fold, key: str) -> bool:
    """Whether a node stands for the passes of a loop."""
    return (
        key[0] == "g"
        and folded.groups[int(key[1:])].kind == "pass"
        and folded.groups[int(key[1:])].copies > 1
    )


def node_of(folded: Fold, operation: int) -> str:
    """Return the key of the node that stands for an operation."""
    group = folded.member[operation]
    return f"o{operation}" if group is None else f"g{group}"


def may_be_inside(tensor: TensorRecord) -> bool:
    """Whether a tensor can be shown in another box; an output or a tensor that retains its gradient
    has its own.
    """
    return not (tensor.is_output or tensor.is_root or tensor.retains_grad)


def joined(trace: Trace, folded: Fold, transposed: Mapping[int, int]) -> dict[int, int]:
    """Return operations with one result, by that result; a compact picture shows the operation in
    the result's box.
    """
    return {
        operation.outputs[0]: operation.id
        for operation in trace.operations
        if folded.member[operation.id] is None
        and len(operation.outputs) == 1
        and operation.outputs[0] not in transposed
        and trace.tensors[operation.outputs[0]].kind != FAILED
    }
