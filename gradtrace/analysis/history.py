"""Explain why a tensor has no history, or an unexpected one: what cut it, and which tensor is the
leaf.
"""

from __future__ import annotations

from gradtrace.analysis import places
from gradtrace.analysis.cause import Cause
from gradtrace.analysis.copies import copied, names_in, numbers_before
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.flow import Cut, leading_to
from gradtrace.analysis.rewrites import expression, made_with_grad, with_argument, without_call
from gradtrace.analysis.terms import is_comparison, plain, spans_of
from gradtrace.annotations import Iterable
from gradtrace.program import syntax as ast
from gradtrace.trace.labels import DERIVING, called_by
from gradtrace.trace.record import FunctionRecord, Operation, TensorRecord

# ---- what cuts


def describe(facts: Facts, cut: Cut) -> Cause:
    """Return the reason for a cut, as a noun phrase: "detach() on line 5"."""
    name = facts.label(cut.tensor)
    escape = cut.escape
    operation = cut.operation
    if escape is not None and escape.how == "parameter":
        return Cause(
            "copied",
            f"nn.Parameter(){facts.at_line(escape.span)}, which makes a new leaf of its numbers",
            [facts.at(f"a new leaf begins here, without the history of {name}", escape.span)],
            (
                "leave out nn.Parameter there: compute with the tensor itself, which keeps its "
                "history",
            ),
        )
    if escape is not None:
        return Cause(
            ".data",
            f".data{facts.at_line(escape.span)}",
            [facts.at(f"{name}.data is the same numbers without history", escape.span)],
            (without_call(facts, escape.span, f"compute with {name} itself, without .data"),),
        )
    assert operation is not None
    if operation.name == "detach":
        return Cause(
            "detach",
            f"detach(){facts.at_line(operation.span)}",
            [facts.at("detach() gives a tensor without history", operation.span)],
            (without_call(facts, operation.span, "leave out .detach() there"),),
        )
    if operation.name == "grad" and not keeps_graph(facts, operation):
        return without_create_graph(facts, operation)
    if not operation.grad_enabled:
        return under_no_grad(facts, operation)
    return without_derivative(facts, cut, operation)


def keeps_graph(facts: Facts, operation: Operation) -> bool:
    """Whether the pass that a call of autograd.grad ran was told to create its own graph; one
    expression may run several.
    """
    own = [p for p in facts.passes if p.span == operation.span and p.after <= operation.id]
    return bool(own) and own[-1].create_graph


def without_create_graph(facts: Facts, operation: Operation) -> Cause:
    call = expression(facts, operation.span)
    called = called_by(operation.text)
    called = called if called in DERIVING and called != "grad" else "autograd.grad"
    return Cause(
        "no create_graph",
        f"{called}{facts.at_line(operation.span)}, which was called without create_graph=True",
        [facts.at(f"{called} gives numbers without history", operation.span)],
        (with_argument(facts, call, "create_graph=True", "call it with create_graph=True"),),
    )


def under_no_grad(facts: Facts, operation: Operation) -> Cause:
    block = next(
        (
            b
            for span in spans_of(facts, operation)
            if (b := facts.text.mode_around(span)) is not None
        ),
        None,
    )
    called = f"{operation.name}{facts.at_line(operation.span)}"
    evidence = [facts.at(f"{operation.name} ran while gradients were off", operation.span)]
    switch = facts.text.switched_off if block is None else None
    if switch is not None:
        head = places.head_of(switch)
        return Cause(
            "set_grad_enabled",
            f"{called}, which ran while gradients were off: "
            f"set_grad_enabled(False){facts.at_line(head)} turned them off for the rest of the "
            "program",
            [facts.at("gradients are turned off from here on", head), *evidence],
            (
                "with torch.no_grad(): around what needs no gradient; it turns them on again at "
                "its end",
            ),
        )
    mode = "no_grad"
    if block is not None:
        head = places.head_of(block)
        mode = next((m for m in places.MODES if m in facts.text.line(head)), mode)
        evidence.insert(0, facts.at(f"{mode} begins", head))
    in_library = block is not None and operation.span is not None and operation.span.file
    place = (
        f"line {operation.span.line}"
        if operation.span and not operation.span.file
        else "the call that leads there"
    )
    advice = (
        f"leave out {mode}{facts.at_line(places.head_of(block))}"
        if in_library
        else f"move {place} out of {mode}"
    )
    return Cause(mode, f"{called}, which ran under {mode}", evidence, (advice,))


