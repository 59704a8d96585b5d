"""Explain a program's failure if it is one of autograd's common errors: the tensor, the line that saved it, the line
that changed it, and what to do.

`explain_failure(trace)` returns an Answer with status "failed", or None for a program that did not fail.
"""

from __future__ import annotations

from gradtrace.analysis import history, places
from gradtrace.analysis.answer import Answer, Evidence, Facts
from gradtrace.analysis.causes import carried, errors
from gradtrace.analysis.flow import reachable_functions
from gradtrace.analysis.why import unreached
from gradtrace.annotations import Any, Callable
from gradtrace.lang import syntax as ast
from gradtrace.trace.record import Failure, FunctionRecord, TensorRecord, Trace

Found = tuple[str, str, str, list[Evidence], tuple[str, ...]]  # cause, tensor's name, sentence, evidence, advice


def explain_failure(trace: Trace) -> Answer | None:
    """Explain a program's failure; None if it did not fail."""
    if trace.failure is None:
        return None
    facts = Facts(trace)
    failure = trace.failure
    here = facts.at(f"{failure.kind} is raised here", failure.span)
    made = errors.failure_cause(facts, failure)
    if made is not None:
        return made._replace(evidence=(*made.evidence, here)).answer()
    for start, explain in CLASSIC:
        if start in failure.message:
            found = explain(facts, failure)
            if found is not None:
                cause, name, sentence, evidence, advice = found
                return Answer(name, "failed", cause, sentence, (*evidence, here), advice)
    operands = tuple(errors.operands_at(facts, failure)) if failure.kind in ("RuntimeError", "ValueError") else ()
    return Answer("", "failed", failure.kind, ended_by(failure), (here, *operands), ())


def ended_by(failure: Failure) -> str:
    """Return a sentence about the exception that ended a program."""
    if failure.kind == "KeyboardInterrupt":
        return "The program was interrupted."
    return f"The program failed: {failure.kind}" + (f": {failure.message}" if failure.message else ".")


# ---- the function that failed


def failing_function(facts: Facts) -> FunctionRecord | None:
    """Return the function at which the last pass failed."""
    failed = [one for one in facts.trace.passes if one.error]
    steps = [s for s in facts.trace.steps if failed and s.number == failed[-1].number]
    return facts.trace.functions[steps[-1].function] if steps else None


def modified(facts: Facts, failure: Failure) -> Found | None:
    """Explain the error "... modified by an inplace operation"."""
    function = failing_function(facts)
    if function is None:
        return None
    trace = facts.trace
    operation = next((o for o in trace.operations if o.function == function.id), None)
    saved = [s.tensor for s in function.saved if s.tensor is not None]
    since = 0 if operation is None else operation.id
    changes = [
        c
        for c in trace.changes
        if not c.of_grad
        and not set(saved).isdisjoint(c.tensors)
        and c.after > since
        and c.how not in ("data", "frozen")
    ]
    what = function.name if operation is None else operation.name
    if not changes:
        return None
    change = changes[0]
    over = carried.changed_since(facts, function, change)
    if over is not None:
        return over.code, over.name, over.sentence, [*over.evidence], over.fix
    tensor = next(i for i in saved if i in change.tensors)
    name = facts.called((tensor, *change.tensors))
    changing = facts.text.statement(change.span)
    if isinstance(changing, ast.AugAssign) and not name.isidentifier():
        name = facts.text.cut(changing.target)
    how = {"step": "an optimiser's step", "data": "setting .data"}.get(change.how, f"{change.how}()")
    evidence = [
        facts.at(f"{what} saves {name} for its derivative", function.span),
        facts.at(f"{how} changes {name} in place", change.span),
        facts.backward([one for one in trace.passes if one.error][-1]),
    ]
    sentence = (
        f"{name} was saved by {what}{facts.line(function.span)} and changed in place by {how}"
        f"{facts.line(change.span)} before backward used it."
    )
    return "modified in place", name, sentence, evidence, in_place_advice(change.how, name, what)


def in_place_advice(how: str, name: str, what: str) -> tuple[str, ...]:
    if how == "step":
        return ("call backward before optimizer.step(), or run forward again after it",)
    return (
        "make a new tensor instead of changing this one in place (a = a + b, not a += b)",
        f"or give {what} a copy: {name}.clone()",
        "or change it after backward",
    )


