"""Explain why a tensor has no history, or an unexpected one: what cut it, and which tensor is the leaf."""

from __future__ import annotations

from gradtrace.analysis import places
from gradtrace.analysis.answer import Evidence, Facts
from gradtrace.analysis.causes.cause import plain, spans_of
from gradtrace.analysis.copies import Reason, copied, numbers_before
from gradtrace.analysis.flow import Cut, closure
from gradtrace.lang import syntax as ast
from gradtrace.trace.operands import record_of
from gradtrace.trace.record import Operation, TensorRecord


def is_comparison(name: str) -> bool:
    record = record_of(name)
    return record is not None and record.promote == "compare"


# ---- what cuts


def describe(facts: Facts, cut: Cut) -> Reason:
    """Return the reason for a cut, as a noun phrase: "detach() on line 5"."""
    name = facts.label(cut.tensor)
    if cut.escape is not None and cut.escape.how == "parameter":
        span = cut.escape.span
        return Reason(
            "copied",
            f"nn.Parameter(){facts.line(span)}, which makes a new leaf of its numbers",
            [facts.at(f"a new leaf begins here, without the history of {name}", span)],
            ("leave out nn.Parameter there: compute with the tensor itself, which keeps its history",),
        )
    if cut.escape is not None:
        span = cut.escape.span
        return Reason(
            ".data",
            f".data{facts.line(span)}",
            [facts.at(f"{name}.data is the same numbers without history", span)],
            (f"compute with {name} itself, without .data",),
        )
    assert cut.operation is not None
    operation = cut.operation
    where = facts.line(operation.span)
    if operation.name == "detach":
        return Reason(
            "detach",
            f"detach(){where}",
            [facts.at("detach() gives a tensor without history", operation.span)],
            ("leave out .detach() there",),
        )
    if not operation.grad_enabled:
        return under_no_grad(facts, operation)
    return without_derivative(facts, cut, operation)


def under_no_grad(facts: Facts, operation: Operation) -> Reason:
    block = next((b for span in spans_of(facts, operation) if (b := facts.text.mode_around(span)) is not None), None)
    where = facts.line(operation.span)
    mode = "no_grad"
    evidence = [facts.at(f"{operation.name} ran while gradients were off", operation.span)]
    switch = facts.text.switched_off if block is None else None
    if switch is not None:
        head = places.head_of(switch)
        return Reason(
            "set_grad_enabled",
            f"{operation.name}{where}, which ran while gradients were off: set_grad_enabled(False){facts.line(head)} "
            "turned them off for the rest of the program",
            [facts.at("gradients are turned off from here on", head), *evidence],
            ("with torch.no_grad(): around what needs no gradient; it turns them on again at its end",),
        )
    if block is not None:
        head = places.head_of(block)
        mode = next((m for m in places.MODES if m in facts.text.line(head)), mode)
        evidence.insert(0, facts.at(f"{mode} begins", head))
    return Reason(
        mode,
        f"{operation.name}{where}, which ran under {mode}",
        evidence,
        (f"move line {operation.span.line if operation.span else ''} out of {mode}".replace("line  ", "it "),),
    )


def without_derivative(facts: Facts, cut: Cut, operation: Operation) -> Reason:
    result = facts.trace.tensors[cut.result]
    where = facts.line(operation.span)
    name = facts.label(cut.tensor)
    late = next((b for b in facts.trace.begun if b.tensor == cut.tensor and b.after > operation.id), None)
    if late is not None:
        return Reason(
            "late",
            f"{operation.name}{where}, and {name} did not require grad yet",
            [
                facts.at(f"{name} is used while it does not require grad", operation.span),
                facts.at(f"{name} requires grad from here on", late.span),
            ],
            (f"let {name} require grad before it is used",),
        )
    dtype = result.value.dtype if result.value is not None else ""
    if dtype == "bool" or is_comparison(operation.name):
        return Reason(
            "comparison",
            f"a comparison ({operation.name}){where}",
            [facts.at("a comparison gives True and False, which have no derivative", operation.span)],
            (
                "use a smooth function in its place, e.g. sigmoid(k * (a - b))",
                "or let the condition only choose: torch.where(condition, a, b)",
            ),
        )
    if dtype.startswith("int") or dtype.startswith("uint"):
        return Reason(
            "integer",
            f"integers ({operation.name}{where})",
            [facts.at(f"{operation.name} gives {dtype}: integers have no derivative", operation.span)],
            ("keep to floating point on the way to the result",),
        )
    return Reason(
        "no derivative",
        f"{operation.name}{where}, whose result has no derivative",
        [facts.at(f"{operation.name} gives a tensor that does not require grad", operation.span)],
    )


