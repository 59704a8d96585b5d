"""Find steps that are too large: a loss that grows, a layer that leaps, gradients that are 0 from
then on.
"""

from __future__ import annotations

from itertools import pairwise
from math import hypot, isfinite, isnan

from gradtrace.analysis import places
from gradtrace.analysis.cause import Cause, Evidence, Fix
from gradtrace.analysis.causes.cuts import of_several
from gradtrace.analysis.causes.loops import updated
from gradtrace.analysis.causes.not_finite import forward_cause
from gradtrace.analysis.causes.rates import rate_at, schedule_of
from gradtrace.analysis.facts import Facts, is_finite, is_zero, loss_of
from gradtrace.analysis.ledger.book import ledger_of
from gradtrace.analysis.rewrites import span_of, with_argument
from gradtrace.analysis.terms import has_nan, named, setting
from gradtrace.analysis.why import explain
from gradtrace.annotations import Any, NamedTuple
from gradtrace.program import syntax as ast
from gradtrace.trace.record import OptimiserRecord

GROWN = 1e3  # by how much a loss has grown when a loop diverges
# by how much its last step lets it grow: overshooting multiplies, other losses rise by like amounts
FASTER = 1.2
LARGER = 10  # by how much a step makes a layer larger, after which gradients are 0
LEAST = 2  # steps after it with gradients of 0
FLAT = ("dead relu", "saturated")  # the reasons of a gradient of 0 that large numbers have


class Growth(NamedTuple):
    """A loss that grows: its finite values from the lowest on, with their steps, and the first one
    after them.
    """

    losses: list[tuple[int, float]]
    end: tuple[int, float] | None

    @property
    def clause(self) -> str:
        (first, low), (last, high) = self.losses[0], self.losses[-1]
        end = "" if self.end is None else f" and is {kind(self.end[1])} in step {self.end[0]}"
        return f"the loss grows from {low:.4g} in step {first} to {high:.4g} in step {last}{end}"


def diverges(facts: Facts) -> Cause | None:
    """Find a loss that grows from step to step."""
    losses = [
        (s.number, x) for s in facts.trace.training if (x := loss_of(facts.trace, s)) is not None
    ]
    finite = [(number, loss) for number, loss in losses if isfinite(loss)]
    if len(finite) < 3:
        return leaps(facts, losses)
    growth = growth_of(losses, finite)
    if growth is None or (growth.end is not None and is_given(facts, growth.end[0])):
        return None
    optimiser = updated(facts)
    cause = by_hand = None
    if optimiser is None or optimiser.lr is None:
        by_hand = own_update(facts)
        if by_hand is not None and adds(by_hand):
            return ascent(facts, by_hand, growth)
    else:
        cause = raised_rate(facts, optimiser, optimiser.lr, growth.losses[-1][0])
        cause = cause or decayed_beyond(facts, optimiser, optimiser.lr)
    cause = cause or overshoots(facts, growth, optimiser, by_hand)
    status = "found" if growth.end is None else "nan"
    because = "; ".join(filter(None, (growth.clause, cause.because)))
    return cause._replace(because=because, symptom="the loop diverges", status=status)


def growth_of(losses: list[tuple[int, float]], finite: list[tuple[int, float]]) -> Growth | None:
    """Return how a loss grows after its lowest value; None if it does not grow fast enough to
    diverge.
    """
    started = abs(finite[0][1])
    finite = finite[min(range(len(finite)), key=lambda i: finite[i][1]) :]
    sizes = [loss for _, loss in finite]
    end = next(((number, loss) for number, loss in losses if number > finite[-1][0]), None)
    rises = sum(b > a for a, b in pairwise(sizes))
    if len(finite) < 3 or rises < 0.8 * (len(finite) - 1) or sizes[-1] < FASTER * sizes[-2]:
        return None
    least = GROWN if end is None else 30
    return None if sizes[-1] < least * max(abs(sizes[0]), started, 1e-12) else Growth(finite, end)


