"""Explain a program's failure if it is one of autograd's common errors: the tensor, the line that
saved it, the line that changed it, and what to do.

`explain_failure(trace)` returns a Cause with status "failed", or None for a program that did not
fail.
"""

from __future__ import annotations

from gradtrace.analysis import history, places
from gradtrace.analysis.cause import Cause, Fix
from gradtrace.analysis.causes import carried, errors
from gradtrace.analysis.copies import names_in
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.rank_state import PEERS, lost_peer
from gradtrace.analysis.rewrites import expression, span_of, with_argument, with_statement
from gradtrace.analysis.spelling import spelled
from gradtrace.analysis.terms import code_at, enclosed
from gradtrace.analysis.unused import ENDED, unused_under_ddp
from gradtrace.analysis.why import unreached
from gradtrace.annotations import Any, Callable
from gradtrace.engine.operators.tables import function_table
from gradtrace.lazy_names import words
from gradtrace.program import syntax as ast
from gradtrace.trace.functions import reachable_functions
from gradtrace.trace.record import Change, Failure, FunctionRecord, TensorRecord, Trace


def explain_failure(trace: Trace) -> Cause | None:
    """Explain a program's failure; None if it did not fail."""
    failure = trace.failure
    if failure is None:
        return None
    facts = Facts(trace)
    here = facts.at(f"{failure.kind} is raised here", failure.span)
    explanations = [explain for start, explain in CLASSIC if start in failure.message]
    for explain in (errors.failure_cause, *explanations):
        cause = explain(facts, failure)
        if cause is not None:
            return spelled(facts, cause._replace(status="failed", evidence=(*cause.evidence, here)))
    operands = errors.operands_at(facts, failure)
    return Cause(failure.kind, "", (here, *operands), symptom=ended_by(failure), status="failed")


def ended_by(failure: Failure) -> str:
    """Return a sentence about the exception that ended a program."""
    if failure.kind == "KeyboardInterrupt":
        return "The program was interrupted."
    return f"The program failed: {failure.kind}" + (
        f": {failure.message}" if failure.message else "."
    )


# ---- the function that failed


def failing_function(facts: Facts) -> FunctionRecord | None:
    """Return the function at which the last pass failed."""
    last = facts.failed_pass
    steps = (s for s in reversed(facts.steps) if last is not None and s.number == last.number)
    return next((facts.functions[s.function] for s in steps), None)


UNCOUNTED = ("data", "frozen", "broadcast")  # changes that no version counter shows


def modified(facts: Facts, failure: Failure) -> Cause | None:
    """Explain the error "... modified by an inplace operation"."""
    function = failing_function(facts)
    if function is None or facts.failed_pass is None:
        return None
    operation = facts.arrivals.operations.get(function.id)
    saved = [s.tensor for s in function.saved if s.tensor is not None]
    saved += [errors.viewed(facts, i) for i in saved]
    since = 0 if operation is None else operation.id
    changes = (
        c
        for c in facts.trace.changes
        if not c.of_grad and c.after > since and c.how not in UNCOUNTED
    )
    change = next((c for c in changes if not set(saved).isdisjoint(c.tensors)), None)
    if change is None:
        return None
    over = carried.changed_since(facts, change)
    if over is not None:
        return over
    saver = function.name if operation is None else operation.name
    name = facts.called((next(i for i in saved if i in change.tensors), *change.tensors))
    changing = facts.text.statement(change.span)
    if isinstance(changing, ast.AugAssign) and not name.isidentifier():
        name = facts.text.cut(changing.target)
    how = "an optimiser's step" if change.how == "step" else f"{change.how}()"
    return Cause(
        "modified in place",
        f"{name} was saved by {saver}{facts.at_line(function.span)} and changed in place by "
        f"{how}{facts.at_line(change.span)} before backward used it",
        [
            facts.at(f"{saver} saves {name} for its derivative", function.span),
            facts.at(f"{how} changes {name} in place", change.span),
            facts.backward(facts.failed_pass),
        ],
        in_place_advice(facts, change, name, saver),
        name=name,
    )


