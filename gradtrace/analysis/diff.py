"""Compare two runs: the operations that both have, values and gradients that differ, and operations of only one.

Operations are matched in order, by their name and by the variable that has their result; inputs by their names.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, NamedTuple

from gradtrace.analysis.stats import gradients
from gradtrace.trace.record import TensorRecord, Trace, Value

SAME, CHANGED, FIRST, SECOND = "same", "changed", "only A", "only B"
MANY = 3000  # operations between a common beginning and end that are matched one by one


class Row(NamedTuple):
    """One tensor of either run, or of both. `first` and `second` are its ids in the two runs."""

    status: str
    label: str
    op: str
    first: int | None
    second: int | None
    values: tuple[Value | None, Value | None]
    grads: tuple[Value | None, Value | None]
    value_gap: float | None  # the largest difference of two elements; None where there is nothing to compare
    grad_gap: float | None
    shapes_differ: bool


class Diff(NamedTuple):
    """The result of a comparison: rows in order, the number of operations of each run, and whether only numbers
    differ.
    """

    rows: tuple[Row, ...]
    operations: tuple[int, int]
    same_structure: bool
    same: bool


def diff(a: Trace, b: Trace) -> Diff:
    """Compare two runs, captured with `everything`."""
    grads = gradients(a), gradients(b)
    rows = [row(a, b, i, j, grads) for i, j in matched_inputs(a, b)]
    for i, j in matched_operations(a, b):
        outputs_a = a.operations[i].outputs if i is not None else ()
        outputs_b = b.operations[j].outputs if j is not None else ()
        rows += [row(a, b, first, second, grads) for first, second in zip_longest(outputs_a, outputs_b)]
    structure = all(r.first is not None and r.second is not None and not r.shapes_differ for r in rows)
    return Diff(tuple(rows), (len(a.operations), len(b.operations)), structure, all(r.status == SAME for r in rows))


def matched_inputs(a: Trace, b: Trace) -> list[tuple[int | None, int | None]]:
    """Match the tensors that no operation made by name; match unnamed ones by label."""
    first, second = inputs_of(a), inputs_of(b)
    pairs: list[tuple[int | None, int | None]] = [(i, second.get(label)) for label, i in first.items()]
    return pairs + [(None, j) for label, j in second.items() if label not in first]


def inputs_of(trace: Trace) -> dict[str, int]:
    found: dict[str, int] = {}
    for t in trace.tensors:
        if t.operation is None:
            found.setdefault(t.label, t.id)
    return found


def matched_operations(a: Trace, b: Trace) -> list[tuple[int | None, int | None]]:
    """Return pairs of operations in order, with None for a run that does not have the operation."""
    first, second = [key(a, i) for i in range(len(a.operations))], [key(b, j) for j in range(len(b.operations))]
    head = 0
    while head < min(len(first), len(second)) and first[head] == second[head]:
        head += 1
    tail = 0
    while tail < min(len(first), len(second)) - head and first[-1 - tail] == second[-1 - tail]:
        tail += 1
    pairs: list[tuple[int | None, int | None]] = [(i, i) for i in range(head)]
    pairs += between(first[head : len(first) - tail], second[head : len(second) - tail], head)
    return pairs + [(len(first) - tail + k, len(second) - tail + k) for k in range(tail)]


def between(first: list[Any], second: list[Any], start: int) -> list[tuple[int | None, int | None]]:
    pairs: list[tuple[int | None, int | None]] = []
    if max(len(first), len(second)) > MANY:
        return [(start + i, None) for i in range(len(first))] + [(None, start + j) for j in range(len(second))]
    for _, i, i_end, j, j_end in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        if first[i:i_end] == second[j:j_end]:
            pairs += [(start + i + k, start + j + k) for k in range(i_end - i)]
        else:
            pairs += [(start + k, None) for k in range(i, i_end)] + [(None, start + k) for k in range(j, j_end)]
    return pairs


def key(trace: Trace, operation: int) -> Any:
    """Return the key that matches operations: name and constants, and the variable that has the result."""
    record = trace.operations[operation]
    names = tuple(trace.tensors[i].name for i in record.outputs)
    return record.label, names


def row(a: Trace, b: Trace, i: int | None, j: int | None, grads: tuple[dict[int, Value], dict[int, Value]]) -> Row:
    first = None if i is None else a.tensors[i]
    second = None if j is None else b.tensors[j]
    shown = first or second
    assert shown is not None
    values = (None if first is None else first.value, None if second is None else second.value)
    pair = (None if i is None else grads[0].get(i), None if j is None else grads[1].get(j))
    apart = shape(first) != shape(second) if first and second else False
    status = (
        FIRST
        if second is None
        else SECOND
        if first is None
        else (SAME if values[0] == values[1] and pair[0] == pair[1] and flags(first) == flags(second) else CHANGED)
    )
    return Row(status, shown.label, shown.op or shown.kind, i, j, values, pair, gap(*values), gap(*pair), apart)


def shape(record: TensorRecord | None) -> Any:
    return None if record is None or record.value is None else (record.value.shape, record.value.dtype)


def flags(record: TensorRecord | None) -> Any:
    return None if record is None else (record.requires_grad, record.is_leaf, record.grad_fn)


def gap(first: Value | None, second: Value | None) -> float | None:
    """Return the largest difference of two elements; None where shapes differ or one is missing."""
    if first is None or second is None or first.shape != second.shape or "bool" in (first.dtype, second.dtype):
        return None
    if not first.numel:
        return 0.0
    difference: Any = abs(first.data - second.data)
    return float(difference) if not first.shape else float(difference.max())