def freed(facts: Facts, failure: Failure) -> Found | None:
    """Explain a second backward through a graph that was freed."""
    function = failing_function(facts)
    trace = facts.trace
    again = carried.used_again(facts, function)
    if again is not None:
        return again.code, again.name, again.sentence, [*again.evidence], again.fix
    failed = next((one for one in reversed(trace.passes) if one.error), None)
    if function is None or failed is None:
        return None
    first = next((s for s in trace.steps if s.function == function.id and s.freed), None)
    earlier = None if first is None else trace.passes[first.number]
    roots = ", ".join(facts.label(i) for i in failed.roots) or "the result"
    operation = next((o for o in trace.operations if o.function == function.id), None)
    what = operation.name if operation is not None else function.name
    saved = ", ".join(facts.label(s.tensor) for s in function.saved if s.tensor is not None)
    evidence = [facts.at(f"{what} saved {saved or 'values'} for its derivative", function.span)]
    where = ""
    if earlier is not None:
        evidence.append(facts.at("the first backward frees it", earlier.span))
        where = facts.line(earlier.span)
    evidence.append(facts.at("the second backward needs it again", failed.span))
    sentence = f"{roots}'s graph was used a second time: the backward{where} had freed what {what} saved."
    return (
        "freed",
        roots,
        sentence,
        evidence,
        (
            "call the first backward with retain_graph=True",
            "or compute the result again before the second one (in a loop: inside of it)",
        ),
    )


# ---- roots


def root_of(facts: Facts, failure: Failure) -> tuple[str, TensorRecord | None]:
    """Return the tensor that backward was called on: X in X.backward(), the argument of autograd.backward or grad."""
    statement = facts.text.statement(failure.span)
    call = places.method_call(statement, ("backward", "grad"))
    node: Any = None
    if isinstance(call, ast.Call):
        is_method = (
            isinstance(call.func, ast.Attribute)
            and call.func.attr == "backward"
            and not (isinstance(call.func.value, ast.Attribute) and call.func.value.attr == "autograd")
        )
        node = call.func.value if is_method else (call.args[0] if call.args else None)  # type: ignore[attr-defined]
    if node is None:
        roots = facts.trace.roots
        return (facts.label(roots[0]), facts.trace.tensors[roots[0]]) if roots else ("the result", None)
    text = facts.text.cut(node)
    known = dict(facts.trace.names)
    if text in known:
        return text, facts.trace.tensors[known[text]]
    same = [t for t in facts.trace.tensors if "".join(t.label.split()) == "".join(text.split())]
    return text, same[-1] if same else None


def no_grad_root(facts: Facts, failure: Failure) -> Found | None:
    """Explain the error "element 0 of tensors does not require grad"."""
    name, record = root_of(facts, failure)
    if record is None:
        return (
            "no grad",
            name,
            f"{name} does not require grad, so backward has nowhere to go.",
            [],
            ("let something that it is computed from require grad",),
        )
    reason = history.no_history(facts, record)
    return reason.cause, name, f"{name} does not require grad: {reason.because}.", reason.evidence, reason.advice


def forward_without_apply(facts: Facts, failure: Failure) -> Found | None:
    """Explain a Function's forward that was called directly, without apply."""
    calls = places.direct_forwards(facts.text)
    here = [c for c in calls if failure.span is None or c.lineno == failure.span.line] or calls
    if not here:
        return None
    name = here[0].func.value.id
    return (
        "forward without apply",
        name,
        f"{name}.forward was called directly{facts.line(places.span_of(here[0]))}: without apply it gets no ctx, and "
        f"{name}.backward is not used.",
        [facts.at(f"{name}.forward runs as plain code here", places.span_of(here[0]))],
        (f"call {name}.apply(...) without the ctx",),
    )


def not_scalar(facts: Facts, failure: Failure) -> Found | None:
    """Explain the error "grad can be implicitly created only for scalar outputs"."""
    name, record = root_of(facts, failure)
    shape = "" if record is None or record.value is None else f" {record.value.shape}"
    return (
        "not a scalar",
        name,
        f"{name} has the shape{shape or ' of several elements'}: backward starts by itself only from one number.",
        [] if record is None else [facts.origin(record)],
        (
            f"reduce it first: {name}.sum().backward() or {name}.mean().backward()",
            f"or give the weights: {name}.backward(torch.ones_like({name}))",
        ),
    )


# ---- leaves and flags


def subject(facts: Facts, failure: Failure) -> tuple[str, TensorRecord | None]:
    """Return the tensor that the failing statement changes or calls: w in `w += 1`, `w[0] = 1` and `w.add_(1)`."""
    statement = facts.text.statement(failure.span)
    node: Any = None
    if isinstance(statement, ast.AugAssign):
        node = statement.target
    elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], (ast.Subscript, ast.Attribute)):
        node = statement.targets[0]
    else:
        calls = list(ast.walk(statement)) if statement is not None else []
        node = next(
            (n.func.value for n in calls if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)), None
        )
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    name = node.id if isinstance(node, ast.Name) else ""
    known = dict(facts.trace.names)
    return name or "the tensor", facts.trace.tensors[known[name]] if name in known else None


def leaf_in_place(facts: Facts, failure: Failure) -> Found | None:
    name, record = subject(facts, failure)
    return (
        "leaf in place",
        name,
        f"{name} is a leaf that requires grad, and line {failure.span.line if failure.span else '?'} changes it in "
        "place: its old value would be lost to backward.",
        [] if record is None else [facts.origin(record)],
        (
            f"with torch.no_grad(): change {name} there, as an optimiser does",
            f"or make a new tensor of another name: {name}2 = {name} + ...",
        ),
    )