def without_derivative(facts: Facts, cut: Cut, operation: Operation) -> Cause:
    name = facts.label(cut.tensor)
    dtype = facts.tensors[cut.result].dtype
    where = facts.at_line(operation.span)
    late = next(
        (b for b in facts.trace.begun if b.tensor == cut.tensor and b.after > operation.id), None
    )
    if late is not None:
        return Cause(
            "late",
            f"{operation.name}{where}, and {name} did not require grad yet",
            [
                facts.at(f"{name} is used while it does not require grad", operation.span),
                facts.at(f"{name} requires grad from here on", late.span),
            ],
            (f"let {name} require grad before it is used",),
        )
    if dtype == "bool" or is_comparison(operation.name):
        return Cause(
            "comparison",
            f"a comparison ({operation.name}){where}",
            [
                facts.at(
                    "a comparison gives True and False, which have no derivative", operation.span
                )
            ],
            (
                "use a smooth function in its place, e.g. sigmoid(k * (a - b))",
                "or let the condition only choose: torch.where(condition, a, b)",
            ),
        )
    if dtype.startswith(("int", "uint")):
        return Cause(
            "integer",
            f"integers ({operation.name}{where})",
            [
                facts.at(
                    f"{operation.name} gives {dtype}: integers have no derivative", operation.span
                )
            ],
            ("keep to floating point on the way to the result",),
        )
    return Cause(
        "no derivative",
        f"{operation.name}{where}, whose result has no derivative",
        [facts.at(f"{operation.name} gives a tensor that does not require grad", operation.span)],
    )


# ---- a tensor that does not require grad


def no_history(facts: Facts, record: TensorRecord) -> Cause:
    """Explain why a tensor does not require grad."""
    looks = (
        look(facts, record)
        for look in (frozen, detached_in_place, taken_by_data, copied, gradient_without_graph)
    )
    cause = next(filter(None, looks), None)
    return cause or (
        plain_leaf(facts, record) if record.operation is None else computed(facts, record)
    )


def frozen(facts: Facts, record: TensorRecord, whose: str = "its") -> Cause | None:
    change = next(
        (
            c
            for c in reversed(facts.trace.changes)
            if c.how == "frozen" and record.id in facts.held(c)
        ),
        None,
    )
    if change is None:
        return None
    return Cause(
        "frozen",
        f"{whose} requires_grad was set to False{facts.at_line(change.span)}",
        [facts.origin(record), facts.at("it no longer requires grad", change.span)],
        (f"leave that out, or call {plain(record.label)}.requires_grad_() again",),
    )


def detached_in_place(facts: Facts, record: TensorRecord) -> Cause | None:
    escape = next(
        (e for e in facts.trace.escapes if e.how == "detach_" and e.tensor == record.id), None
    )
    if escape is None:
        return None
    return Cause(
        "detach_",
        f"detach_(){facts.at_line(escape.span)} cut it off from its history",
        [facts.origin(record), facts.at("detach_() makes it a leaf without grad", escape.span)],
        ("leave out .detach_()",),
    )


def taken_by_data(facts: Facts, record: TensorRecord) -> Cause | None:
    escape = facts.flow.origin_of_data.get(record.id)
    if escape is None or escape.tensor is None or escape.how != "data":
        return None
    source = facts.label(escape.tensor)
    return Cause(
        ".data",
        f"it is {source}.data, the same numbers without history",
        [facts.at(f"{record.label} is {source}.data", escape.span)],
        (without_call(facts, escape.span, f"take {source} itself"),),
    )


def gradient_without_graph(
    facts: Facts, record: TensorRecord, start: str = "it is a gradient, and"
) -> Cause | None:
    """Explain a gradient without history: autograd.grad returned it, or it is a leaf's .grad,
    without create_graph.
    """
    name = plain(record.name or record.label)
    maker = facts.maker(record.id)
    if (maker is not None and maker.name != "grad") or not name.isidentifier():
        return None
    for statement in facts.text.assignments(name):
        value = getattr(statement, "value", None)
        call = places.method_call(statement, ("grad",))
        is_result = call is not None
        if is_result or (isinstance(value, ast.Attribute) and value.attr == "grad"):
            method = "autograd.grad" if is_result else "backward"
            return Cause(
                "no create_graph",
                f"{start} {method} was called without create_graph=True",
                [
                    facts.at(
                        f"{name} is a gradient, numbers without history", places.head_of(statement)
                    )
                ],
                (
                    with_argument(
                        facts, call, "create_graph=True", f"call {method} with create_graph=True"
                    ),
                ),
            )
    return None


