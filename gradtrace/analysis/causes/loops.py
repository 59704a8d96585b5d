"""Find errors of training loops: divergence, gradients cleared never or too early, a name bound again."""

from __future__ import annotations

from math import isfinite, isnan

from gradtrace.analysis import places
from gradtrace.analysis.answer import Evidence, Facts, is_zero
from gradtrace.analysis.causes.cause import Cause, at_line, code_at, loads, named
from gradtrace.analysis.words import brief
from gradtrace.annotations import Any
from gradtrace.lang import syntax as ast
from gradtrace.trace.record import BackwardStep, Change, OptimiserRecord, Span, Value

GROWN = 1e3  # by how much a loss has grown when a loop diverges
CLEARS = ("cleared", "zero_")


def updated(facts: Facts) -> OptimiserRecord | None:
    """Return the optimiser that took the most steps; None if there is none."""
    return max(facts.trace.optimisers, key=lambda one: one.steps, default=None)


def variable_of(facts: Facts, span: Span | None, method: str, otherwise: str) -> str:
    """Return the variable x of the call x.step() at a place."""
    text = code_at(facts, span)
    name, dot, rest = text.partition(f".{method}(")
    return name.strip() if dot and rest is not None and name.strip().replace(".", "").isidentifier() else otherwise


def gradient_changes(facts: Facts) -> dict[int, list[Change]]:
    """Return, by leaf, the writes to its gradient and its updates by optimisers, in order."""
    found: dict[int, list[Change]] = {}
    for change in facts.trace.changes:
        if change.of_grad or change.how == "step":
            for leaf in facts.leaves_of(change):
                found.setdefault(leaf, []).append(change)
    return found


# ---- divergence


def losses(facts: Facts) -> list[tuple[int, float]]:
    """Return the loss of each training step whose backward began at a single number."""
    found = []
    for step in facts.trace.training:
        values = [facts.trace.tensors[i].value for i in step.roots]
        value: Any = next((v for v in reversed(values) if v is not None and v.numel == 1), None)
        if value is not None:
            found.append((step.number, float(value.data if not value.shape else value.data.flat[0])))
    return found


def diverges(facts: Facts) -> Cause | None:
    """Find a loss that grows from step to step."""
    told = losses(facts)
    finite = [(n, x) for n, x in told if isfinite(x)]
    if len(finite) < 3:
        return leaps(facts, told)
    (first, low), (last, high) = finite[0], finite[-1]
    ends = [(n, x) for n, x in told if n > last]
    grown = abs(high) / max(abs(low), 1e-12)
    rises = sum(abs(finite[i + 1][1]) > abs(finite[i][1]) for i in range(len(finite) - 1))
    if grown < (GROWN if not ends else 30) or rises < 0.8 * (len(finite) - 1):
        return None
    optimiser = updated(facts)
    span = optimiser.span if optimiser is not None and optimiser.steps else facts.trace.training[0].span
    lr = None if optimiser is None or not optimiser.steps else optimiser.lr
    end = ""
    if ends:
        end = f" and is {'nan' if isnan(ends[0][1]) else 'inf'} in step {ends[0][0]}"
    if lr is None and (by_hand := own_update(facts)) is not None:
        span, uphill = places.head_of(by_hand), adds(by_hand)
        if uphill:
            return ascent(facts, by_hand, finite)
    rate = "" if lr is None else f" with lr={lr:g}"
    evidence: list[Evidence] = []
    shown = finite[:3] if len(finite) > 3 else finite
    evidence.append(Evidence("the loss is " + ", ".join(f"{x:.4g} in step {n}" for n, x in shown)))
    if span is not None:
        evidence.insert(0, facts.at(f"the steps are made{rate}", span))
    factor = (abs(finite[-1][1]) / max(abs(finite[-2][1]), 1e-300)) ** 0.5
    fix = (f"a smaller factor{at_line(span)}: a tenth of it, or less",)
    if lr is not None:
        fix = (f"lr={rounded(lr / (1 + max(factor, 2.0))):g} in place of lr={lr:g}{at_line(span)}",)
    return Cause(
        "diverges",
        "the loop diverges",
        f"the loss grows from {low:.4g} in step {first} to {high:.4g} in step {last}{end}; the steps overshoot{rate}"
        f"{at_line(span)}, the learning rate is too large",
        span,
        tuple(evidence),
        (*fix, "or scale the inputs down first: x = (x - x.mean(0)) / x.std(0)"),
        None,
        "nan" if ends else "found",
    )


