"""Find errors of training loops: divergence, gradients cleared never or too early, a name bound again."""

from __future__ import annotations

from itertools import pairwise
from math import hypot, isfinite, isnan

from gradtrace.analysis import places
from gradtrace.analysis.cause import Cause, Evidence
from gradtrace.analysis.causes.order import forward_cause
from gradtrace.analysis.causes.rates import rate_at, schedule_of
from gradtrace.analysis.facts import Facts, is_finite, is_zero, loss_of
from gradtrace.analysis.numbers import CLEARS
from gradtrace.analysis.terms import assigned_name, has_nan, loads, named, optimiser_name
from gradtrace.analysis.updates import is_updated_between
from gradtrace.analysis.words import brief
from gradtrace.annotations import Any
from gradtrace.program import syntax as ast
from gradtrace.trace.record import BackwardStep, Change, OptimiserRecord, Value

GROWN = 1e3  # by how much a loss has grown when a loop diverges
FASTER = 1.2  # by how much its last step lets it grow: overshooting multiplies, other losses rise by like amounts


def updated(facts: Facts, leaf: int | None = None) -> OptimiserRecord | None:
    """Return the optimiser that took the most steps, of those that hold `leaf`; None if none took one."""
    stepping = [optimiser for optimiser in facts.trace.optimisers if optimiser.steps]
    stepping = [
        optimiser for optimiser in stepping if leaf is None or leaf in map(facts.flow.tensor, optimiser.tensors)
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


# ---- divergence


def diverges(facts: Facts) -> Cause | None:
    """Find a loss that grows from step to step."""
    losses = [(s.number, x) for s in facts.trace.training if (x := loss_of(facts.trace, s)) is not None]
    finite = [(n, x) for n, x in losses if isfinite(x)]
    if len(finite) < 3:
        return leaps(facts, losses)
    started = abs(finite[0][1])
    finite = finite[min(range(len(finite)), key=lambda i: finite[i][1]) :]
    (first, low), (last, high) = finite[0], finite[-1]
    sizes = [x for _, x in finite]
    ended = next(((n, x) for n, x in losses if n > last), None)
    rises = sum(b > a for a, b in pairwise(sizes))
    if len(finite) < 3 or rises < 0.8 * (len(finite) - 1):
        return None
    if high < (30 if ended else GROWN) * max(abs(low), started, 1e-12):
        return None
    if high < FASTER * sizes[-2] or (ended is not None and is_given(facts, ended[0])):
        return None
    optimiser = updated(facts)
    span = facts.trace.training[0].span if optimiser is None else optimiser.span
    lr = None if optimiser is None else optimiser.lr
    if lr is None and (by_hand := own_update(facts)) is not None:
        span = places.head_of(by_hand)
        if adds(by_hand):
            return ascent(facts, by_hand, finite)
    end = f" and is {kind(ended[1])} in step {ended[0]}" if ended else ""
    raised = None
    if optimiser is not None and lr is not None:
        raised = raised_rate(facts, optimiser, lr, last) or decayed_beyond(facts, optimiser, lr)
    if raised is not None:
        because = f"the loss grows from {low:.4g} in step {first} to {high:.4g} in step {last}{end}; {raised.because}"
        return raised._replace(because=because, status="nan" if ended else "found")
    rate = "" if lr is None or optimiser is None else f" with {rates_of(optimiser, lr)}"
    evidence = [Evidence("the loss is " + ", ".join(f"{x:.4g} in step {n}" for n, x in finite[:3]))]
    if span is not None:
        evidence.insert(0, facts.at(f"the steps are made{rate}", span))
    factor = (sizes[-1] / max(sizes[-2], 1e-300)) ** 0.5
    fix = f"a smaller factor{facts.at_line(span)}: a tenth of it, or less"
    if lr is not None:
        fix = f"{smaller(lr, 1 + max(factor, 2.0))}{facts.at_line(span)}"
    return Cause(
        "diverges",
        f"the loss grows from {low:.4g} in step {first} to {high:.4g} in step {last}{end}; the steps overshoot{rate}"
        f"{facts.at_line(span)}, the learning rate is too large",
        evidence,
        (fix, "or scale the inputs down first: x = (x - x.mean(0)) / x.std(0)"),
        what="the loop diverges",
        status="nan" if ended else "found",
    )


def raised_rate(facts: Facts, optimiser: OptimiserRecord, lr: float, step: int) -> Cause | None:
    """Return the cause if a schedule has made the learning rate of a step larger than the optimiser's own."""
    schedule, rate = schedule_of(facts, optimiser), rate_at(optimiser, step)
    if schedule is None or rate is None or rate < 2 * lr:
        return None
    head = places.head_of(schedule.statement)
    return Cause(
        "diverges",
        f"{schedule.kind}{facts.at_line(head)} has raised the learning rate from {lr:g} to "
        f"{rate:.3g} by then, which is too large",
        (facts.at("this sets the learning rate", head), facts.at("the steps are made with it", optimiser.step_span)),
        (f"a schedule{facts.at_line(head)} that lowers the learning rate: a factor below 1",),
        what="the loop diverges",
    )


def decayed_beyond(facts: Facts, optimiser: OptimiserRecord, lr: float) -> Cause | None:
    """Return the cause if weight decay alone makes the parameters larger in each step: it multiplies them by
    1 - lr * weight_decay, with the learning rate of that step.
    """
    call = places.method_call(facts.text.statement(optimiser.span), (optimiser.kind,))
    keywords = {} if call is None else {k.arg: k.value for k in call.keywords}
    decay = getattr(keywords.get("weight_decay"), "value", None)
    if optimiser.kind not in ("SGD", "AdamW") or not isinstance(decay, (int, float)) or call is None:
        return None
    rates = optimiser.rates or ((1, lr),)
    has_groups = any(isinstance(node, ast.Dict) for node in ast.walk(call))  # which have options of their own
    if has_groups or any(rate * decay <= 2 for _, rate in rates):
        return None
    ends = [(rate, f"step {step}") for step, rate in (rates[0], rates[-1])]
    if len(rates) == 1:
        ends = [(rates[0][1], "each step")]
    factors = [f"1 - {rate:g} * {decay:g} = {1 - rate * decay:.3g} in {when}" for rate, when in ends]
    decays = [f"{rate * decay:.3g} times themselves in {when}" for rate, when in ends]
    return Cause(
        "diverges",
        f"weight_decay={decay:g} with {rates_of(optimiser, lr)}{facts.at_line(optimiser.span)} "
        "multiplies the parameters by "
        f"{', and by '.join(factors)}",
        (facts.at(f"the weights decay by {', and by '.join(decays)}", optimiser.span),),
        (f"weight_decay=0.01{facts.at_line(optimiser.span)}: its product with lr is far below 1",),
        what="the loop diverges",
    )


def rates_of(optimiser: OptimiserRecord, lr: float) -> str:
    """Return the learning rates of the steps: "lr=0.1", "lr=0.1 to 0.05" if a schedule ran, "lr up to 5" if the largest
    was used between.
    """
    used = [rate for _, rate in optimiser.rates] or [lr]
    if max(used) > max(used[0], used[-1]):
        return f"lr up to {max(used):g}"
    return f"lr={used[0]:g}" + f" to {used[-1]:g}" * (len(used) > 1)


def is_given(facts: Facts, number: int) -> bool:
    """Whether the loss of a step is not finite because of its data, which no learning rate can help."""
    roots = next((step.roots for step in facts.trace.training if step.number == number), ())
    bad = [i for i in roots if not is_finite(facts.tensors[i].value)]
    causes = [forward_cause(facts, i, "nan" if has_nan(facts.tensors[i].value) else "inf") for i in bad]
    return any(cause is not None and cause.code in ("nan in data", "inf in data") for cause in causes)


def kind(loss: float) -> str:
    return "nan" if isnan(loss) else "inf"


def own_update(facts: Facts) -> Any:
    """Return the statement that changes a parameter by its gradient without an optimiser: `w -= 0.1 * w.grad`."""
    updates = (s for s in facts.text.simple if isinstance(s, ast.AugAssign))
    return next((s for s in updates if ".grad" in facts.text.cut(s.value)), None)


def adds(statement: Any) -> bool:
    """Whether an update adds the gradient instead of subtracting it."""
    minus = any(isinstance(node, (ast.USub, ast.Sub)) for node in ast.walk(statement.value))
    return isinstance(statement.op, ast.Add) and not minus


def ascent(facts: Facts, statement: Any, finite: list[tuple[int, float]]) -> Cause:
    head, target = places.head_of(statement), facts.text.cut(statement.target)
    return Cause(
        "ascent",
        f"line {head.line} adds the gradient to {target}, which goes uphill: the loss is "
        f"{finite[0][1]:.4g} in step {finite[0][0]} and {finite[-1][1]:.4g} in step {finite[-1][0]}",
        (facts.at("the gradient points to where the loss grows", head),),
        (facts.text.cut(statement).replace("+=", "-=", 1),),
        what="the loss grows",
    )


def leaps(facts: Facts, losses: list[tuple[int, float]]) -> Cause | None:
    """Find a first update so large that the numbers of the next step are not finite."""
    bad, loss = next(((n, x) for n, x in losses if not isfinite(x)), (0, 0.0))
    optimiser = updated(facts)
    if bad < 2 or optimiser is None or optimiser.lr is None or is_given(facts, bad):
        return None
    before = bad - 1
    lr = rate_at(optimiser, before) or optimiser.lr
    for name, sizes in layers_of(facts, optimiser).items():
        if len(sizes) <= before or not isfinite(sizes[before]) or not sizes[before] > 30 * sizes[before - 1] > 0:
            continue
        grown = sizes[before] / sizes[before - 1]
        return Cause(
            "diverges",
            f"step {before} with lr={lr:g}{facts.at_line(optimiser.span)} makes {name} "
            f"{grown:.2g} times as large, and the "
            f"loss is {kind(loss)} in step {bad}: the steps overshoot, the learning rate is too large",
            (
                facts.at(f"step {before} is made with lr={lr:g}", optimiser.span),
                Evidence(
                    f"the norm of {name} is {sizes[before - 1]:.3g} before the step, {sizes[before]:.3g} after it"
                ),
            ),
            (f"{smaller(lr, grown)}{facts.at_line(optimiser.span)}", "or scale the inputs down"),
            what="the loop diverges",
            status="nan",
        )
    return None


def layers_of(facts: Facts, optimiser: OptimiserRecord) -> dict[str, list[float]]:
    """Return the norm of each layer that an optimiser holds, version by version. A bias that starts at 0 has no scale
    of its own, so growth is measured against its whole layer.
    """
    layers: dict[str, list[list[float]]] = {}
    for leaf in map(facts.flow.tensor, optimiser.tensors):
        name = named(facts, leaf)
        layers.setdefault(name.rpartition(".")[0] or name, []).append([v.norm for v in versions(facts, leaf)])
    return {name: [hypot(*norms) for norms in zip(*sizes, strict=False)] for name, sizes in layers.items()}


def is_still(facts: Facts, leaf: int) -> bool:
    """Whether the last value of a leaf equals its first one."""
    values = versions(facts, leaf)
    return len(values) < 2 or (values[0].is_whole and values[0] == values[-1])


def versions(facts: Facts, leaf: int) -> list[Value]:
    """Return the values of a leaf, version by version."""
    first = facts.tensors[leaf].first
    return [t.value for t in facts.tensors if t.first == first and t.value is not None]


def smaller(lr: float, growth: float) -> str:
    """Return the advice to divide a learning rate by how much a step lets the loss or a layer grow. A growth by
    several orders of magnitude says that the rate is too large, but not by how much.
    """
    if growth > 100:
        return f"a much smaller lr in place of lr={lr:g}: divide it by 10 until the loss falls, starting"
    return f"lr={rounded(lr / growth):g} in place of lr={lr:g}"


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
    leaves, held = [], {facts.flow.tensor(i) for o in facts.trace.optimisers if o.steps for i in o.tensors}
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
    name, last = named(facts, leaves[0]), facts.stored[leaves[0]][-1]
    pass_, optimiser = facts.passes[last.number], updated(facts, leaves[0])
    evidence, call = [facts.backward(pass_)], f"{name}.grad = None"
    if last.grad_before is not None and last.grad_after is not None:
        evidence.append(
            Evidence(f"{name}.grad was {brief(last.grad_before)} there and becomes {brief(last.grad_after)}")
        )
    if optimiser is not None:
        evidence.append(facts.at("the step uses the sum of all passes so far", optimiser.step_span))
        call = f"{optimiser_name(facts, optimiser)}.zero_grad()"
    return Cause(
        "accumulated",
        "gradients accumulate: no zero_grad() clears them between the steps, so "
        f"backward{facts.at_line(pass_.span)} adds "
        f"each step's to the sum of those before ({name}.grad: {len(facts.stored[leaves[0]])} passes added up)",
        evidence,
        (f"{call} before backward{facts.at_line(pass_.span)}",),
        tensors=frozenset(leaves),
    )


def cleared_early(facts: Facts) -> Cause | None:
    """Find gradients that are cleared between backward and the step that should use them."""
    optimiser = updated(facts)
    if optimiser is None:
        return None
    visits, changes = facts.stored, gradient_changes(facts)
    leaves = [facts.flow.tensor(i) for i in optimiser.tensors]
    for leaf in leaves:
        clear = clear_before_step(visits.get(leaf, []), changes.get(leaf, []), optimiser)
        if clear is None:
            continue
        ran, call = facts.passes[visits[leaf][0].number], clear.text or "zero_grad()"
        return Cause(
            "cleared early",
            f"{call}{facts.at_line(clear.span)} clears the gradients of backward{facts.at_line(ran.span)} before "
            f"step(){facts.at_line(optimiser.step_span)} uses them",
            (
                facts.backward(ran),
                facts.at(f"{named(facts, leaf)}.grad is cleared here", clear.span),
                facts.at(f"{optimiser.idle or 'all'} of {optimiser.steps} steps find no gradient", optimiser.step_span),
            ),
            (f"move {call} before backward(), or after step()",),
            what="nothing is updated",
            tensors=frozenset(leaves),
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
    optimisers = facts.trace.optimisers
    still = next((optimiser for optimiser in optimisers if optimiser.lr == 0 and optimiser.steps > 1), None)
    if still is not None and all(is_still(facts, facts.flow.tensor(i)) for i in still.tensors):
        because = f"the optimiser{facts.at_line(still.span)} was made with lr=0, so that its steps change nothing"
        evidence = facts.at("lr=0 here", still.span), facts.at(f"{still.steps} steps were taken", still.step_span)
        return not_updated(facts, still, because, evidence, "lr=1e-3, or a scheduler that raises it")
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
    because = f"{name}, made{facts.at_line(idle.span)}, never takes a step: {name}.step() is not called"
    evidence = facts.at(f"{name} holds {idle.held} tensors", idle.span), facts.backward(stored[-1])
    return not_updated(facts, idle, because, evidence, f"{name}.step() after backward{facts.at_line(stored[-1].span)}")


def not_updated(
    facts: Facts, optimiser: OptimiserRecord, because: str, evidence: tuple[Evidence, ...], fix: str
) -> Cause:
    leaves = frozenset(map(facts.flow.tensor, optimiser.tensors))
    return Cause("no step", because, evidence, (fix,), what="nothing is updated", tensors=leaves)


# ---- names bound again


def rebound(facts: Facts) -> Cause | None:
    """Find `w = w - lr * w.grad`, which makes w a non-leaf tensor."""
    ran = {o.span.line for o in facts.operations if o.span is not None and not o.span.file}
    for statement in facts.text.simple:
        name = own_gradient(statement)
        if not name or not ran.intersection(places.lines_of(statement)):
            continue
        text, value = facts.text.cut(statement), statement.value
        if "detach" in text or "requires_grad" in text or made_leaf_again(facts, name, statement):
            continue
        head = places.head_of(statement)
        update = f"{name}.copy_({facts.text.cut(value)})"
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Sub):
            update = f"{name} -= {facts.text.cut(value.right)}"
        under = facts.text.mode_around(head) is not None
        why = "that does not require grad" if under else "and not a leaf: backward stores no gradient in it"
        about = {i for i in facts.begun if named(facts, i) == name or not facts.tensors[i].name}
        return Cause(
            "rebound",
            f"line {head.line} binds {name} to a new tensor, the result of an operation {why}",
            (
                *[facts.at(f"{name} is a leaf here", places.head_of(s)) for s in facts.text.assignments(name)[:1]],
                facts.at(f"from here on {name} is another tensor, and {name}.grad is None", head),
            ),
            (f"with torch.no_grad(): {update}", f"and {name}.grad = None after it"),
            tensors=frozenset(about | {facts.names[name]} if name in facts.names else about),
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
    later = [facts.text.cut(s) for s in facts.text.simple if s.lineno > statement.lineno]
    return any(f"{name}.requires_grad" in text or f"{name}.retain_grad" in text for text in later)
