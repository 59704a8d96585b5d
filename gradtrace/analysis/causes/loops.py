"""Find errors of training loops: gradients cleared never or too early, no step, a method that is
not called, a name bound again.
"""

from __future__ import annotations

from gradtrace.analysis import history, places
from gradtrace.analysis.cause import Cause, Evidence
from gradtrace.analysis.facts import Facts, is_zero
from gradtrace.analysis.numbers import CLEARS
from gradtrace.analysis.rewrites import with_statement
from gradtrace.analysis.terms import assigned_name, loads, named, optimiser_name
from gradtrace.analysis.updates import is_updated_between
from gradtrace.analysis.words import brief
from gradtrace.annotations import Any
from gradtrace.program import syntax as ast
from gradtrace.trace.record import BackwardStep, Change, OptimiserRecord, Value

METHODS = ("backward", "step", "zero_grad")


def updated(facts: Facts, leaf: int | None = None) -> OptimiserRecord | None:
    """Return the optimiser that took the most steps, of those that hold `leaf`; None if none took
    one.
    """
    stepping = [optimiser for optimiser in facts.trace.optimisers if optimiser.steps]
    stepping = [
        optimiser
        for optimiser in stepping
        if leaf is None or leaf in map(facts.flow.tensor, optimiser.tensors)
    ]
    return max(stepping, key=lambda optimiser: optimiser.steps, default=None)


def gradient_changes(facts: Facts) -> dict[int, list[Change]]:
    """Return, by leaf, the writes to its gradient and its updates by optimisers, in order."""
    by_leaf: dict[int, list[Change]] = {}
    for change in facts.trace.changes:
        if change.of_grad or change.how == "step":
            for leaf in facts.leaves_of(change):
                by_leaf.setdefault(leaf, []).append(change)
    return by_leaf


def is_still(facts: Facts, leaf: int) -> bool:
    """Whether the last value of a leaf equals its first one."""
    values = versions(facts, leaf)
    return len(values) < 2 or (values[0].is_whole and values[0] == values[-1])


def versions(facts: Facts, leaf: int) -> list[Value]:
    """Return the values of a leaf, version by version."""
    first = facts.tensors[leaf].first
    return [t.value for t in facts.tensors if t.first == first and t.value is not None]


# ---- gradients between the steps


def never_cleared(facts: Facts) -> Cause | None:
    """Find gradients that are never cleared, so that they accumulate over all updates."""
    if len(facts.trace.training) < 2:
        return None
    changes = gradient_changes(facts)
    leaves = []
    held = {facts.flow.tensor(i) for o in facts.trace.optimisers if o.steps for i in o.tensors}
    for leaf, visits in facts.stored.items():
        if held and leaf not in held:
            continue  # no update uses this gradient
        added = [v for v in visits if v.grad_before is not None and not is_zero(v.grad_before)]
        was_cleared = any(c.how in (*CLEARS, "assigned") for c in changes.get(leaf, ()))
        if len(added) < len(visits) - 1 or len(visits) < 2 or was_cleared:
            continue
        if is_updated_between(facts, leaf, visits[0].number, visits[-1].number):
            leaves.append(leaf)
    if not leaves:
        return None
    name = named(facts, leaves[0])
    last = facts.stored[leaves[0]][-1]
    pass_ = facts.passes[last.number]
    optimiser = updated(facts, leaves[0])
    evidence = [facts.backward(pass_)]
    call = f"{name}.grad = None"
    if last.grad_before is not None and last.grad_after is not None:
        evidence.append(
            Evidence(
                f"{name}.grad was {brief(last.grad_before)} there and becomes "
                f"{brief(last.grad_after)}"
            )
        )
    if optimiser is not None:
        evidence.append(facts.at("the step uses the sum of all passes so far", optimiser.step_span))
        call = f"{optimiser_name(facts, optimiser)}.zero_grad()"
    return Cause(
        "accumulated",
        "gradients accumulate: no zero_grad() clears them between the steps, so "
        f"backward{facts.at_line(pass_.span)} adds each step's to the sum of those before "
        f"({name}.grad: {len(facts.stored[leaves[0]])} passes added up)",
        evidence,
        (f"{call} before backward{facts.at_line(pass_.span)}",),
        tensors=frozenset(leaves),
    )


def cleared_early(facts: Facts) -> Cause | None:
    """Find gradients that are cleared between backward and the step that should use them."""
    optimiser = updated(facts)
    if optimiser is None:
        return None
    visits = facts.stored
    changes = gradient_changes(facts)
    leaves = [facts.flow.tensor(i) for i in optimiser.tensors]
    for leaf in leaves:
        clear = clear_before_step(visits.get(leaf, []), changes.get(leaf, []), optimiser)
        if clear is None:
            continue
        ran = facts.passes[visits[leaf][0].number]
        call = clear.text or "zero_grad()"
        return Cause(
            "cleared early",
            f"{call}{facts.at_line(clear.span)} clears the gradients of "
            f"backward{facts.at_line(ran.span)} before step(){facts.at_line(optimiser.step_span)} "
            "uses them",
            (
                facts.backward(ran),
                facts.at(f"{named(facts, leaf)}.grad is cleared here", clear.span),
                facts.at(
                    f"{optimiser.idle or 'all'} of {optimiser.steps} steps find no gradient",
                    optimiser.step_span,
                ),
            ),
            (f"move {call} before backward(), or after step()",),
            symptom="nothing is updated",
            tensors=frozenset(leaves),
        )
    return None