def in_place_advice(facts: Facts, change: Change, name: str, symptom: str) -> tuple[str, ...]:
    if change.how == "step":
        code = code_at(facts, change.span) or "the step"
        return (f"call backward before {code}, or run forward again after it",)
    return (
        out_of_place(facts, facts.text.statement(change.span)),
        f"or give {symptom} a copy: {name}.clone()",
        "or change it after backward",
    )


def out_of_place(facts: Facts, statement: Any) -> str:
    """Return the advice to make a new tensor, with the code for `a += b` and `a.add_(b)`."""
    cut = facts.text.cut
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        target = cut(statement.target)
        sign = cut(statement)[len(target) :].partition("=")[0].strip()
        value = cut(statement.value)
        code = (
            f"{target} = {target} {sign} "
            f"{value if isinstance(statement.value, ast.Constant) else enclosed(value)}"
        )
    else:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            return OUT_OF_PLACE
        target = cut(call.func.value)
        method = call.func.attr.removesuffix("_")
        if not target.isidentifier() or call.func.attr in ALONE:
            return OUT_OF_PLACE
        arguments = ", ".join(map(cut, [*call.args, *call.keywords]))
        code = f"{target} = " + (
            f"torch.zeros_like({target})" if method == "zero" else f"{target}.{method}({arguments})"
        )
    line = facts.at_line(places.head_of(statement))
    return with_statement(
        statement, code, f"make a new tensor instead of changing this one: {code}{line}"
    )


# In-place methods without another form; zero_ has torch.zeros_like.
ALONE = function_table(
    "analysis.failures.ALONE",
    words(
        "cauchy_ copy_ exponential_ fill_ geometric_ log_normal_ normal_ random_ resize_ set_ "
        "uniform_"
    ),
)
OUT_OF_PLACE = "make a new tensor instead of changing this one in place (a = a + b, not a += b)"


def freed(facts: Facts, failure: Failure) -> Cause | None:
    """Explain a second backward through a graph that was freed."""
    function = failing_function(facts)
    failed = facts.failed_pass
    if function is None or failed is None:
        return None
    again = carried.used_again(facts, function)
    if again is not None:
        return again
    earlier = carried.freed_by(facts, function)
    roots = facts.labels(failed.roots) or "the result"
    operation = facts.arrivals.operations.get(function.id)
    saver = operation.name if operation is not None else function.name
    saved = facts.labels(s.tensor for s in function.saved if s.tensor is not None)
    where = "" if earlier is None else facts.at_line(earlier.span)
    return Cause(
        "freed",
        f"{roots}'s graph was used a second time: the backward{where} had freed what {saver} saved",
        [
            facts.at(f"{saver} saved {saved or 'values'} for its derivative", function.span),
            *(
                facts.at("the first backward frees it", pass_.span)
                for pass_ in (earlier,)
                if pass_ is not None
            ),
            facts.at("the second backward needs it again", failed.span),
        ],
        (
            with_argument(
                facts,
                None if earlier is None else expression(facts, earlier.span),
                "retain_graph=True",
                "call the first backward with retain_graph=True",
            ),
            "or compute the result again before the second one (in a loop: inside of it)",
        ),
        name=roots,
    )


# ---- roots


def root_of(facts: Facts, failure: Failure) -> tuple[str, TensorRecord | None]:
    """Return the tensor that backward was called on: X in X.backward(), the argument of
    autograd.backward or grad.
    """
    call = places.method_call(facts.text.statement(failure.span), ("backward", "grad"))
    node: Any = None
    if call is not None:
        called = call.func
        is_method = isinstance(called, ast.Attribute) and called.attr == "backward"
        if is_method and not (
            isinstance(called.value, ast.Attribute) and called.value.attr == "autograd"
        ):
            node = called.value
        elif call.args:
            node = call.args[0]
    if node is None:
        roots = facts.trace.roots
        return (facts.label(roots[0]), facts.tensors[roots[0]]) if roots else ("the result", None)
    text = facts.text.cut(node)
    same = (t for t in reversed(facts.tensors) if "".join(t.label.split()) == "".join(text.split()))
    return text, facts.variable(text) or next(same, None)