# ---- a tensor that does not require grad


def no_history(facts: Facts, record: TensorRecord) -> Reason:
    """Explain why a tensor does not require grad."""
    for look in (frozen, detached_in_place, taken_by_data, copied, gradient_without_graph):
        found = look(facts, record)
        if found is not None:
            return found
    if record.operation is not None:
        return computed(facts, record)
    return plain_leaf(facts, record)


def frozen(facts: Facts, record: TensorRecord) -> Reason | None:
    change = next((c for c in reversed(facts.trace.changes) if c.how == "frozen" and record.id in facts.held(c)), None)
    if change is None:
        return None
    return Reason(
        "frozen",
        f"its requires_grad was set to False{facts.line(change.span)}",
        [facts.origin(record), facts.at("it no longer requires grad", change.span)],
        (f"leave that out, or call {plain(record.label)}.requires_grad_() again",),
    )


def detached_in_place(facts: Facts, record: TensorRecord) -> Reason | None:
    escape = next((e for e in facts.trace.escapes if e.how == "detach_" and e.tensor == record.id), None)
    if escape is None:
        return None
    return Reason(
        "detach_",
        f"detach_(){facts.line(escape.span)} cut it off from its history",
        [facts.origin(record), facts.at("detach_() makes it a leaf without grad", escape.span)],
        ("leave out .detach_()",),
    )


def taken_by_data(facts: Facts, record: TensorRecord) -> Reason | None:
    escape = facts.flow.origin_of_data.get(record.id)
    if escape is None or escape.tensor is None or escape.how != "data":
        return None
    source = facts.label(escape.tensor)
    return Reason(
        ".data",
        f"it is {source}.data, the same numbers without history",
        [facts.at(f"{record.label} is {source}.data", escape.span)],
        (f"take {source} itself",),
    )


def gradient_without_graph(facts: Facts, record: TensorRecord) -> Reason | None:
    """Explain a gradient without history: autograd.grad returned it, or it is a leaf's .grad, without create_graph."""
    name = plain(record.name or record.label)
    if record.operation is not None or not name.isidentifier():
        return None
    for statement in facts.text.assignments(name):
        value = getattr(statement, "value", None)
        call = places.method_call(statement, ("grad",))
        if call is None and not (isinstance(value, ast.Attribute) and value.attr == "grad"):
            continue
        head = places.head_of(statement)
        what = "autograd.grad" if call is not None else "backward"
        return Reason(
            "no create_graph",
            f"it is a gradient, and {what} was called without create_graph=True",
            [facts.at(f"{name} is a gradient, numbers without history", head)],
            (f"call {what} with create_graph=True",),
        )
    return None


def computed(facts: Facts, record: TensorRecord) -> Reason:
    """Explain a result without history: an operation cut it off, or no operand requires grad."""
    cut = cut_of_held(facts, record) or facts.flow.cut_before(record.id)
    if cut is not None:
        found = describe(facts, cut)
        return Reason(
            found.cause,
            f"it comes from {facts.label(cut.tensor)} through {found.because}",
            [facts.origin(facts.trace.tensors[cut.tensor]), *found.evidence],
            found.advice,
        )
    unused = without_recomputing(facts, record)
    if unused is not None:
        return unused
    sources = [facts.trace.tensors[i] for i in sorted(facts.flow.before([record.id]))]
    held = {facts.flow.tensor(i) for one in facts.trace.optimisers for i in one.tensors}
    for source in sorted(sources, key=lambda t: t.id not in held):
        lost = lost_at(facts, source) if source.id != record.id else None
        if lost is not None:
            verb = "is computed from" if lost.cause != "frozen" else "is computed with"
            because = lost.because.replace("it was made", "which was made").replace(
                "its requires_grad", "whose requires_grad"
            )
            because = because.replace("it is a gradient, and", "a gradient:")
            return lost._replace(
                because=f"it {verb} {plain(source.label)}, {because}", evidence=[*lost.evidence, facts.origin(record)]
            )
    leaves = [s for s in sources if (s.operation is None or s.is_leaf) and s.id != record.id]
    left = numbers_before(facts, record)
    if left is not None:
        return left
    named = [s.label for s in leaves if s.name is not None]
    because = "nothing that it was computed from requires grad"
    return Reason(
        "no leaf requires grad",
        because + (f" ({', '.join(named[:4])})" if named else ""),
        [facts.origin(leaf) for leaf in leaves[:3] if leaf.name is not None] + [facts.origin(record)],
        (
            f"let {named[0]} require grad: requires_grad=True where it is made"
            if named
            else "let one of its inputs require grad",
        ),
    )