def clear_before_step(
    visits: list[BackwardStep], changes: list[Change], optimiser: OptimiserRecord
) -> Change | None:
    """Return the call that clears the gradients right before every step; None if any step used a
    pass's gradients.
    """
    if not visits:
        return None
    clears = [c for c in changes if c.how in CLEARS]
    steps = [c for c in changes if c.how == "step"]
    if not steps:
        return clears[0] if clears and optimiser.idle == optimiser.steps else None
    for step in steps:
        before = [c for c in changes if c.after_steps == step.after_steps and c in clears]
        if not before or changes.index(before[-1]) > changes.index(step):
            return None
    return clears[0] if clears else None


def no_step(facts: Facts) -> Cause | None:
    """Find an optimiser in a loop that never takes a step, or whose steps have length 0."""
    optimisers = facts.trace.optimisers
    still = next(
        (optimiser for optimiser in optimisers if optimiser.lr == 0 and optimiser.steps > 1), None
    )
    if still is not None and all(is_still(facts, facts.flow.tensor(i)) for i in still.tensors):
        because = (
            f"the optimiser{facts.at_line(still.span)} was made with lr=0, so that its steps "
            "change nothing"
        )
        evidence = (
            facts.at("lr=0 here", still.span),
            facts.at(f"{still.steps} steps were taken", still.step_span),
        )
        return not_updated(
            facts, still, because, evidence, "lr=1e-3, or a scheduler that raises it"
        )
    stored = [p for p in facts.passes if p.stores and not p.error]
    if (
        not optimisers
        or any(optimiser.steps for optimiser in optimisers)
        or len(stored) < 3
        or facts.trace.failure is not None
    ):
        return None
    idle = optimisers[0]
    if any(facts.tensors[facts.flow.tensor(i)].version for i in idle.tensors):
        return None
    name = assigned_name(facts, idle.span) or "optimizer"
    because = (
        f"{name}, made{facts.at_line(idle.span)}, never takes a step: {name}.step() is not called"
    )
    evidence = facts.at(f"{name} holds {idle.held} tensors", idle.span), facts.backward(stored[-1])
    return not_updated(
        facts,
        idle,
        because,
        evidence,
        f"{name}.step() after backward{facts.at_line(stored[-1].span)}",
    )


def not_updated(
    facts: Facts, optimiser: OptimiserRecord, because: str, evidence: tuple[Evidence, ...], fix: str
) -> Cause:
    leaves = frozenset(map(facts.flow.tensor, optimiser.tensors))
    return Cause("no step", because, evidence, (fix,), symptom="nothing is updated", tensors=leaves)


# ---- methods that are not called


def not_called(facts: Facts) -> Cause | None:
    """Explain a statement that names backward, step or zero_grad without its parentheses."""
    statement = places.uncalled(facts.text, METHODS)
    if statement is None:
        return None
    text = facts.text.cut(statement)
    head = places.head_of(statement)
    because = f"line {head.line} names {text} without parentheses, so it is not called"
    evidence = [facts.at("this only looks the method up", head)]
    advice: tuple[str, ...] = (
        with_statement(facts, statement, f"{text}()", f"{text}(){facts.at_line(head)}"),
    )
    root = facts.variable(text.removesuffix(".backward"))
    if root is not None and not root.requires_grad:
        cause = history.no_history(facts, root)
        because += f"; and {root.label} does not require grad: {cause.because}"
        evidence = [*evidence, *cause.evidence]
        advice = (*cause.advice, *advice)
    return Cause("not called", because, evidence, advice)


# ---- names bound again


def rebound(facts: Facts) -> Cause | None:
    """Find `w = w - lr * w.grad`, which makes w a non-leaf tensor."""
    ran = {o.span.line for o in facts.operations if o.span is not None and not o.span.file}
    for statement in facts.text.simple:
        name = own_gradient(statement)
        if not name or not ran.intersection(places.lines_of(statement)):
            continue
        text = facts.text.cut(statement)
        value = statement.value
        if "detach" in text or "requires_grad" in text or made_leaf_again(facts, name, statement):
            continue
        head = places.head_of(statement)
        update = f"{name}.copy_({facts.text.cut(value)})"
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Sub):
            update = f"{name} -= {facts.text.cut(value.right)}"
        under = facts.text.mode_around(head) is not None
        why = (
            "that does not require grad"
            if under
            else "and not a leaf: backward stores no gradient in it"
        )
        about = {i for i in facts.begun if named(facts, i) == name or not facts.tensors[i].name}
        return Cause(
            "rebound",
            f"line {head.line} binds {name} to a new tensor, the result of an operation {why}",
            (
                *[
                    facts.at(f"{name} is a leaf here", places.head_of(s))
                    for s in facts.text.assignments(name)[:1]
                ],
                facts.at(f"from here on {name} is another tensor, and {name}.grad is None", head),
            ),
            (f"with torch.no_grad(): {update}", f"and {name}.grad = None after it"),
            tensors=frozenset(about | {facts.names[name]} if name in facts.names else about),
        )
    return None


def own_gradient(statement: Any) -> str:
    """Return the name x of a statement such as `x = x - lr * x.grad`; "" for any other
    statement.
    """
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ""
    target = statement.targets[0]
    if not isinstance(target, ast.Name) or not isinstance(statement.value, ast.BinOp):
        return ""
    reads = loads(statement.value)
    return target.id if target.id in reads and f"{target.id}.grad" in reads else ""


def made_leaf_again(facts: Facts, name: str, statement: Any) -> bool:
    """Whether a later statement makes the new tensor require grad."""
    later = [facts.text.cut(s) for s in facts.text.simple if s.lineno > statement.lineno]
    return any(f"{name}.requires_grad" in text or f"{name}.retain_grad" in text for text in later)