def overshoots(
    facts: Facts, growth: Growth, optimiser: OptimiserRecord | None, by_hand: Any
) -> Cause:
    """Explain a growing loss by the learning rate of an optimiser, or of the program's own
    update.
    """
    span = facts.trace.training[0].span if optimiser is None else optimiser.span
    if by_hand is not None:
        span = places.head_of(by_hand)
    where = facts.at_line(span)
    rate = ""
    fix = f"a smaller factor{where}: a tenth of it, or less"
    sizes = [loss for _, loss in growth.losses]
    factor = 1 + max((sizes[-1] / max(sizes[-2], 1e-300)) ** 0.5, 2.0)
    if optimiser is not None and optimiser.lr is not None:
        rate = f" with {rates_of(optimiser, optimiser.lr)}"
        fix = smaller(facts, optimiser, optimiser.lr, factor)
    elif by_hand is not None:
        code = f"{rounded(1 / factor):g} * ({facts.text.cut(by_hand.value)})"
        fix = Fix(f"{code}{where}", [(span_of(by_hand.value), code)])
    evidence = [] if span is None else [facts.at(f"the steps are made{rate}", span)]
    shown = ", ".join(f"{loss:.4g} in step {number}" for number, loss in growth.losses[:3])
    return Cause(
        "diverges",
        "",
        [*evidence, Evidence(f"the loss is {shown}")],
        (fix, "or scale the inputs down first: x = (x - x.mean(0)) / x.std(0)"),
        judged=(f"the steps overshoot{rate}{where}, the learning rate is too large", SAME),
    )


SAME = "a smaller learning rate does not end that"


def raised_rate(facts: Facts, optimiser: OptimiserRecord, lr: float, step: int) -> Cause | None:
    """Return the cause if a schedule has made the learning rate of a step larger than the
    optimiser's own.
    """
    schedule = schedule_of(facts, optimiser)
    rate = rate_at(optimiser, step)
    if schedule is None or rate is None or rate < 2 * lr:
        return None
    head = schedule.span
    return Cause(
        "diverges",
        f"{schedule.kind}{facts.at_line(head)} has raised the learning rate from {lr:g} to "
        f"{rate:.3g} by then, which is too large",
        (
            facts.at("this sets the learning rate", head),
            facts.at("the steps are made with it", optimiser.step_span),
        ),
        (f"a schedule{facts.at_line(head)} that lowers the learning rate: a factor below 1",),
    )


def decayed_beyond(facts: Facts, optimiser: OptimiserRecord, lr: float) -> Cause | None:
    """Return the cause if weight decay alone makes the parameters larger in each step: it
    multiplies them by 1 - lr * weight_decay, with the learning rate of that step.
    """
    call = places.method_call(facts.text.statement(optimiser.span), (optimiser.kind,))
    if optimiser.kind not in ("SGD", "AdamW") or call is None:
        return None
    decay = setting(optimiser, "weight_decay")
    rates = optimiser.rates or ((1, lr),)
    if has_groups(call) or any(rate * decay <= 2 for _, rate in rates):
        return None
    ends = [(rate, f"step {step}") for step, rate in (rates[0], rates[-1])]
    if len(rates) == 1:
        ends = [(rates[0][1], "each step")]
    factors = [
        f"1 - {rate:g} * {decay:g} = {1 - rate * decay:.3g} in {when}" for rate, when in ends
    ]
    decays = [f"{rate * decay:.3g} times themselves in {when}" for rate, when in ends]
    return Cause(
        "diverges",
        f"weight_decay={decay:g} with {rates_of(optimiser, lr)}{facts.at_line(optimiser.span)} "
        f"multiplies the parameters by {', and by '.join(factors)}",
        (facts.at(f"the weights decay by {', and by '.join(decays)}", optimiser.span),),
        (f"weight_decay=0.01{facts.at_line(optimiser.span)}: its product with lr is far below 1",),
    )