def computed(facts: Facts, record: TensorRecord) -> Cause:
    """Explain a result without history: an operation cut it off, or no operand requires grad."""
    cut = cut_of_held(facts, record) or facts.flow.cut_before(record.id)
    if cut is not None:
        cause = describe(facts, cut)
        because = f"it comes from {facts.label(cut.tensor)} through {cause.because}"
        return cause._replace(
            because=because, evidence=[facts.origin(facts.tensors[cut.tensor]), *cause.evidence]
        )
    unused = without_recomputing(facts, [record.id])
    if unused is not None:
        return unused._replace(because=f"it comes through {unused.because}")
    before = sorted(facts.flow.before([record.id]) - {record.id})
    # what was frozen last: that of a base model before its adapters is on purpose
    last = {
        i: n for n, c in enumerate(facts.trace.changes) if c.how == "frozen" for i in facts.held(c)
    }
    for source in sorted(before, key=lambda i: (i not in facts.optimised, -last.get(i, -1))):
        lost = lost_at(facts, facts.tensors[source])
        if lost is not None:
            verb = "is computed from" if lost.code != "frozen" else "is computed with"
            because = f"it {verb} {plain(facts.label(source))}, {lost.because}"
            return lost._replace(because=because, evidence=[*lost.evidence, facts.origin(record)])
    left = numbers_before(facts, record)
    if left is not None:
        return left
    leaves = [t for i in before if (t := facts.tensors[i]).operation is None or t.is_leaf]
    named = [leaf.label for leaf in leaves if leaf.name is not None]
    return Cause(
        "no leaf requires grad",
        "nothing that it was computed from requires grad"
        + (f" ({', '.join(named[:4])})" if named else ""),
        [
            *(facts.origin(leaf) for leaf in leaves[:3] if leaf.name is not None),
            facts.origin(record),
        ],
        (
            made_with_grad(
                facts, named[0], f"let {named[0]} require grad: requires_grad=True where it is made"
            )
            if named
            else "let one of its inputs require grad",
        ),
    )


def without_recomputing(
    facts: Facts, results: Iterable[int], which: str = ", which"
) -> Cause | None:
    """Explain a reentrant checkpoint without inputs that require grad, behind some results: it runs
    under no_grad and keeps no graph. `which` begins the clause about it.
    """
    if not any(t.is_parameter and t.requires_grad for t in facts.tensors):
        return None
    before = facts.flow.before(results)
    for operation in facts.calls_of(("CheckpointFunction",)):
        kept = any(facts.tensors[i].requires_grad for i in operation.outputs)
        if kept or not operation.grad_enabled or not before.intersection(operation.outputs):
            continue
        name = plain(facts.label(operation.tensors[0])) if operation.tensors else "its input"
        return Cause(
            "reentrant checkpoint",
            f"checkpoint(use_reentrant=True){facts.at_line(operation.span)}{which} gives the "
            "parameters of its block a gradient only if one of its inputs requires grad, and "
            f"{name} does not",
            [
                facts.at(
                    f"the block runs under no_grad, for {name} does not require grad",
                    operation.span,
                )
            ],
            (
                "checkpoint(..., use_reentrant=False), which needs no such input",
                f"or {name}.requires_grad_() before it",
            ),
        )
    return None


def lost_at(facts: Facts, source: TensorRecord) -> Cause | None:
    """Explain in a relative clause why a leaf has no history: it is a copy, or frozen. The reason
    is cached for each leaf.
    """
    if source.operation is not None and not source.is_parameter:
        return None
    if source.id not in facts.lost:
        facts.lost[source.id] = (
            copied(facts, source, "which")
            or frozen(facts, source, "whose")
            or gradient_without_graph(facts, source, "a gradient:")
        )
    return facts.lost[source.id]


def cut_of_held(facts: Facts, record: TensorRecord) -> Cut | None:
    """Return the first cut on a path from an optimiser's tensor to this result."""
    into = facts.flow.before([record.id]) if facts.optimised else set()
    for leaf in facts.optimised:
        cuts = facts.flow.cuts_after(leaf) if facts.tensors[leaf].requires_grad else []
        cut = next((cut for cut in cuts if cut.result in into), None)
        if cut is not None:
            return cut._replace(tensor=leaf)
    return None


def plain_leaf(facts: Facts, record: TensorRecord) -> Cause:
    origin = [facts.origin(record)]
    if record.value is not None and not record.value.is_float:
        because = f"it holds {record.dtype}, and only floating-point tensors can require grad"
        return Cause(
            "integer", because, origin, ("make it of floats: 1. instead of 1, or .float()",)
        )
    if record.name is not None and not facts.text.assignments(record.name):
        fix = f"leave out --no-grad {record.name}, or annotate it as {record.name}: leaf"
        return Cause(
            "no grad", "this input does not require grad (data, or --no-grad)", origin, (fix,)
        )
    fix = (
        f"make it with requires_grad=True, or call {record.label}.requires_grad_() before it is "
        "used"
    )
    fix = made_with_grad(facts, record.name or "", fix)
    return Cause("no grad", "it is a leaf that was made without requires_grad=True", origin, (fix,))