def own_update(facts: Facts) -> Any:
    """Return the statement that changes a parameter by its gradient without an optimiser: `w -= 0.1 * w.grad`."""
    for statement in facts.text.simple:
        if isinstance(statement, ast.AugAssign) and ".grad" in facts.text.cut(statement.value):
            return statement
    return None


def adds(statement: Any) -> bool:
    """Whether an update adds the gradient instead of subtracting it."""
    minus = any(isinstance(node, (ast.USub, ast.Sub)) for node in ast.walk(statement.value))
    return isinstance(statement.op, ast.Add) and not minus


def ascent(facts: Facts, statement: Any, finite: list[tuple[int, float]]) -> Cause:
    head, text = places.head_of(statement), facts.text.cut(statement)
    return Cause(
        "ascent",
        "the loss grows",
        f"line {head.line} adds the gradient to {facts.text.cut(statement.target)}, which goes uphill: the loss is "
        f"{finite[0][1]:.4g} in step {finite[0][0]} and {finite[-1][1]:.4g} in step {finite[-1][0]}",
        head,
        (facts.at("the gradient points to where the loss grows", head),),
        (text.replace("+=", "-=", 1),),
    )


def leaps(facts: Facts, told: list[tuple[int, float]]) -> Cause | None:
    """Find a first update so large that the numbers of the next step are not finite."""
    bad = next((n for n, x in told if not isfinite(x)), None)
    optimiser = updated(facts)
    if bad is None or bad < 2 or optimiser is None or not optimiser.steps or optimiser.lr is None:
        return None
    before = bad - 1
    for leaf in map(facts.flow.tensor, optimiser.tensors):
        sizes = [v.norm for v in versions(facts, leaf)]
        if len(sizes) <= before or not isfinite(sizes[before]) or sizes[before] < 30 * max(sizes[before - 1], 1e-12):
            continue
        grown = sizes[before] / max(sizes[before - 1], 1e-12)
        name, lr = named(facts, leaf), optimiser.lr
        return Cause(
            "diverges",
            "the loop diverges",
            f"step {before} with lr={lr:g}{at_line(optimiser.span)} makes {name} {grown:.2g} times as large, and the "
            f"loss is {'nan' if isnan(dict(told)[bad]) else 'inf'} in step {bad}: the steps overshoot, the learning "
            "rate is too large",
            optimiser.span,
            (
                facts.at(f"the steps are made with lr={lr:g}", optimiser.span),
                Evidence(
                    f"the norm of {name} is {sizes[before - 1]:.3g} before the step, {sizes[before]:.3g} after it"
                ),
            ),
            (f"lr={rounded(lr / grown):g} in place of lr={lr:g}{at_line(optimiser.span)}", "or scale the inputs down"),
            None,
            "nan",
        )
    return None


def is_still(facts: Facts, leaf: int) -> bool:
    """Whether the last value of a leaf equals its first one."""
    held = versions(facts, leaf)
    return len(held) < 2 or (held[0].is_whole and held[0] == held[-1])


def versions(facts: Facts, leaf: int) -> list[Value]:
    """Return the values of a leaf, version by version."""
    first = facts.trace.tensors[leaf].first
    found = [t.value for t in facts.trace.tensors if t.first == first]
    return [value for value in found if value is not None]


