"""Find the tensors of a record whose rows are the samples of a batch: row 3 is computed from sample
3.
"""

from __future__ import annotations

from math import prod

from gradtrace.analysis.facts import Facts, is_finite
from gradtrace.annotations import Iterable
from gradtrace.engine.operators.tables import function_table, record_table
from gradtrace.trace.operands import record_of
from gradtrace.trace.record import Operation

# Operators without a record of their own, and others than those of their kind, that keep the rows
# of their first operand in order; an embedding those of its second one.
KEEPING = function_table(
    "analysis.rows.KEEPING",
    (
        "cat",
        "conv1d",
        "conv2d",
        "conv3d",
        "cross_entropy",
        "dropout",
        "embedding",
        "flatten",
        "linear",
        "take_along_dim",
    ),
)
# They keep the rows unless they choose among them.
GATHERING = function_table("analysis.rows.GATHERING", ("gather", "take_along_dim", "index_select"))
# They share a kind with others that keep the order, and may take the first operand's rows as the
# columns.
MIXING = function_table("analysis.rows.MIXING", ("addbmm", "addmm", "einsum", "outer", "tensordot"))
IN_ORDER = record_table("analysis.rows.IN_ORDER", ("reshape", "slice", "unsqueeze", "view"))
BY_ELEMENT = ("elementwise", "fill", "random", "normalization", "scan")
OF_FIRST = ("contraction", "window", "loss")


def read_with_parameters(facts: Facts) -> set[int]:
    """Return the data that an operation reads together with a parameter: the batches."""
    batches: set[int] = set()
    for operation in facts.operations:
        read = [facts.tensors[i] for i in operation.tensors]
        if any(t.is_parameter for t in read):
            origins = [facts.tensors[t.first] for t in read]
            batches.update(
                t.id
                for t in origins
                if t.operation is None and not t.requires_grad and not t.is_parameter
            )
    return batches


def rows_of(facts: Facts, batch: Iterable[int]) -> set[int]:
    """Return the tensors whose rows are those of the tensors of a batch, in their order, as far as
    that is certain.
    """
    origins = {facts.tensors[i].first for i in batch}
    tensors = {t.id for t in facts.tensors if t.first in origins and t.operation is None}
    for operation in facts.operations:
        kept = [
            i
            for place, i in enumerate(operation.tensors)
            if i in tensors and may_keep(operation, place)
        ]
        for output in operation.outputs if kept or operation.name.endswith("_") else ():
            is_same = facts.tensors[output].first in origins and operation.name.endswith("_")
            if is_same or any(keeps(facts, operation, i, output) for i in kept):
                tensors.add(output)
                if facts.tensors[output].first == output:
                    origins.add(output)
    return tensors


def is_brought(facts: Facts, tensor: int, rows: set[int]) -> bool:
    """Whether an operand beside the batch brought what is not finite, row by row, into a result."""
    maker = facts.maker(tensor)
    record = None if maker is None else record_of(maker.name)
    if maker is None or record is None or record.kind not in BY_ELEMENT:
        return False
    return any(not is_finite(facts.tensors[i].value) for i in maker.tensors if i not in rows)


def may_keep(operation: Operation, place: int) -> bool:
    record = record_of(operation.name)
    if operation.name in KEEPING:
        return place == 0 or operation.name in ("cat", "embedding")
    if record is None or operation.name in MIXING:
        return False
    # into a part of the first operand
    is_written = operation.name == "copy_" and len(operation.constants) > 0
    return place == 0 or (record.kind in BY_ELEMENT and not is_written)


def keeps(facts: Facts, operation: Operation, operand: int, result: int) -> bool:
    """Whether the rows of a result are those of an operand, in their order."""
    before = facts.tensors[operand].shape
    after = facts.tensors[result].shape
    if not before or not after or before[0] != after[0]:
        return False
    record = record_of(operation.name)
    kind = "" if record is None else record.kind
    # no other dimension can have taken the place of the first
    is_only = before[0] not in before[1:]
    if kind == "view":
        return prod(before) >= prod(after) and (
            is_only or (operation.name in IN_ORDER and len(before) <= len(after))
        )
    if kind == "reduction":
        return is_only or len(before) == len(after)
    if kind in BY_ELEMENT or operation.name == "cat":
        return len(before) == len(after)
    if operation.name in ("embedding", "flatten"):
        return True
    if operation.name in GATHERING:
        dim = operation.option("dim") or next(iter(operation.constants), "0")
        return len(before) == len(after) and dim not in ("0", str(-len(before)))
    return (kind in OF_FIRST or record is None) and (len(before) > 1 or kind == "loss")
