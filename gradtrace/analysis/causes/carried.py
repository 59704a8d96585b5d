"""Explain graphs that are carried from one step of a loop into the next by a hidden state, a sum of losses or a
buffer.
"""

from __future__ import annotations

from gradtrace.analysis import places
from gradtrace.analysis.answer import Facts
from gradtrace.analysis.causes.cause import (
    Cause,
    at_line,
    inside,
    loads,
    loop_around,
    named,
    operator,
    scopes_of,
    spans_of,
    stores,
)
from gradtrace.annotations import Any, NamedTuple
from gradtrace.trace.record import Change, FunctionRecord, Operation, PassRecord


class Crossing(NamedTuple):
    """The place where a later pass's graph reads a result of an earlier pass's graph, and the name of the result."""

    tensor: int
    maker: Operation
    reader: Operation
    name: str
    made: Any  # the statements
    read: Any


def crossing(facts: Facts, failed: PassRecord, earlier: PassRecord) -> Crossing | None:
    """Find the first operation behind the failed pass's roots that reads a result from before the earlier pass."""
    found: list[tuple[Operation, int]] = []
    waiting, seen = list(failed.roots), set(failed.roots)
    while waiting:
        at = waiting.pop()
        made = facts.trace.tensors[at].operation
        operation = None if made is None else facts.trace.operations[made]
        if operation is None or operation.id < earlier.after:
            continue
        for operand in operation.inputs:
            record = None if operand.tensor is None else facts.trace.tensors[operand.tensor]
            if record is None or record.id in seen:
                continue
            seen.add(record.id)
            waiting.append(record.id)
            if record.requires_grad and not record.is_leaf and (record.operation or 0) < earlier.after:
                found.append((operation, record.id))
    if not found:
        return None
    reader, tensor = min(found, key=lambda one: one[0].id)
    maker = facts.trace.operations[facts.trace.tensors[tensor].operation or 0]
    return with_name(facts, tensor, maker, reader)


def with_name(facts: Facts, tensor: int, maker: Operation, reader: Operation) -> Crossing:
    """Return the Crossing with its name: the one that the maker's statement binds and the reader's statement reads."""
    made = [facts.text.statement(span) for span in spans_of(facts, maker)]
    read = [facts.text.statement(span) for span in spans_of(facts, reader)]
    for reading in reversed(read):
        for making in reversed(made):
            if reading is None or making is None or hasattr(reading, "body") or hasattr(making, "body"):
                continue
            common = sorted(stores(making) & loads(reading))
            if common:
                return Crossing(tensor, maker, reader, common[0], making, reading)
    own = named(facts, tensor)
    return Crossing(tensor, maker, reader, own, made[0], read[0])


def step_of_pass(facts: Facts, one: PassRecord) -> int | None:
    return next((s.number for s in facts.trace.training if s.passes[0] <= one.number < s.passes[1]), None)


def over_steps(facts: Facts, earlier: PassRecord, failed: PassRecord) -> str:
    """Return "from step 1 into step 2", or "over" outside of a numbered loop."""
    first, last = step_of_pass(facts, earlier), step_of_pass(facts, failed)
    return f"from step {first} into step {last}" if first is not None and last is not None and first != last else (
        "from one turn of the loop into the next"
    )  # fmt: skip


def latest_before(facts: Facts, failed: PassRecord) -> PassRecord | None:
    return next((p for p in reversed(facts.trace.passes[: failed.number]) if p.stores and not p.error), None)


def used_again(facts: Facts, function: FunctionRecord | None) -> Cause | None:
    """Explain a second backward through a graph that an earlier pass has freed, by the variable that carried it
    over.
    """
    failed = next((one for one in reversed(facts.trace.passes) if one.error), None)
    first = (
        None
        if function is None
        else next((s for s in facts.trace.steps if s.function == function.id and s.freed), None)
    )
    if failed is None or function is None:
        return None
    earlier = facts.trace.passes[first.number] if first is not None else latest_before(facts, failed)
    cross = None if earlier is None else crossing(facts, failed, earlier)
    if cross is None or earlier is None or cross.read is None:
        return None
    head = places.head_of(cross.read)
    loop, name = loop_around(facts, cross.read), cross.name
    carried = cross.made is cross.read or (cross.made is not None and loop is not None and inside(cross.made, loop))
    if turn_of(facts, cross.maker) == turn_of(facts, cross.reader):
        return twice_in_a_turn(facts, cross, earlier, failed)
    how = (
        f"line {head.line} carries {name} {over_steps(facts, earlier, failed)}"
        if carried
        else f"{name} was computed once, on line {places.head_of(cross.made).line if cross.made else '?'}, and "
        f"line {head.line} uses it again"
    )
    text = f"{name} is read here, with the graph of an earlier pass"
    evidence = (
        facts.at(text, head),
        facts.at("the first backward frees it", earlier.span),
        facts.at("the second backward needs it again", failed.span),
    )
    return Cause(
        "freed",
        "",
        f"{name}'s graph was used a second time: the backward{at_line(earlier.span)} had freed it, and {how}",
        head,
        evidence,
        fixes(facts, cross, loop, carried),
        None,
        "failed",
        name,
    )