def rounded(x: float) -> float:
    """Return a number with one significant digit, rounded down."""
    digit = float(f"{x:.0e}")
    return digit if digit <= x else float(f"{digit * 0.5:.0e}")


# ---- gradients between the steps


def never_cleared(facts: Facts) -> Cause | None:
    """Find gradients that are never cleared, so that they accumulate over all updates."""
    if len(facts.trace.training) < 2:
        return None
    changes = gradient_changes(facts)
    leaves = []
    for leaf, visits in facts.stored.items():
        added = [v for v in visits if v.grad_before is not None and not is_zero(v.grad_before)]
        moved = facts.trace.tensors[leaf].version > 0
        was_cleared = any(c.how in (*CLEARS, "assigned") for c in changes.get(leaf, ()))
        if len(visits) > 1 and len(added) == len(visits) - 1 and moved and not was_cleared:
            leaves.append(leaf)
    if not leaves:
        return None
    leaf = leaves[0]
    visits = facts.stored[leaf]
    one = facts.trace.passes[visits[-1].number]
    optimiser = updated(facts)
    name = named(facts, leaf)
    last = visits[-1]
    evidence = [facts.backward(one)]
    if last.grad_before is not None and last.grad_after is not None:
        evidence.append(
            Evidence(f"{name}.grad was {brief(last.grad_before)} there and becomes {brief(last.grad_after)}")
        )
    if optimiser is not None and optimiser.steps:
        evidence.append(facts.at("the step uses the sum of all passes so far", optimiser.step_span))
        call = f"{variable_of(facts, optimiser.step_span, 'step', 'optimizer')}.zero_grad()"
    else:
        call = f"{name}.grad = None"
    return Cause(
        "accumulated",
        "",
        f"gradients accumulate: no zero_grad() clears them between the steps, so backward{at_line(one.span)} adds "
        f"each step's to the sum of those before ({name}.grad: {len(facts.trace.passes)} passes added up)",
        one.span,
        tuple(evidence),
        (f"{call} before backward{at_line(one.span)}",),
        frozenset(leaves),
    )


def cleared_early(facts: Facts) -> Cause | None:
    """Find gradients that are cleared between backward and the step that should use them."""
    optimiser = updated(facts)
    if optimiser is None or not optimiser.steps:
        return None
    visits, changes = facts.stored, gradient_changes(facts)
    for leaf in map(facts.flow.tensor, optimiser.tensors):
        clear = clear_before_step(visits.get(leaf, []), changes.get(leaf, []), optimiser)
        if clear is None:
            continue
        step_line, clear_line = at_line(optimiser.step_span), at_line(clear.span)
        ran = facts.trace.passes[visits[leaf][0].number]
        held = frozenset(map(facts.flow.tensor, optimiser.tensors))
        return Cause(
            "cleared early",
            "nothing is updated",
            f"{clear.text or 'zero_grad()'}{clear_line} clears the gradients of backward{at_line(ran.span)} before "
            f"step(){step_line} uses them",
            clear.span,
            (
                facts.backward(ran),
                facts.at(f"{named(facts, leaf)}.grad is cleared here", clear.span),
                facts.at(f"{optimiser.idle or 'all'} of {optimiser.steps} steps find no gradient", optimiser.step_span),
            ),
            (f"move {clear.text or 'zero_grad()'} before backward(), or after step()",),
            held,
        )
    return None