def without_recomputing(facts: Facts, record: TensorRecord) -> Reason | None:
    """Explain a reentrant checkpoint without inputs that require grad: it runs under no_grad and keeps no graph."""
    if not any(t.is_parameter and t.requires_grad for t in facts.trace.tensors):
        return None
    before = facts.flow.before([record.id])
    for operation in facts.operations(("CheckpointFunction",)):
        if not operation.grad_enabled or not before.intersection(operation.outputs):
            continue
        given = next((i for o in operation.inputs if (i := o.tensor) is not None), None)
        name = "its input" if given is None else plain(facts.label(given))
        return Reason(
            "reentrant checkpoint",
            f"it comes through checkpoint(use_reentrant=True){facts.line(operation.span)}, which gives the parameters "
            f"of its block a gradient only if one of its inputs requires grad, and {name} does not",
            [facts.at(f"the block runs under no_grad, for {name} does not require grad", operation.span)],
            (
                "checkpoint(..., use_reentrant=False), which needs no such input",
                f"or {name}.requires_grad_() before it",
            ),
        )
    return None


def lost_at(facts: Facts, source: TensorRecord) -> Reason | None:
    """Explain why a leaf has no history: it is a copy, or frozen. The reason is cached for each leaf."""
    if source.operation is not None and not source.is_parameter:
        return None
    if source.id not in facts.lost:
        lost = copied(facts, source) or frozen(facts, source)
        facts.lost[source.id] = lost or gradient_without_graph(facts, source)
    return facts.lost[source.id]


def cut_of_held(facts: Facts, record: TensorRecord) -> Cut | None:
    """Return the first cut on a path from an optimiser's tensor to this result."""
    held = dict.fromkeys(facts.flow.tensor(i) for one in facts.trace.optimisers for i in one.tensors)
    into = facts.flow.before([record.id]) if held else set()
    for leaf in held:
        if not facts.trace.tensors[leaf].requires_grad:
            continue
        cuts = [cut for cut in facts.flow.cuts_after(leaf) if cut.result in into]
        if cuts:
            return cuts[0]._replace(tensor=leaf)
    return None


def plain_leaf(facts: Facts, record: TensorRecord) -> Reason:
    value = record.value
    if value is not None and not value.is_float:
        return Reason(
            "integer",
            f"it holds {value.dtype}, and only floating-point tensors can require grad",
            [facts.origin(record)],
            ("make it of floats: 1. instead of 1, or .float()",),
        )
    given = record.name is not None and not facts.text.assignments(record.name)
    if given:
        return Reason(
            "no grad",
            "this input does not require grad (data, or --no-grad)",
            [facts.origin(record)],
            (f"leave out --no-grad {record.name}, or annotate it as {record.name}: leaf",),
        )
    return Reason(
        "no grad",
        "it is a leaf that was made without requires_grad=True",
        [facts.origin(record)],
        (f"make it with requires_grad=True, or call {record.label}.requires_grad_() before it is used",),
    )


# ---- names


