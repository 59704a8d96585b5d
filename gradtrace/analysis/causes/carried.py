"""Explain graphs that are carried from one step of a loop into the next by a hidden state, a sum of
losses or a buffer, and results that keep the graph of every step.
"""

from __future__ import annotations

from gradtrace.analysis import places
from gradtrace.analysis.cause import Cause, Fix
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.terms import (
    assigned_name,
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
from gradtrace.program import syntax as ast
from gradtrace.trace.record import Change, FunctionRecord, Operation, PassRecord, Span


class Crossing(NamedTuple):
    """The place where a later pass's graph reads a result of an earlier pass's graph, and the name
    of the result.
    """

    tensor: int
    maker: Operation
    reader: Operation
    name: str
    making: Any  # the statements
    read: Any
    earlier: PassRecord
    failed: PassRecord


def crossing(
    facts: Facts, failed: PassRecord | None, earlier: PassRecord | None
) -> Crossing | None:
    """Find the first operation behind the failed pass's roots that reads a result from before the
    earlier pass.
    """
    if failed is None or earlier is None:
        return None
    reads: list[tuple[Operation, int]] = []
    waiting = list(failed.roots)
    seen = set(failed.roots)
    while waiting:
        operation = facts.maker(waiting.pop())
        if operation is None or operation.id < earlier.after:
            continue
        for tensor in operation.tensors:
            record = facts.tensors[tensor]
            if tensor in seen:
                continue
            seen.add(tensor)
            waiting.append(tensor)
            if (
                record.requires_grad
                and not record.is_leaf
                and (record.operation or 0) < earlier.after
            ):
                reads.append((operation, tensor))
    if not reads:
        return None
    reader, tensor = min(reads, key=lambda read: read[0].id)
    maker = facts.maker(tensor) or facts.operations[0]
    name, statement, read = with_name(facts, tensor, maker, reader)
    return (
        None
        if read is None
        else Crossing(tensor, maker, reader, name, statement, read, earlier, failed)
    )


def with_name(
    facts: Facts, tensor: int, maker: Operation, reader: Operation
) -> tuple[str, Any, Any]:
    """Return the name that the maker's statement binds and the reader's statement reads, and these
    statements: first of those whose value is the tensor.
    """
    spans = spans_of(facts, maker)
    statements = [facts.text.statement(span) for span in spans]
    read = [facts.text.statement(span) for span in spans_of(facts, reader)]
    others = None
    for reading in reversed(read):
        for span, making in reversed([*zip(spans, statements, strict=True)]):
            if (
                reading is None
                or making is None
                or hasattr(reading, "body")
                or hasattr(making, "body")
            ):
                continue
            common = sorted(stores(making) & loads(reading))
            value = making if isinstance(making, ast.AugAssign) else getattr(making, "value", None)
            if common and value is not None and places.span_of(value)[:4] == span[:4]:
                return common[0], making, reading
            if common:
                others = others or (common[0], making, reading)
    return others or (named(facts, tensor), statements[0], read[0])


def over_steps(facts: Facts, cross: Crossing) -> str:
    """Return "from step 1 into step 2", or "over" outside of a numbered loop."""
    first = facts.step_of_pass(cross.earlier.number)
    last = facts.step_of_pass(cross.failed.number)
    if first is None or last is None or first == last:
        return "from one turn of the loop into the next"
    return f"from step {first} into step {last}"


def latest_before(facts: Facts, failed: PassRecord | None) -> PassRecord | None:
    passes = () if failed is None else facts.passes[: failed.number]
    return next((p for p in reversed(passes) if p.stores and not p.error), None)


def used_again(facts: Facts, function: FunctionRecord) -> Cause | None:
    """Explain a second backward through a graph that an earlier pass has freed, by the variable
    that carried it over.
    """
    earlier_pass = freed_by(facts, function) or latest_before(facts, facts.failed_pass)
    cross = crossing(facts, facts.failed_pass, earlier_pass)
    if cross is None:
        return computed_once(facts, facts.failed_pass, earlier_pass)
    if turn_of(facts, cross.maker) == turn_of(facts, cross.reader):
        return twice_in_a_turn(facts, cross)
    head = places.head_of(cross.read)
    name = cross.name
    if is_carried(facts, cross):
        how = f"line {head.line} carries {name} {over_steps(facts, cross)}"
    else:
        line = places.head_of(cross.making).line if cross.making else "?"
        how = f"{name} was computed once, on line {line}, and line {head.line} uses it again"
    earlier = cross.earlier.span
    return Cause(
        "freed",
        f"{name}'s graph was used a second time: the backward{facts.at_line(earlier)} had freed "
        f"it, and {how}",
        (
            facts.at(f"{name} is read here, with the graph of an earlier pass", head),
            facts.at("the first backward frees it", earlier),
            facts.at("the second backward needs it again", cross.failed.span),
        ),
        fixes(facts, cross),
        name=name,
    )


def computed_once(
    facts: Facts, failed: PassRecord | None, earlier: PassRecord | None
) -> Cause | None:
    """Explain a backward in a loop from a result that was computed before the loop."""
    if failed is None or earlier is None or failed.span != earlier.span or not failed.roots:
        return None
    call = facts.text.statement(failed.span)
    loop = None if call is None else loop_around(facts, call)
    behind = [facts.maker(i) for i in facts.flow.before(failed.roots) if has_history(facts, i)]
    spans = [spans_of(facts, operation)[-1:] for operation in behind if operation is not None]
    statements = {facts.text.statement(span) for last in spans for span in last}
    if loop is None or not statements or any(s is None or inside(s, loop) for s in statements):
        return None
    before = sorted(statements, key=places.starts)
    name = named(facts, failed.roots[0])
    lines = ", ".join(str(statement.lineno) for statement in before)
    text = (
        f"compute it inside of the loop, before backward{facts.at_line(failed.span)}: line {lines}"
    )
    indent = "\n" + " " * call.col_offset
    code = "".join(facts.text.cut(statement) + indent for statement in before)
    start = Span(call.lineno, call.col_offset, call.lineno, call.col_offset)
    is_plain = all(is_beside(facts, statement, loop) for statement in before)
    return Cause(
        "freed",
        f"{name}'s graph was used a second time: the backward{facts.at_line(earlier.span)} had "
        f"freed it, and {name} was computed once, before the loop",
        (
            facts.at(f"{name} is computed here, outside of the loop", places.head_of(before[-1])),
            facts.at("the first backward frees its graph, the second one needs it", failed.span),
        ),
        (
            Fix(text, [(start, code)]) if is_plain else text,
            "retain_graph=True would only give the gradient at the same values again",
        ),
        name=name,
    )


def is_beside(facts: Facts, statement: Any, loop: Any) -> bool:
    """Whether a simple statement is in the same function and loop as another loop."""
    functions = facts.text.functions
    is_near = places.around(functions, statement.lineno) == places.around(functions, loop.lineno)
    outer = loop_around(facts, loop)
    return is_near and not hasattr(statement, "body") and loop_around(facts, statement) is outer


def has_history(facts: Facts, tensor: int) -> bool:
    record = facts.tensors[tensor]
    return record.requires_grad and not record.is_leaf


def freed_by(facts: Facts, function: FunctionRecord) -> PassRecord | None:
    """Return the pass that freed what a function had saved."""
    number = next((s.number for s in facts.visits.get(function.id, ()) if s.freed), None)
    return None if number is None else facts.passes[number]


def turn_of(facts: Facts, operation: Operation) -> int | None:
    """Return the iteration of a loop that an operation ran in; if the run's loops are not recorded,
    the training step.
    """
    turn = next((s.id for s in scopes_of(facts, operation) if s.kind == "pass"), None)
    if turn is not None:
        return turn
    step = facts.step_number(operation)
    return None if step is None else -step


def twice_in_a_turn(facts: Facts, cross: Crossing) -> Cause:
    """Explain two losses that share a graph, with a backward for each: the first one frees what
    both need.
    """
    name = cross.name
    head = places.head_of(cross.read)
    earlier = cross.earlier
    origin = cross.maker.span if cross.making is None else places.head_of(cross.making)
    first = next((o for o in facts.readers(cross.tensor) if o.id < earlier.after), None)
    used = None if first is None else spans_of(facts, first)[-1]
    fix = (
        [f"{name}.detach(){facts.at_line(used)}, if its backward should stop there"]
        if used is not None
        else []
    )
    return Cause(
        "freed",
        f"{name}'s graph was used a second time: the backward{facts.at_line(earlier.span)} had "
        f"freed it, and line {head.line} uses {name}, made{facts.at_line(origin)}, again",
        (
            facts.at(f"{name} is made here", origin),
            facts.at("the first backward frees its graph", earlier.span),
            facts.at(f"{name} is used again", head),
            facts.at("the second backward needs it again", cross.failed.span),
        ),
        (
            *fix,
            f"or backward(retain_graph=True){facts.at_line(earlier.span)}; or one backward of the "
            "sum of both losses",
        ),
        name=name,
    )


def is_carried(facts: Facts, cross: Crossing) -> bool:
    """Whether the result is made in the loop that reads it."""
    loop = loop_around(facts, cross.read)
    return cross.making is cross.read or (
        cross.making is not None and loop is not None and inside(cross.making, loop)
    )


def fixes(facts: Facts, cross: Crossing) -> tuple[str, ...]:
    name = cross.name
    loop = loop_around(facts, cross.read)
    if not is_carried(facts, cross):
        if "." in name:
            return (f"compute {name} where it is used, in forward: {facts.text.cut(cross.making)}",)
        code = facts.text.cut(cross.making) if cross.making is not None else name
        return (
            f"compute it inside of the loop, before backward: {code}",
            f"or {name} = {name}.detach()",
        )
    if is_sum(facts, cross):
        return (
            f"call backward on the loss of this step alone, and sum its number: {name} += "
            "loss.item()",
            f"or set {name} = 0 at the start of each turn of the loop",
        )
    if name.endswith("]"):
        base = name.partition("[")[0]
        return (
            f"{base} = [] at the start of each turn: only the losses of this turn",
            f"or keep numbers in it: {base}.append(loss.detach())",
        )
    owner = owner_of(facts, cross)
    name = f"{owner}{name.removeprefix('self')}" if owner else name
    detached = f"{name} = {name}.detach()"
    if any(scope.detail in ("LSTM", "LSTMCell") for scope in facts.trace.scopes):
        detached += f" (of a tuple: tuple(s.detach() for s in {name}))"
    call = facts.text.statement(cross.failed.span)
    between = None if call is None else loop_around(facts, call, *([] if owner else [cross.read]))
    if "." in name and not (owner and between):
        return (f"{detached}, before line {cross.read.lineno} reads it",)
    loop = between or loop
    line = loop.body[0].lineno if loop is not None else cross.read.lineno
    return (
        f"{detached} at the start of each turn (line {line})",
        "retain_graph=True would go back through all earlier steps, each time further",
    )


def owner_of(facts: Facts, cross: Crossing) -> str:
    """Return the path of the module whose attribute carries the result, for "self" in its method;
    "" if it is not known, or the result is carried otherwise.
    """
    modules = (s for s in scopes_of(facts, cross.reader) if s.kind == "module")
    module = next(modules, None) if cross.name.startswith("self.") else None
    return "" if module is None or module.name == module.detail else module.name


def is_sum(facts: Facts, cross: Crossing) -> bool:
    """Whether the carried variable is a running sum on which backward is called."""
    ends = {i for p in facts.passes if p.error for i in p.roots}
    return (
        cross.read is cross.making
        and operator(cross.reader) == "add"
        and not ends.isdisjoint(cross.reader.outputs)
    )


def changed_since(facts: Facts, change: Change) -> Cause | None:
    """Explain an optimiser's step that changed weights which a graph from an earlier step still
    needs.
    """
    cross = crossing(facts, facts.failed_pass, latest_before(facts, facts.failed_pass))
    if cross is None or change.how != "step":
        return None
    head = places.head_of(cross.read)
    name = cross.name
    keep = cross.earlier.keep
    kept = " (retain_graph=True keeps that graph, not the weights)" if keep else ""
    return Cause(
        "carried over",
        f"line {head.line} carries {name} and its graph {over_steps(facts, cross)}, and "
        f"{change.text or 'the step'}{facts.at_line(change.span)} has changed the weights in place "
        f"since{kept}",
        (
            facts.at(f"{name} is read here, with the graph of an earlier step", head),
            facts.at("the step changes the weights that this graph needs", change.span),
            facts.backward(cross.failed),
        ),
        fixes(facts, cross)[:1] + ("then backward() needs no retain_graph=True",) * keep,
        name=name,
    )


# ---- averages and sums


KEPT_STEPS = 3  # over which a result has come to keep its history


def kept_history(facts: Facts) -> Cause | None:
    """Find a statement that reads its own result of the step before, with history, step after
    step.
    """
    if facts.trace.failure is not None:
        return None
    # by tensor: in which step it was made, how many steps are behind it
    lengths: dict[int, tuple[int, int]] = {}
    longest: tuple[int, Operation] | None = None
    for step in facts.trace.training:
        for operation in facts.operations[slice(*step.operations)]:
            if operation.span is None or operation.span.file or not operation.grad_enabled:
                continue
            histories = [
                steps_behind(facts, lengths, i, operation, step.number) for i in operation.tensors
            ]
            behind = max([1, *histories])
            for out in operation.outputs:
                if facts.tensors[out].requires_grad and not facts.tensors[out].is_leaf:
                    lengths[out] = step.number, behind
                    if (
                        behind >= max(KEPT_STEPS, longest[0] if longest else 0)
                        and step is facts.trace.training[-1]
                    ):
                        longest = behind, operation
    return None if longest is None else kept_by(facts, *longest)


def steps_behind(
    facts: Facts, lengths: dict[int, tuple[int, int]], tensor: int, reader: Operation, step: int
) -> int:
    """Return over how many steps a tensor has its history, if the reader's own statement made it;
    else 0.
    """
    maker = facts.maker(tensor)
    if maker is None or tensor not in lengths or maker.span is None or reader.span is None:
        return 0
    if facts.text.statement(maker.span) is not facts.text.statement(reader.span):
        return 0
    start, behind = lengths[tensor]
    return behind + (start != step)


def kept_by(facts: Facts, steps: int, operation: Operation) -> Cause | None:
    statement: Any = facts.text.statement(operation.span)
    if not isinstance(statement, (ast.Assign, ast.AugAssign)):
        return None
    name = assigned_name(facts, operation.span)
    if isinstance(statement, ast.AugAssign):
        name = facts.text.cut(statement.target)
    if not name:
        return None
    head = places.head_of(statement)
    fixes = [f"compute it without history: with torch.no_grad(): {facts.text.cut(statement)}"]
    if isinstance(statement, ast.AugAssign) and isinstance(statement.value, ast.Name):
        fixes = [
            f"{name} += {facts.text.cut(statement.value)}.item(), or .detach() to keep a tensor"
        ]
    return Cause(
        "kept history",
        f"line {head.line} computes {name} from {name} of the step before, with its history: the "
        f"graphs of {steps} steps are kept, and memory grows with each",
        (facts.at(f"{name} requires grad and refers to the steps before", head),),
        tuple(fixes),
    )