def clear_before_step(visits: list[BackwardStep], changes: list[Change], optimiser: OptimiserRecord) -> Change | None:
    """Return the call that clears the gradients right before every step; None if any step used a pass's gradients."""
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
    still = next((one for one in facts.trace.optimisers if one.lr == 0 and one.steps > 1), None)
    if still is not None and all(is_still(facts, facts.flow.tensor(i)) for i in still.tensors):
        return Cause(
            "no step",
            "nothing is updated",
            f"the optimiser{at_line(still.span)} was made with lr=0, so that its steps change nothing",
            still.span,
            (facts.at("lr=0 here", still.span), facts.at(f"{still.steps} steps were taken", still.step_span)),
            ("lr=1e-3, or a scheduler that raises it",),
            frozenset(map(facts.flow.tensor, still.tensors)),
        )
    idle = [one for one in facts.trace.optimisers if not one.steps]
    stored = [p for p in facts.trace.passes if p.stores and not p.error]
    if len(idle) != len(facts.trace.optimisers) or not idle or len(stored) < 3 or facts.trace.failure is not None:
        return None
    if any(facts.trace.tensors[facts.flow.tensor(i)].version for i in idle[0].tensors):
        return None
    name = assigned_name(facts, idle[0].span) or "optimizer"
    return Cause(
        "no step",
        "nothing is updated",
        f"{name}, made{at_line(idle[0].span)}, never takes a step: {name}.step() is not called",
        idle[0].span,
        (facts.at(f"{name} holds {idle[0].held} tensors", idle[0].span), facts.backward(stored[-1])),
        (f"{name}.step() after backward{at_line(stored[-1].span)}",),
        frozenset(map(facts.flow.tensor, idle[0].tensors)),
    )


def assigned_name(facts: Facts, span: Span | None) -> str:
    statement = facts.text.statement(span)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    return facts.text.cut(target) if target is not None else ""


# ---- names bound again


def rebound(facts: Facts) -> Cause | None:
    """Find `w = w - lr * w.grad`, which makes w a non-leaf tensor."""
    ran = {o.span.line for o in facts.trace.operations if o.span is not None and not o.span.file}
    for statement in facts.text.simple:
        name = own_gradient(statement)
        if not name or not ran.intersection(range(statement.lineno, (statement.end_lineno or 0) + 1)):
            continue
        text = facts.text.cut(statement)
        if "detach" in text or "requires_grad" in text or made_leaf_again(facts, name, statement):
            continue
        head = places.head_of(statement)
        value = statement.value
        update = f"{name} -= {facts.text.cut(value.right)}" if isinstance(value, ast.BinOp) and isinstance(
            value.op, ast.Sub
        ) else f"{name}.copy_({facts.text.cut(value)})"  # fmt: skip
        under = facts.text.mode_around(head) is not None
        why = "that does not require grad" if under else "and not a leaf: backward stores no gradient in it"
        leaves = [
            b for b in facts.trace.begun if named(facts, b.tensor) == name or not facts.trace.tensors[b.tensor].name
        ]
        known = dict(facts.trace.names)
        about = {b.tensor for b in leaves} | ({known[name]} if name in known else set())
        return Cause(
            "rebound",
            "",
            f"line {head.line} binds {name} to a new tensor, the result of an operation {why}",
            head,
            (
                *[facts.at(f"{name} is a leaf here", places.head_of(s)) for s in facts.text.assignments(name)[:1]],
                facts.at(f"from here on {name} is another tensor, and {name}.grad is None", head),
            ),
            (f"with torch.no_grad(): {update}", f"and {name}.grad = None after it"),
            frozenset(about),
        )
    return None


def own_gradient(statement: Any) -> str:
    """Return the name x of a statement such as `x = x - lr * x.grad`; "" for any other statement."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ""
    target = statement.targets[0]
    if not isinstance(target, ast.Name) or not isinstance(statement.value, ast.BinOp):
        return ""
    reads = loads(statement.value)
    return target.id if target.id in reads and f"{target.id}.grad" in reads else ""


def made_leaf_again(facts: Facts, name: str, statement: Any) -> bool:
    """Whether a later statement makes the new tensor require grad."""
    return any(
        s.lineno > statement.lineno and (f"{name}.requires_grad" in facts.text.cut(s) or f"{name}.retain_grad" in
                                         facts.text.cut(s))
        for s in facts.text.simple
    )  # fmt: skip