def rates_of(optimiser: OptimiserRecord, lr: float) -> str:
    """Return the learning rates of the steps: "lr=0.1", "lr=0.1 to 0.05" if a schedule ran, "lr up
    to 5" if the largest was used between.
    """
    used = [rate for _, rate in optimiser.rates] or [lr]
    if max(used) > max(used[0], used[-1]):
        return f"lr up to {max(used):g}"
    return f"lr={used[0]:g}" + f" to {used[-1]:g}" * (len(used) > 1)


def is_given(facts: Facts, number: int) -> bool:
    """Whether the loss of a step is not finite because of its data, which no learning rate can
    help.
    """
    roots = next((step.roots for step in facts.trace.training if step.number == number), ())
    bad = [i for i in roots if not is_finite(facts.tensors[i].value)]
    causes = [
        forward_cause(facts, i, "nan" if has_nan(facts.tensors[i].value) else "inf") for i in bad
    ]
    return any(
        cause is not None and cause.code in ("nan in data", "inf in data") for cause in causes
    )


def kind(loss: float) -> str:
    return "nan" if isnan(loss) else "inf"


def own_update(facts: Facts) -> Any:
    """Return the statement that changes a parameter by its gradient without an optimiser: `w -= 0.1
    * w.grad`.
    """
    updates = (s for s in facts.text.simple if isinstance(s, ast.AugAssign))
    return next((s for s in updates if ".grad" in facts.text.cut(s.value)), None)


def adds(statement: Any) -> bool:
    """Whether an update adds the gradient instead of subtracting it."""
    minus = any(isinstance(node, (ast.USub, ast.Sub)) for node in ast.walk(statement.value))
    return isinstance(statement.op, ast.Add) and not minus