def flags_of_leaves(facts: Facts, failure: Failure) -> Found | None:
    name, record = subject(facts, failure)
    return (
        "not a leaf",
        name,
        f"{name} is computed, so its requires_grad follows from what it was computed from.",
        [] if record is None else [facts.origin(record)],
        (f"use {name}.detach() for a part without gradient",),
    )


def needs_grad(facts: Facts, failure: Failure) -> Found | None:
    """Explain retain_grad or register_hook on a tensor that does not require grad."""
    name, record = subject(facts, failure)
    if record is None:
        return None
    reason = history.no_history(facts, record)
    return reason.cause, name, f"{name} does not require grad: {reason.because}.", reason.evidence, reason.advice


def numpy_of(facts: Facts, failure: Failure) -> Found | None:
    name, record = subject(facts, failure)
    return (
        "numpy",
        name,
        f"{name} requires grad, and a numpy array could not carry that on.",
        [] if record is None else [facts.origin(record)],
        (f"{name}.detach().numpy() says that no gradient is wanted",),
    )


def floats_alone(facts: Facts, failure: Failure) -> Found | None:
    return (
        "integer",
        "the tensor",
        "Only floating-point tensors can require grad, and this one holds integers.",
        [],
        ("write 1. instead of 1, or dtype=torch.float32",),
    )


def unused(facts: Facts, failure: Failure) -> Found | None:
    """Explain autograd.grad with an input that the outputs do not depend on."""
    call = places.method_call(facts.text.statement(failure.span), ("grad",))
    names = input_names(facts, call)
    known = dict(facts.trace.names)
    last = facts.trace.passes[-1] if facts.trace.passes else None
    if last is None:
        return None
    reached = reachable_functions(facts.trace, last.roots)
    facts.storing = [last]
    for name in names:
        record = facts.trace.tensors[known[name]] if name in known else None
        if record is not None and record.function not in reached:
            found = unreached(facts, record)
            if found is not None:
                because = found.sentence.partition(": ")[2]
                return (
                    found.cause,
                    name,
                    f"{name} has no gradient from {facts.root_names()}: {because}",
                    [*found.evidence],
                    ("allow_unused=True gives None for it", *found.advice),
                )
    return None


def no_grad_input(facts: Facts, failure: Failure) -> Found | None:
    call = places.method_call(facts.text.statement(failure.span), ("grad", "backward"))
    known = dict(facts.trace.names)
    for name in input_names(facts, call):
        record = facts.trace.tensors[known[name]] if name in known else None
        if record is not None and not record.requires_grad:
            reason = history.no_history(facts, record)
            return (
                reason.cause,
                name,
                f"{name} does not require grad: {reason.because}.",
                reason.evidence,
                reason.advice,
            )
    return None


def underived(facts: Facts, failure: Failure) -> Found | None:
    """Explain the error "derivative for aten::floor_divide is not implemented"."""
    function = failing_function(facts)
    operation = None if function is None else facts.arrivals.operations.get(function.id)
    if function is None or operation is None:
        return None
    sources = [
        facts.label(o.tensor)
        for o in operation.inputs
        if o.tensor is not None and facts.trace.tensors[o.tensor].requires_grad
    ]
    name = sources[0] if sources else operation.name
    remedies = {"floor_divide": ("a / b has a useful one", "torch.div(a, b, rounding_mode='floor') has one that is 0")}
    return (
        "no derivative",
        name,
        f"{operation.name}{facts.line(function.span)} has no derivative, and backward comes through it to {name}.",
        [facts.at(f"{operation.name} is used here", function.span)],
        remedies.get(operation.name, ("leave it out of what is differentiated: .detach() before it",)),
    )


def input_names(facts: Facts, call: Any) -> list[str]:
    """Return the variable names among the inputs of a call of autograd.grad or backward."""
    if call is None:
        return []
    given = [k.value for k in call.keywords if k.arg == "inputs"] or call.args[1:2]
    return [n.id for node in given for n in ast.walk(node) if isinstance(n, ast.Name)]


CLASSIC: tuple[tuple[str, Callable[[Facts, Failure], Found | None]], ...] = (
    ("has been modified by an inplace operation", modified),
    ("Trying to backward through the graph a second time", freed),
    ("does not require grad and does not have a grad_fn", no_grad_root),
    ("grad can be implicitly created only for scalar outputs", not_scalar),
    ("leaf Variable that requires grad is being used in an in-place operation", leaf_in_place),
    ("you can only change requires_grad flags of leaf variables", flags_of_leaves),
    ("appears to not have been used in the graph", unused),
    ("One of the differentiated Tensors does not require grad", no_grad_input),
    ("can't retain_grad on Tensor", needs_grad),
    ("cannot register a hook on a tensor that doesn't require gradient", needs_grad),
    ("save_for_backward", forward_without_apply),
    ("missing 1 required positional argument", forward_without_apply),
    ("Can't call numpy() on Tensor that requires grad", numpy_of),
    ("can require gradients", floats_alone),
    ("can only require gradients for floating", floats_alone),
    ("derivative for aten::", underived),
)