def without_grad(facts: Facts, name: str, record: TensorRecord) -> Cause:
    """Explain why a tensor that the program differentiates does not require grad."""
    return history.no_history(facts, record)._replace(
        name=name, symptom=f"{name} does not require grad"
    )


def no_grad_root(facts: Facts, failure: Failure) -> Cause | None:
    """Explain the error "element 0 of tensors does not require grad"."""
    name, record = root_of(facts, failure)
    if record is not None:
        return without_grad(facts, name, record)
    because = f"{name} does not require grad, so backward has nowhere to go"
    return Cause(
        "no grad", because, (), ("let something that it is computed from require grad",), name=name
    )


def forward_without_apply(facts: Facts, failure: Failure) -> Cause | None:
    """Explain a Function's forward that was called directly, without apply."""
    calls = places.direct_forwards(facts.text)
    call = next(
        (c for c in calls if failure.span is None or c.lineno == failure.span.line),
        next(iter(calls), None),
    )
    if call is None:
        return None
    name = call.func.value.id
    span = places.span_of(call)
    return Cause(
        "forward without apply",
        f"{name}.forward was called directly{facts.at_line(span)}: without apply it gets no ctx, "
        f"and {name}.backward is not used",
        [facts.at(f"{name}.forward runs as plain code here", span)],
        (f"call {name}.apply(...) without the ctx",),
        name=name,
    )


def not_scalar(facts: Facts, failure: Failure) -> Cause | None:
    """Explain the error "grad can be implicitly created only for scalar outputs"."""
    name, record = root_of(facts, failure)
    shape = "of several elements" if record is None or record.value is None else record.shape
    whole = enclosed(name)
    return Cause(
        "not a scalar",
        f"{name} has the shape {shape}: backward starts by itself only from one number",
        origin_of(facts, record),
        (
            reduced(
                facts,
                failure,
                f"reduce it first: {whole}.sum().backward() or {whole}.mean().backward()",
            ),
            f"or give the weights: {whole}.backward(torch.ones_like({name}))",
        ),
        name=name,
    )


def reduced(facts: Facts, failure: Failure, text: str) -> str:
    """Return the advice to call backward on a sum; it can be tried if the failed statement is such
    a call.
    """
    call = places.method_call(facts.text.statement(failure.span), ("backward",))
    if call is None or call.args or not isinstance(call.func, ast.Attribute):
        return text
    return Fix(
        text, [(span_of(call.func.value), f"{enclosed(facts.text.cut(call.func.value))}.sum()")]
    )


def origin_of(facts: Facts, record: TensorRecord | None) -> list[Any]:
    return [] if record is None else [facts.origin(record)]


# ---- leaves and flags


def subject(facts: Facts, failure: Failure) -> tuple[str, TensorRecord | None]:
    """Return the tensor that the failing statement changes or calls: w in `w += 1`, `w[0] = 1` and
    `w.add_(1)`.
    """
    statement = facts.text.statement(failure.span)
    node: Any = None
    if isinstance(statement, ast.AugAssign):
        node = statement.target
    elif isinstance(statement, ast.Assign) and isinstance(
        statement.targets[0], (ast.Subscript, ast.Attribute)
    ):
        node = statement.targets[0]
    elif statement is not None:
        calls = (n.func for n in ast.walk(statement) if isinstance(n, ast.Call))
        node = next((called.value for called in calls if isinstance(called, ast.Attribute)), None)
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    name = node.id if isinstance(node, ast.Name) else ""
    return name or UNNAMED, facts.variable(name)


UNNAMED = "the tensor"


def with_name(name: str, *advice: str) -> tuple[str, ...]:
    """Return advice that has a tensor's name in code; () for a tensor without a name."""
    return () if name == UNNAMED else advice


def leaf_in_place(facts: Facts, failure: Failure) -> Cause | None:
    name, record = subject(facts, failure)
    return Cause(
        "leaf in place",
        f"{name} is a leaf that requires grad, and line "
        f"{failure.span.line if failure.span else '?'} changes it in place: its old value would be "
        "lost to backward",
        origin_of(facts, record),
        (
            f"with torch.no_grad(): change {name} there, as an optimiser does",
            *with_name(name, f"or make a new tensor of another name: {name}2 = {name} + ..."),
        ),
        name=name,
    )


