"""Laws of writes: a write brings other numbers, and something reads them."""

from __future__ import annotations

import math

from gradtrace.analysis import places
from gradtrace.analysis.cause import Cause
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.ledger.book import Ledger
from gradtrace.analysis.ledger.parameters import ParameterEntry
from gradtrace.analysis.terms import named
from gradtrace.analysis.words import folded
from gradtrace.annotations import Any, Iterator
from gradtrace.engine.operators.tables import record_table
from gradtrace.program import syntax as ast
from gradtrace.trace.record import Change, Operation, Span, TensorId

ARITHMETIC = ("add_", "sub_", "mul_", "div_")
# operators of which a result shares the memory of its tensor
PARTS = record_table("analysis.laws.writes.PARTS", ("index", "slice", "select"))
COPIES = ("copy_", "add_", "lerp_")


def copies_differ(ledger: Ledger) -> Iterator[Cause]:
    """A copy, or a part of a mean, comes from other memory (a remark).

    state_dict() refers to the parameters: what a program keeps of it follows the training.
    """
    facts = ledger.facts
    for change, operation in writes(facts):
        if operation.name not in COPIES or len(operation.tensors) != 2:
            continue
        held = facts.held(change)
        if not held.issuperset(operation.tensors):
            continue
        whole = max(math.prod(facts.tensors[i].shape) for i in held)
        if any(math.prod(facts.tensors[i].shape) != whole for i in operation.tensors):
            continue
        name = named(facts, operation.tensors[0])
        how = "copies" if operation.name == "copy_" else "adds"
        onto = "onto" if operation.name == "copy_" else "to"
        yield Cause(
            "copied onto itself",
            f"{facts.statement(change)}{facts.at_line(change.span)} {how} {name} {onto} itself, "
            f"and nothing earlier comes back{two_names(facts, held)}",
            (facts.at("the numbers stay as they are", change.span),),
        )
        return


def two_names(facts: Facts, tensors: frozenset[TensorId]) -> str:
    """Return a clause that says which names of the program are one object, if the text gives the
    module of these tensors two; else "".
    """
    names = [name for name, i in facts.names.items() if i in tensors]
    parts = {part for name in names for part in name.split(".")[:-1]}
    sources: dict[str, list[Any]] = {}
    for s in facts.text.simple:
        if isinstance(s, ast.Assign) and isinstance(s.value, ast.Name):
            sources.setdefault(s.value.id, []).append(s)
    for source, statements in sources.items():
        targets = [facts.text.cut(s.targets[0]) for s in statements]
        if source in parts or parts & {target.rpartition(".")[2] for target in targets}:
            place = facts.at_line(places.head_of(statements[-1]))
            return f": {folded([source, *targets], 'names')} are one object{place}"
    return ""


def additions_return(ledger: Ledger) -> Iterator[Cause]:
    """What a program adds to trained parameters beside the steps is taken away again (a remark)."""
    facts = ledger.facts
    lines: dict[Span | None, list[ParameterEntry]] = {}
    for entry in ledger.trained:
        spans = {change.span for change in entry.others}
        if len(spans) == 1 and len(entry.others) > 1 and len(entry.updates) > 1:
            lines.setdefault(spans.pop(), []).append(entry)
    for span, entries in lines.items():
        change = entries[0].others[-1]
        operation = None if change.operation is None else facts.operations[change.operation]
        if operation is not None and operation.name in ("add_", "sub_"):
            labels = [facts.tensors[entry.leaf].label for entry in entries]
            yield Cause(
                "addition stays",
                f"{facts.statement(change)}{facts.at_line(span)} changes "
                f"{folded(labels, 'parameters')} in each step, and nothing takes that back",
                (facts.at("changed here, beside the optimiser's steps", span),),
            )


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
                f"{facts.statement(change)}{facts.at_line(change.span)} writes to "
                f"{named(facts, source)}, which {results[0].name}{facts.at_line(results[0].span)} "
                "has computed from parameters, and nothing reads it afterwards",
                (facts.at("the parameters stay as they are", change.span),),
            )
            return


def data_stays(ledger: Ledger) -> Iterator[Cause]:
    """What a program computes in place on a part of its data in several steps does not change the
    data (a remark).

    An item that is assigned is meant to be written: `buffer[i] = x`.
    """
    facts = ledger.facts
    lines: dict[tuple[Span | None, TensorId], list[Change]] = {}
    steps: dict[tuple[Span | None, TensorId], set[int | None]] = {}
    for change, operation in writes(facts):
        if operation.name not in ARITHMETIC or not operation.tensors:
            continue
        part = facts.tensors[operation.tensors[0]]
        view = facts.maker(part.first)
        if view is not None and view.name in PARTS and view.tensors:
            source = facts.tensors[view.tensors[0]]
            if source.is_leaf and not source.requires_grad and not source.is_parameter:
                key = change.span, source.first
                lines.setdefault(key, []).append(change)
                steps.setdefault(key, set()).add(facts.step_number(operation))
    for key, changes in lines.items():
        span, whole = key
        if len(steps[key] - {None}) > 1:
            yield Cause(
                "data changed",
                f"{facts.text.line(span) or changes[0].text}{facts.at_line(span)} changes "
                f"{named(facts, whole)}, of which it has a part, {len(changes)} times",
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