def ascent(facts: Facts, statement: Any, growth: Growth) -> Cause:
    head = places.head_of(statement)
    target = facts.text.cut(statement.target)
    (first, low), (last, high) = growth.losses[0], growth.losses[-1]
    return Cause(
        "ascent",
        f"line {head.line} adds the gradient to {target}, which goes uphill: the loss is {low:.4g} "
        f"in step {first} and {high:.4g} in step {last}",
        (facts.at("the gradient points to where the loss grows", head),),
        (f"{target} -= {facts.text.cut(statement.value)}",),
        symptom="the loss grows",
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
        if (
            len(sizes) <= before
            or not isfinite(sizes[before])
            or not sizes[before] > 30 * sizes[before - 1] > 0
        ):
            continue
        grown = sizes[before] / sizes[before - 1]
        return Cause(
            "diverges",
            f"step {before} with lr={lr:g}{facts.at_line(optimiser.span)} makes {name} {grown:.2g} "
            f"times as large, and the loss is {kind(loss)} in step {bad}",
            (
                facts.at(f"step {before} is made with lr={lr:g}", optimiser.span),
                Evidence(
                    f"the norm of {name} is {sizes[before - 1]:.3g} before the step, "
                    f"{sizes[before]:.3g} after it"
                ),
            ),
            (smaller(facts, optimiser, lr, grown), "or scale the inputs down"),
            symptom="the loop diverges",
            status="nan",
            judged=("the steps overshoot, the learning rate is too large", SAME),
        )
    return None


def layers_of(facts: Facts, optimiser: OptimiserRecord) -> dict[str, list[float]]:
    """Return the norm of each layer that an optimiser holds, version by version. A bias that starts
    at 0 has no scale of its own, so growth is measured against its whole layer.
    """
    layers: dict[str, list[list[float]]] = {}
    parameters = ledger_of(facts).parameters
    for leaf in map(facts.flow.tensor, optimiser.tensors):
        name = named(facts, leaf)
        layers.setdefault(name.rpartition(".")[0] or name, []).append(
            [value.norm for value in parameters[leaf].values]
        )
    return {
        name: [hypot(*norms) for norms in zip(*sizes, strict=False)]
        for name, sizes in layers.items()
    }


def smaller(facts: Facts, optimiser: OptimiserRecord, lr: float, growth: float) -> str:
    """Return the advice to divide a learning rate by how much a step lets the loss or a layer grow.
    A growth by several orders of magnitude says that the rate is too large, but not by how much.
    """
    new = f"lr={rounded(lr / growth):g}"
    text = f"{new} in place of lr={lr:g}"
    if growth > 100:
        text = (
            f"a much smaller lr in place of lr={lr:g}: divide it by 10 until the loss falls, "
            "starting"
        )
    text += facts.at_line(optimiser.span)
    call = places.method_call(facts.text.statement(optimiser.span), (optimiser.kind,))
    if call is None or has_groups(call):
        return text
    if len(call.args) > 1:
        return Fix(text, [(span_of(call.args[1]), new[3:])])
    return with_argument(facts, call, new, text)


def has_groups(call: Any) -> bool:
    """Whether an optimiser is made with groups, which have options of their own."""
    return any(isinstance(node, ast.Dict) for node in ast.walk(call))


def rounded(x: float) -> float:
    """Return a number with one significant digit, rounded down."""
    digit = float(f"{x:.0e}")
    return digit if digit <= x else float(f"{digit * 0.5:.0e}")


# ---- gradients that stop


def stopped(facts: Facts) -> Cause | None:
    """Find the step after which most gradients of an optimiser are 0, if a step has made one of
    their layers larger.
    """
    training = facts.trace.training
    optimiser = updated(facts)
    if (
        optimiser is None
        or optimiser.steps != len(training)
        or facts.trace.failure is not None
        or has_fallen(facts)
    ):
        return None
    ends = last_steps(facts, facts.held_by(optimiser))
    end = sorted(ends.values())[len(ends) // 2] if ends else 0
    dead = sorted(
        (facts.tensors[leaf] for leaf, last in ends.items() if last == end),
        key=lambda t: -len(t.shape),
    )
    if not 0 < end <= training[-1].number - LEAST or 2 * len(dead) <= len(ends):
        return None
    names = {named(facts, t.id).rpartition(".")[0] or named(facts, t.id) for t in dead}
    sizes = {name: norms for name, norms in layers_of(facts, optimiser).items() if name in names}
    growths = [
        (after / before, name, step)
        for name, norms in sizes.items()
        for step, (before, after) in enumerate(pairwise(norms[: end + 1]), 1)
        if before > 0
    ]
    growth, layer, step = max(growths, default=(0.0, "", 0))
    rate = rate_at(optimiser, step)
    cause = explain(facts, dead[0])
    if not growth >= LARGER or rate is None or cause.code not in FLAT:
        return None
    before, after = sizes[layer][step - 1 : step + 1]
    evidence = [
        facts.at(f"the steps are made with lr={rate:g}", optimiser.span),
        Evidence(f"the norm of {layer} is {before:.3g} before step {step}, {after:.3g} after it"),
    ]
    return of_several(cause, dead)._replace(
        code="stopped",
        because=f"{cause.because}; it is 0 since step {end}, and step {step} with "
        f"lr={rate:g}{facts.at_line(optimiser.span)} made {layer} {growth:.2g} times as large",
        evidence=[*evidence, *cause.evidence],
        advice=(smaller(facts, optimiser, rate, growth), *cause.advice),
    )


def has_fallen(facts: Facts) -> bool:
    """Whether the last loss is below the first one: gradients of 0 may be the end of a margin's
    training.
    """
    first, last = (loss_of(facts.trace, facts.trace.training[end]) for end in (0, -1))
    return first is None or last is None or last < first


def last_steps(facts: Facts, leaves: frozenset[int]) -> dict[int, int]:
    """Return the last step in which each leaf's gradient was not 0, of leaves that got one in every
    step.
    """
    steps = {number: step.number for step in facts.trace.training for number in range(*step.passes)}
    by_leaf = {}
    for leaf in leaves:
        visits = [(steps.get(visit.number, 0), visit) for visit in facts.stored.get(leaf, ())]
        if {number for number, _ in visits} == set(steps.values()):
            by_leaf[leaf] = max(
                (number for number, visit in visits if not is_zero(visit.grad_after)), default=0
            )
    return by_leaf