def turn_of(facts: Facts, operation: Operation) -> int | None:
    """Return the iteration of a loop that an operation ran in; if the run's loops are not recorded, the training
    step.
    """
    turn: int | None = next((s.id for s in scopes_of(facts, operation) if s.kind == "pass"), None)
    if turn is not None:
        return turn
    at = operation.id
    return next((-s.number for s in facts.trace.training if s.operations[0] <= at < s.operations[1]), None)


def twice_in_a_turn(facts: Facts, cross: Crossing, earlier: PassRecord, failed: PassRecord) -> Cause:
    """Explain two losses that share a graph, with a backward for each: the first one frees what both need."""
    name, head = cross.name, places.head_of(cross.read)
    made = cross.maker.span if cross.made is None else places.head_of(cross.made)
    first = next(
        (facts.trace.operations[r] for r in facts.flow.readers.get(cross.tensor, ()) if r < earlier.after), None
    )
    used = None if first is None else spans_of(facts, first)[-1]
    fix = [f"{name}.detach(){at_line(used)}, if its backward should stop there"] if used is not None else []
    return Cause(
        "freed",
        "",
        f"{name}'s graph was used a second time: the backward{at_line(earlier.span)} had freed it, and line "
        f"{head.line} uses {name}, made{at_line(made)}, again",
        head,
        (
            facts.at(f"{name} is made here", made),
            facts.at("the first backward frees its graph", earlier.span),
            facts.at(f"{name} is used again", head),
            facts.at("the second backward needs it again", failed.span),
        ),
        (*fix, f"or backward(retain_graph=True){at_line(earlier.span)}; or one backward of the sum of both losses"),
        None,
        "failed",
        name,
    )


def fixes(facts: Facts, cross: Crossing, loop: Any, carried: bool) -> tuple[str, ...]:
    name = cross.name
    if not carried and "." in name:
        return (f"compute {name} where it is used, in forward: {facts.text.cut(cross.made)}",)
    if not carried:
        made = facts.text.cut(cross.made) if cross.made is not None else name
        return (f"compute it inside of the loop, before backward: {made}", f"or {name} = {name}.detach()")
    if is_sum(facts, cross):
        return (
            f"call backward on the loss of this step alone, and sum its number: {name} += loss.item()",
            f"or set {name} = 0 at the start of each turn of the loop",
        )
    if name.endswith("]"):
        base = name.partition("[")[0]
        return (
            f"{base} = [] at the start of each turn: only the losses of this turn",
            f"or keep numbers in it: {base}.append(loss.detach())",
        )
    detached = f"{name} = {name}.detach()"
    if "LSTM" in facts.trace.source_text and operator(cross.maker) != "gru":
        detached += f" (of a tuple: tuple(s.detach() for s in {name}))"
    if "." in name:
        return (f"{detached}, before line {cross.read.lineno} reads it",)
    where = f"line {loop.lineno + 1}" if loop is not None else f"line {cross.read.lineno}"
    return (
        f"{detached} at the start of each turn ({where})",
        "retain_graph=True would go back through all earlier steps, each time further",
    )


def is_sum(facts: Facts, cross: Crossing) -> bool:
    """Whether the carried variable is a running sum on which backward is called."""
    failed = [p for p in facts.trace.passes if p.error]
    ends = [i for p in failed for i in p.roots]
    return cross.read is cross.made and operator(cross.reader) == "add" and any(i in ends for i in cross.reader.outputs)


def changed_since(facts: Facts, function: FunctionRecord, change: Change) -> Cause | None:
    """Explain an optimiser's step that changed weights which a graph from an earlier step still needs."""
    failed = next((one for one in reversed(facts.trace.passes) if one.error), None)
    earlier = None if failed is None else latest_before(facts, failed)
    cross = None if failed is None or earlier is None else crossing(facts, failed, earlier)
    if failed is None or earlier is None or cross is None or cross.read is None:
        return None
    if facts.flow.maker.get(cross.tensor, 0) < 0 or change.how != "step":
        return None
    head = places.head_of(cross.read)
    loop, name = loop_around(facts, cross.read), cross.name
    kept = " (retain_graph=True keeps that graph, not the weights)" if earlier.keep else ""
    evidence = (
        facts.at(f"{name} is read here, with the graph of an earlier step", head),
        facts.at("the step changes the weights that this graph needs", change.span),
        facts.backward(failed),
    )
    carried = cross.made is cross.read or (cross.made is not None and loop is not None and inside(cross.made, loop))
    return Cause(
        "carried over",
        "",
        f"line {head.line} carries {name} and its graph {over_steps(facts, earlier, failed)}, and "
        f"{change.text or 'the step'}{at_line(change.span)} has changed the weights in place since{kept}",
        head,
        evidence,
        fixes(facts, cross, loop, carried)[:1] + ("then backward() needs no retain_graph=True",) * earlier.keep,
        None,
        "failed",
        name,
    )