def hidden_leaf(facts: Facts, record: TensorRecord) -> Reason | None:
    """Explain a name whose tensor is a result, while the leaf behind it has no name, or had this name before."""
    if record.name is None or record.operation is None:
        return None
    bound = facts.text.assignments(record.name)
    operation = facts.trace.operations[record.operation]
    statement = facts.text.statement(operation.span)
    leaves = [facts.trace.tensors[i] for i in facts.flow.before([record.id])]
    hidden = [leaf for leaf in leaves if leaf.is_leaf and leaf.requires_grad and leaf.name is None]
    if not hidden or statement not in bound:
        return None
    own = [b for b in facts.trace.begun if b.tensor == hidden[0].id and b.span is not None]
    first = places.head_of(bound[0])
    if len(bound) > 1 and own and bound[0].lineno <= own[0].span.line <= (bound[0].end_lineno or 0):  # type: ignore[union-attr]
        here = places.head_of(statement)
        return Reason(
            "rebound",
            f"line {here.line} has bound the name to a result; the leaf is what it was before",
            [
                facts.at(f"{record.name} is a leaf here", first),
                facts.at(f"{record.name} is a new tensor, made by {operation.name}", here),
            ],
            (
                "give the result another name",
                f"or change {record.name} in place under no_grad, which keeps it the leaf",
            ),
        )
    inside = own and statement.lineno <= own[0].span.line <= (statement.end_lineno or 0)  # type: ignore[union-attr]
    if not inside:
        return None
    return Reason(
        "hidden leaf",
        f"it is the result of {operation.name}; the leaf is the tensor inside, which has no name",
        [
            facts.at(
                f"requires_grad=True is for the tensor inside, {operation.name} makes another of it", operation.span
            )
        ],
        ("call .requires_grad_() on the result instead", "or .retain_grad() on it"),
    )


def rebound(facts: Facts, record: TensorRecord) -> Reason | None:
    """Explain a name that was bound again after the result had been computed from its earlier tensor."""
    bound = facts.text.assignments(record.name) if record.name else []
    if len(bound) < 2 or facts.flow.readers.get(facts.flow.tensor(record.id)):
        return None
    into = facts.flow.before(facts.roots)
    lost = [
        b
        for b in facts.trace.begun
        if b.tensor in into
        and facts.trace.tensors[b.tensor].name is None
        and b.span is not None
        and bound[0].lineno <= b.span.line <= (bound[0].end_lineno or 0)
    ]
    if not lost:
        return None
    first, last = places.head_of(bound[0]), places.head_of(bound[-1])
    return Reason(
        "rebound",
        f"{facts.root_names()} was computed from the {record.name} of line {first.line}; line "
        f"{last.line} has bound the name to another tensor",
        [facts.at(f"this {record.name} is used", first), facts.at(f"this {record.name} is new", last)],
        ("change the tensor in place under no_grad, or compute the result after it",),
    )


def stale_optimiser(facts: Facts, record: TensorRecord) -> Reason | None:
    """Explain an optimiser that holds the tensor which had the name before it was bound again."""
    statements = facts.text.assignments(record.name) if record.name else []
    bound = [s for s in statements if not isinstance(s, ast.AugAssign)]  # w -= ... keeps the tensor
    if len(bound) < 2:
        return None
    made = [
        s
        for s in facts.text.simple
        if (call := places.optimiser_call(facts.text, s)) is not None
        and any(isinstance(n, ast.Name) and n.id == record.name for n in ast.walk(call))
    ]
    if not made or not bound[0].lineno < made[-1].lineno < bound[-1].lineno:
        return None
    first, here, last = (places.head_of(s) for s in (bound[0], made[-1], bound[-1]))
    return Reason(
        "stale optimiser",
        f"the optimiser of line {here.line} holds the {record.name} of line {first.line}, and will not change this one",
        [
            facts.at(f"this optimiser holds the {record.name} of line {first.line}", here),
            facts.at(f"this {record.name} is another tensor", last),
        ],
        (
            f"make the optimiser after line {last.line}",
            f"or change the numbers of {record.name} in place under no_grad: {record.name}.copy_(...)",
        ),
    )


def gave_none(facts: Facts, record: TensorRecord, number: int) -> tuple[str, Evidence] | None:
    """Return the function that sent no gradient along an edge towards a tensor, and its place."""
    sources: dict[int, list[tuple[int, int]]] = {}
    for edge in facts.trace.function_edges:
        sources.setdefault(edge.target, []).append((edge.source, edge.input_index))
    above = closure([record.function], lambda target: [source for source, _ in sources.get(target, ())])  # type: ignore[list-item]
    for step in facts.trace.steps:
        if step.number != number or step.function not in above:
            continue
        for target in above:
            for source, index in sources.get(target, ()):
                if source == step.function and index < len(step.downstream) and step.downstream[index] is None:
                    function = facts.trace.functions[source]
                    return function.name, facts.at(f"{function.name} sends None to this input", function.span)
    return None
