"""Find errors of training loops: gradients that are never cleared, no step, a method that is not
called, a name bound again.
"""

from __future__ import annotations

from gradtrace.analysis import history, places
from gradtrace.analysis.cause import Cause, Evidence
from gradtrace.analysis.facts import Facts, is_nonzero
from gradtrace.analysis.ledger.book import ledger_of
from gradtrace.analysis.ledger.parameters import ParameterEntry
from gradtrace.analysis.rewrites import with_statement
from gradtrace.analysis.terms import assigned_name, loads, named, optimiser_name
from gradtrace.analysis.words import brief
from gradtrace.annotations import Any
from gradtrace.program import syntax as ast
from gradtrace.trace.record import OptimiserRecord

METHODS = ("backward", "step", "zero_grad")
MODES = ("eval", "train")  # of modules; also names of data


def updated(facts: Facts, leaf: int | None = None) -> OptimiserRecord | None:
    """Return the optimiser that took the most steps, of those that hold `leaf`; None if none took
    one.
    """
    stepping = [
        optimiser
        for optimiser in facts.trace.optimisers
        if optimiser.steps and (leaf is None or leaf in facts.held_by(optimiser))
    ]
    return max(stepping, key=lambda optimiser: optimiser.steps, default=None)


# ---- gradients between the steps


def never_cleared(facts: Facts) -> Cause | None:
    """Find gradients that are never cleared, so that they accumulate over all updates."""
    if len(facts.trace.training) < 2:
        return None
    ledger = ledger_of(facts)
    leaves = [
        entry.leaf
        for entry in ledger.trained or ledger.parameters.values()
        if entry.leaf not in facts.assigned and is_sum(facts, entry)
    ]
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


def is_sum(facts: Facts, entry: ParameterEntry) -> bool:
    """Whether a leaf with gradients was changed, and each was added to those before it; a change of
    which no place is recorded counts.
    """
    sums = [gradient.turn.grad_before for gradient in entry.gradients[1:]]
    is_used = any(gradient.stale for gradient in entry.gradients)
    is_moved = facts.tensors[entry.leaf].version > 0 and not (entry.updates or entry.writes)
    return bool(sums) and (is_used or is_moved) and all(map(is_nonzero, sums))


def no_step(facts: Facts) -> Cause | None:
    """Find an optimiser in a loop that never takes a step, or whose steps have length 0."""
    optimisers = facts.trace.optimisers
    still = next(
        (optimiser for optimiser in optimisers if optimiser.lr == 0 and optimiser.steps > 1), None
    )
    parameters = ledger_of(facts).parameters
    if still is not None and not any(parameters[i].has_moved for i in facts.held_by(still)):
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
    if any(facts.tensors[i].version for i in facts.held_by(idle)):
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
    leaves = facts.held_by(optimiser)
    return Cause("no step", because, evidence, (fix,), symptom="nothing is updated", tensors=leaves)


# ---- methods that are not called


def not_called(facts: Facts) -> Cause | None:
    """Explain statements that name a method of training without its parentheses."""
    modules = {scope.name for scope in facts.trace.scopes if scope.kind == "module"}
    statements = places.uncalled(facts.text, METHODS) + [
        statement
        for statement in places.uncalled(facts.text, MODES)
        if facts.text.cut(statement).rpartition(".")[0] in modules
    ]
    if not statements:
        return None
    calls = [(facts.text.cut(statement), places.head_of(statement)) for statement in statements]
    lines = " and ".join(f"line {head.line} names {text}" for text, head in calls)
    is_called = "it is not called" if len(calls) == 1 else "these are not called"
    because = f"{lines} without parentheses, so {is_called}"
    evidence = [facts.at("this only looks the method up", head) for _, head in calls]
    advice: tuple[str, ...] = tuple(
        with_statement(statement, f"{text}()", f"{text}(){facts.at_line(head)}")
        for statement, (text, head) in zip(statements, calls, strict=True)
    )
    root = facts.variable(calls[0][0].removesuffix(".backward"))
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
