"""Laws of writes: a write brings other numbers, and something reads them."""

from __future__ import annotations

import math

from gradtrace.analysis.cause import Cause
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.ledger.book import Ledger
from gradtrace.analysis.terms import named
from gradtrace.annotations import Iterator
from gradtrace.engine.operators.tables import record_table
from gradtrace.trace.record import Change, Operation, Span, TensorId

ARITHMETIC = ("add_", "sub_", "mul_", "div_")
# operators of which a result shares the memory of its tensor
PARTS = record_table("analysis.laws.writes.PARTS", ("index", "slice", "select"))
OFTEN = 8  # writes of one line


def copies_differ(ledger: Ledger) -> Iterator[Cause]:
    """A copy brings the numbers of other memory (a remark).

    state_dict() refers to the parameters: what a program keeps of it follows the training.
    """
    facts = ledger.facts
    for change, operation in writes(facts):
        if operation.name != "copy_" or len(operation.tensors) != 2:
            continue
        held = facts.held(change)
        if not held.issuperset(operation.tensors):
            continue
        whole = max(math.prod(facts.tensors[i].shape) for i in held)
        if all(math.prod(facts.tensors[i].shape) == whole for i in operation.tensors):
            yield Cause(
                "copied onto itself",
                f"{change.text or change.how}{facts.at_line(change.span)} copies "
                f"{named(facts, operation.tensors[0])} onto itself: what it is copied from has the "
                "same memory, and nothing earlier comes back",
                (facts.at("the numbers stay as they are", change.span),),
            )
            return


def writes_read(ledger: Ledger) -> Iterator[Cause]:
    """What is written into a result of parameters is read by something (a remark)."""
    facts = ledger.facts
    escaped = {escape.tensor for escape in facts.trace.escapes if escape.how != "data"}
    roots = {root for pass_ in facts.passes for root in pass_.roots}
    last = {id(change.tensors): (change, operation) for change, operation in writes(facts)}
    for change, operation in last.values():
        held = facts.held(change)
        makers = [maker for i in held if (maker := facts.maker(i)) is not None]
        results = [maker for maker in makers if reads_parameters(facts, maker)]
        # of versions of one tensor the readers are the same
        tensors = set(map(facts.flow.tensor, held))
        readers = [reader for i in tensors for reader in facts.readers(i)]
        if (
            results
            and held.isdisjoint(escaped | roots)
            and held.isdisjoint((*facts.trace.outputs, *facts.trace.roots))
            and not any(name in held for name in facts.names.values())
            and not any(facts.tensors[i].is_parameter for i in held)
            and all(held.issuperset(reader.outputs) for reader in readers)
        ):
            source = operation.tensors[0] if operation.tensors else min(held)
            yield Cause(
                "unread write",
                f"{change.text or change.how}{facts.at_line(change.span)} writes to "
                f"{named(facts, source)}, which {results[0].name}{facts.at_line(results[0].span)} "
                "has computed from parameters, and nothing reads it afterwards",
                (facts.at("the parameters stay as they are", change.span),),
            )
            return


def data_stays(ledger: Ledger) -> Iterator[Cause]:
    """What a program computes in place on a part of its data does not change the data (a remark).

    An item that is assigned is meant to be written: `buffer[i] = x`.
    """
    facts = ledger.facts
    lines: dict[Span | None, list[tuple[Change, TensorId]]] = {}
    for change, operation in writes(facts):
        if operation.name not in ARITHMETIC or not operation.tensors:
            continue
        part = facts.tensors[operation.tensors[0]]
        view = facts.maker(part.first)
        if view is not None and view.name in PARTS and view.tensors:
            source = facts.tensors[view.tensors[0]]
            if source.is_leaf and not source.requires_grad and not source.is_parameter:
                lines.setdefault(change.span, []).append((change, source.id))
    for span, entries in lines.items():
        change, whole = entries[0]
        if len(entries) >= OFTEN:
            yield Cause(
                "data changed",
                f"{facts.text.line(span) or change.text}{facts.at_line(span)} changes "
                f"{named(facts, whole)}, of which it has a part, {len(entries)} times",
                (facts.at("the data is changed here", span),),
            )
            return


def writes(facts: Facts) -> Iterator[tuple[Change, Operation]]:
    """Yield the writes to values by operations."""
    for change in facts.trace.changes:
        if not change.of_grad and change.operation is not None:
            yield change, facts.operations[change.operation]


def reads_parameters(facts: Facts, operation: Operation) -> bool:
    return any(facts.tensors[i].is_parameter for i in operation.tensors)