# ---- names


def hidden_leaf(facts: Facts, record: TensorRecord) -> Cause | None:
    """Explain a name whose tensor is a result, while the leaf behind it has no name, or had this
    name before.
    """
    operation = facts.maker(record.id)
    if record.name is None or operation is None:
        return None
    bound = facts.text.assignments(record.name)
    statement = facts.text.statement(operation.span)
    behind = (facts.tensors[i] for i in facts.flow.before([record.id]))
    leaves = [t for t in behind if t.is_leaf and t.requires_grad]
    hidden = leaves[0] if len(leaves) == 1 else None
    if hidden is None or hidden.name is not None or statement not in bound:
        return None
    begun = next(
        (b.span for b in facts.trace.begun if b.tensor == hidden.id and b.span is not None), None
    )
    if begun is None:
        return None
    if len(bound) > 1 and begun.line in places.lines_of(bound[0]):
        here = places.head_of(statement)
        return Cause(
            "rebound",
            f"line {here.line} has bound the name to a result; the leaf is what it was before",
            [
                facts.at(f"{record.name} is a leaf here", places.head_of(bound[0])),
                facts.at(f"{record.name} is a new tensor, made by {operation.name}", here),
            ],
            (
                "give the result another name",
                f"or change {record.name} in place under no_grad, which keeps it the leaf",
            ),
        )
    if begun.line not in places.lines_of(statement):
        return None
    inside = f"requires_grad=True is for the tensor inside, {operation.name} makes another of it"
    return Cause(
        "hidden leaf",
        f"it is the result of {operation.name}; the leaf is the tensor inside, which has no name",
        [facts.at(inside, operation.span)],
        ("call .requires_grad_() on the result instead", "or .retain_grad() on it"),
    )


def rebound(facts: Facts, record: TensorRecord) -> Cause | None:
    """Explain a name that was bound again after the result had been computed from its earlier
    tensor.
    """
    bound = facts.text.assignments(record.name) if record.name else []
    if len(bound) < 2 or facts.readers(record.id):
        return None
    into = facts.flow.before(facts.roots)
    lines = places.lines_of(bound[0])
    nameless = [
        b for b in facts.trace.begun if b.tensor in into and facts.tensors[b.tensor].name is None
    ]
    if not any(b.span is not None and b.span.line in lines for b in nameless):
        return None
    first = places.head_of(bound[0])
    last = places.head_of(bound[-1])
    return Cause(
        "rebound",
        f"{facts.root_names()} was computed from the {record.name} of line {first.line}; line "
        f"{last.line} has bound the name to another tensor",
        [
            facts.at(f"this {record.name} is used", first),
            facts.at(f"this {record.name} is new", last),
        ],
        ("change the tensor in place under no_grad, or compute the result after it",),
    )


def stale_optimiser(facts: Facts, record: TensorRecord) -> Cause | None:
    """Explain an optimiser that holds the tensor which had the name before it was bound again."""
    statements = facts.text.assignments(record.name) if record.name else []
    bound = [s for s in statements if not isinstance(s, ast.AugAssign)]  # w -= ... keeps the tensor
    if len(bound) < 2:
        return None
    creations = [
        s
        for s in facts.text.simple
        if record.name in names_in(places.optimiser_call(facts.text, s))
    ]
    if not creations or not bound[0].lineno < creations[-1].lineno < bound[-1].lineno:
        return None
    first, here, last = (places.head_of(s) for s in (bound[0], creations[-1], bound[-1]))
    earlier = f"the {record.name} of line {first.line}"
    return Cause(
        "stale optimiser",
        f"the optimiser of line {here.line} holds {earlier}, and will not change this one",
        [
            facts.at(f"this optimiser holds {earlier}", here),
            facts.at(f"this {record.name} is another tensor", last),
        ],
        (
            f"make the optimiser after line {last.line}",
            f"or change the numbers of {record.name} in place under no_grad: "
            f"{record.name}.copy_(...)",
        ),
    )


def gave_none(facts: Facts, function: int, number: int) -> FunctionRecord | None:
    """Return the function that sent no gradient along an edge towards another one in a pass."""
    above = leading_to(facts.trace, {function})
    towards: dict[int, list[int]] = {}  # the edges of each function that lead to it
    for edge in facts.trace.function_edges:
        if edge.target in above:
            towards.setdefault(edge.source, []).append(edge.input_index)
    for step in facts.steps:
        sent = step.downstream if step.number == number else ()
        if any(
            index < len(sent) and sent[index] is None for index in towards.get(step.function, ())
        ):
            return facts.functions[step.function]
    return None