def flags_of_leaves(facts: Facts, failure: Failure) -> Cause | None:
    name, record = subject(facts, failure)
    because = f"{name} is computed, so its requires_grad follows from what it was computed from"
    advice = with_name(name, f"use {name}.detach() for a part without gradient")
    return Cause("not a leaf", because, origin_of(facts, record), advice, name=name)


def needs_grad(facts: Facts, failure: Failure) -> Cause | None:
    """Explain retain_grad or register_hook on a tensor that does not require grad."""
    name, record = subject(facts, failure)
    return None if record is None else without_grad(facts, name, record)


def numpy_of(facts: Facts, failure: Failure) -> Cause | None:
    name, record = subject(facts, failure)
    because = f"{name} requires grad, and a numpy array could not carry that on"
    advice = (
        f"{'...' if name == UNNAMED else name}.detach().numpy() says that no gradient is wanted",
    )
    return Cause("numpy", because, origin_of(facts, record), advice, name=name)


def floats_alone(facts: Facts, failure: Failure) -> Cause | None:
    because = "Only floating-point tensors can require grad, and this one holds integers"
    return Cause(
        "integer",
        because,
        (),
        ("write 1. instead of 1, or dtype=torch.float32",),
        name="the tensor",
    )


def unused(facts: Facts, failure: Failure) -> Cause | None:
    """Explain autograd.grad with an input that the outputs do not depend on."""
    if not facts.passes:
        return None
    last = facts.passes[-1]
    reached = reachable_functions(facts.trace, last.roots)
    facts.storing = [last]
    for name, record in inputs_of(facts, failure, ("grad",)):
        cause = unreached(facts, record) if record.function not in reached else None
        if cause is not None:
            advice = ("allow_unused=True gives None for it", *cause.advice)
            return cause._replace(
                name=name,
                symptom=f"{name} has no gradient from {facts.root_names()}",
                advice=advice,
            )
    return None


def no_grad_input(facts: Facts, failure: Failure) -> Cause | None:
    inputs = inputs_of(facts, failure, ("grad", "backward"))
    return next(
        (without_grad(facts, name, record) for name, record in inputs if not record.requires_grad),
        None,
    )


def underived(facts: Facts, failure: Failure) -> Cause | None:
    """Explain the error "derivative for aten::floor_divide is not implemented"."""
    function = failing_function(facts)
    operation = None if function is None else facts.arrivals.operations.get(function.id)
    if function is None or operation is None:
        return None
    name = next(
        (facts.label(i) for i in operation.tensors if facts.tensors[i].requires_grad),
        operation.name,
    )
    remedies = {
        "floor_divide": (
            "a / b has a useful one",
            "torch.div(a, b, rounding_mode='floor') has one that is 0",
        )
    }
    return Cause(
        "no derivative",
        f"{operation.name}{facts.at_line(function.span)} has no derivative, and backward comes "
        f"through it to {name}",
        [facts.at(f"{operation.name} is used here", function.span)],
        remedies.get(
            operation.name, ("leave it out of what is differentiated: .detach() before it",)
        ),
        name=name,
    )


def inputs_of(
    facts: Facts, failure: Failure, called: tuple[str, ...]
) -> list[tuple[str, TensorRecord]]:
    """Return the variables among the inputs of the failing call of autograd.grad or backward."""
    call = places.method_call(facts.text.statement(failure.span), called)
    if call is None:
        return []
    nodes = [k.value for k in call.keywords if k.arg == "inputs"] or call.args[1:2]
    names = [name for node in nodes for name in names_in(node)]
    return [(name, record) for name in names if (record := facts.variable(name)) is not None]


CLASSIC: tuple[tuple[str, Callable[[Facts, Failure], Cause | None]], ...] = (
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
    (ENDED, unused_under_ddp),
    *((words, lost_peer) for words in PEERS),
)
