"""Find steps whose gradients are not those of one loss: two losses, undivided micro-batches,
clipping too early.
"""

from __future__ import annotations

from math import hypot

from gradtrace.analysis import places
from gradtrace.analysis.cause import Cause, Evidence, Fix
from gradtrace.analysis.causes.loops import gradient_changes, updated
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.numbers import CLEARS
from gradtrace.analysis.rewrites import span_of, with_statement
from gradtrace.analysis.terms import (
    code_at,
    highest,
    loop_around,
    named,
    numbers_in,
    operator,
    optimiser_name,
    setting,
)
from gradtrace.analysis.words import short_number as short
from gradtrace.annotations import Any, Iterator, NamedTuple
from gradtrace.engine.operators.tables import function_table
from gradtrace.program import syntax as ast
from gradtrace.trace.labels import is_number
from gradtrace.trace.record import Change, Operation, OptimiserRecord, PassRecord, Span

SPACING = 1e-7  # of a number: about what float32 keeps of it
MEANS = function_table(
    "analysis.causes.sums.MEANS",
    (
        "cross_entropy",
        "nll_loss",
        "mse_loss",
        "l1_loss",
        "smooth_l1_loss",
        "huber_loss",
        "binary_cross_entropy",
        "binary_cross_entropy_with_logits",
        "mean",
    ),
)


class Used(NamedTuple):
    """An optimiser's step: the passes that filled a gradient since it was cleared, and how many
    passes ran before.
    """

    passes: tuple[PassRecord, ...]
    ran: int


def uses(facts: Facts, leaf: int, changes: list[Change]) -> list[Used]:
    """Return what the gradient of a leaf was the sum of at each step of its optimiser."""
    sums: list[Used] = []
    filled: list[PassRecord] = []
    visits = facts.stored.get(leaf, [])
    at = 0
    for change in changes:
        ran = facts.steps[change.after_steps - 1].number + 1 if change.after_steps else 0
        while at < len(visits) and visits[at].number < ran:
            filled.append(facts.passes[visits[at].number])
            at += 1
        if change.how == "step":
            sums.append(Used(tuple(filled), ran))
        elif change.how in (*CLEARS, "assigned") or change.how.endswith("zero_"):
            filled = []
    return sums


def used_by(facts: Facts) -> list[tuple[OptimiserRecord, int, list[Used]]]:
    """Return, of each optimiser that takes steps, a leaf that gets gradients, and what its steps
    used.
    """
    changes = gradient_changes(facts)
    rows = []
    for optimiser in facts.trace.optimisers:
        leaf = next(
            (i for i in map(facts.flow.tensor, optimiser.tensors) if i in facts.stored), None
        )
        if optimiser.steps > 1 and leaf is not None:
            rows.append((optimiser, leaf, uses(facts, leaf, changes.get(leaf, []))))
    return rows


def name_of_root(facts: Facts, pass_: PassRecord) -> str:
    """Return the variable x of the call x.backward() that ran a pass, else the name of its root."""
    variable, dot, _ = facts.text.line(pass_.span).partition(".backward(")
    if dot and variable.isidentifier():
        return variable
    return named(facts, pass_.roots[0]) if pass_.roots else "the loss"


# ---- two losses


def other_loss(facts: Facts) -> Cause | None:
    """Find an optimiser whose step also uses the gradients of a loss that is another
    optimiser's.
    """
    rows = used_by(facts) if sum(record.steps > 1 for record in facts.trace.optimisers) > 1 else []
    for optimiser, leaf, steps in rows:
        others = [use.ran for owner, _, taken in rows if owner is not optimiser for use in taken]
        mixed = [(used, first) for used in steps if (first := foreign(used, others)) is not None]
        if len(mixed) > 1:
            return of_two(facts, optimiser, leaf, *mixed[-1])
    return None


def foreign(used: Used, others: list[int]) -> PassRecord | None:
    """Return a pass from another line than the last one, after which another optimiser took its
    step.
    """
    if not used.passes or used.passes[-1].span is None:
        return None
    last = used.passes[-1]
    for pass_ in used.passes[:-1]:
        if pass_.span != last.span and any(pass_.number < ran <= last.number for ran in others):
            return pass_
    return None


def of_two(
    facts: Facts, optimiser: OptimiserRecord, leaf: int, used: Used, added: PassRecord
) -> Cause:
    last = used.passes[-1]
    name = named(facts, leaf)
    variable = optimiser_name(facts, optimiser)
    loss = name_of_root(facts, added)
    own = name_of_root(facts, last)
    return Cause(
        "another loss",
        f"{variable}.step(){facts.at_line(optimiser.step_span)} also uses the gradients of {loss}: "
        f"backward{facts.at_line(added.span)} adds them to {name}.grad, and nothing clears it "
        f"before {own}'s backward{facts.at_line(last.span)}",
        (
            facts.at(
                f"{loss} fills {name}.grad too, and the step after it is another optimiser's",
                added.span,
            ),
            facts.at(f"{own} adds its own to them", last.span),
            facts.at(f"the step uses the sum of {len(used.passes)} passes", optimiser.step_span),
        ),
        (
            f"{variable}.zero_grad() right before backward{facts.at_line(last.span)}",
            f"or .detach() where {loss} reads what {name.partition('.')[0]} made, if it is not to "
            "change it",
        ),
        tensors=frozenset(map(facts.flow.tensor, optimiser.tensors)),
    )


# ---- micro-batches


def undivided(facts: Facts) -> Cause | None:
    """Find gradients of micro-batches that are added up, each of a mean, with a step after some of
    them.
    """
    if not any(every_few(facts, record.step_span) for record in facts.trace.optimisers):
        return None
    for optimiser, _, steps in used_by(facts):
        if not steps or not every_few(facts, optimiser.step_span):
            continue
        passes = steps[0].passes
        makers = [facts.maker(pass_.roots[0]) for pass_ in passes if pass_.roots]
        if (
            len(passes) < 2
            or len({pass_.span for pass_ in passes}) > 1
            or not all(map(is_mean, makers))
        ):
            continue
        if any(pass_.vectors and highest(pass_.vectors[0]) != 1 for pass_ in passes):
            continue
        line = facts.at_line(passes[0].span)
        count = len(passes)
        loss = name_of_root(facts, passes[0])
        which = "each step" if all(len(use.passes) == count for use in steps) else "the first step"
        return Cause(
            "undivided",
            f"{which}{facts.at_line(optimiser.step_span)} uses the sum of {count} passes{line}, "
            f"undivided: each begins at a mean ({loss}), so the gradient is {count} times that of "
            "their average",
            (
                facts.at(f"this runs {count} times for {which}", passes[0].span),
                facts.at("the step uses the sum", optimiser.step_span),
            ),
            (f"({loss} / {count}).backward(){line}, if the step is meant for the average",),
        )
    return None


def every_few(facts: Facts, span: Span | None) -> bool:
    """Whether a place is under a condition with a remainder, such as `if (i + 1) % 4 == 0`."""
    around = [
        s
        for s in facts.text.statements
        if isinstance(s, ast.If) and span is not None and not span.file
    ]
    tests = [
        s.test for s in around if span is not None and s.lineno <= span.line <= (s.end_lineno or 0)
    ]
    return any(isinstance(node, ast.Mod) for test in tests for node in ast.walk(test))


def is_mean(operation: Operation | None) -> bool:
    return (
        operation is not None
        and operator(operation) in MEANS
        and operation.option("reduction") is None
    )


# ---- clipping


def clipped(facts: Facts) -> Cause | None:
    """Find clip_grad_norm_ of gradients that still have the loss scale, or with a norm of 0."""
    clips = [
        c for c in facts.trace.changes if "clip_grad_norm_" in c.text and c.operation is not None
    ]
    return (
        clipped_to_nothing(facts, clips)
        or clipped_scaled(facts, clips)
        or clipped_away(facts, clips)
    )


class Scaled(NamedTuple):
    """A write that uses gradients with the loss scale, after the pass from a loss that a GradScaler
    has multiplied at `span`.
    """

    change: Change
    pass_: PassRecord
    span: Span | None
    factor: str
    scaler: str

    def evidence(self, facts: Facts, text: str) -> tuple[Evidence, ...]:
        return (
            facts.at(f"the loss is multiplied by {self.factor} here", self.span),
            facts.at(text, self.change.span),
        )


def while_scaled(facts: Facts, changes: list[Change]) -> Iterator[Scaled]:
    """Yield the first change at each place, if nothing has divided the gradients before it."""
    for change in {change.span: change for change in reversed(changes)}.values():
        pass_ = next(
            (p for p in reversed(facts.passes) if p.stores and p.until <= change.after), None
        )
        root = facts.maker(pass_.roots[0]) if pass_ is not None and pass_.roots else None
        if (
            pass_ is None
            or root is None
            or operator(root) != "mul"
            or ".scale(" not in facts.text.line(root.span)
        ):
            continue
        scales = [highest(value) or 0.0 for _, value in facts.operands(root)[1:]]
        factor = max([*scales, *numbers_in(root)], default=0.0)
        between = facts.operations[pass_.until : change.after]
        # the division by the scale, also in a library's own clip_grad_norm_
        if factor > 1 and not any(
            operator(o) == "reciprocal" or "unscale_(" in facts.text.line(o.span) for o in between
        ):
            scaler = facts.text.line(root.span).partition(".scale(")[0].split()[-1].lstrip("(")
            yield Scaled(change, pass_, root.span, _number(factor), scaler)


def clipped_scaled(facts: Facts, clips: list[Change]) -> Cause | None:
    for clip in while_scaled(facts, clips):
        span = clip.change.span
        held = optimiser_name(facts, updated(facts))
        return Cause(
            "clipped while scaled",
            f"clip_grad_norm_{facts.at_line(span)} measures gradients that are still multiplied by "
            f"the loss scale, {clip.factor}: unscale_() is not called before it",
            clip.evidence(facts, "the norm of the multiplied gradients is clipped"),
            (f"{clip.scaler}.unscale_({held}) before line {span.line if span else 0}",),
        )
    return None


def scaled_step(facts: Facts) -> Cause | None:
    """Find an optimiser's own step with gradients that still have the loss scale."""
    changes = facts.trace.changes
    for step in while_scaled(facts, [change for change in changes if change.how == "step"]):
        span = step.change.span
        held = code_at(facts, span).partition(".step(")[0]
        since = (c for c in changes if step.pass_.until <= c.after <= step.change.after)
        if held in ("", step.scaler) or any(c.of_grad and c.how not in CLEARS for c in since):
            continue
        code = f"{step.scaler}.step({held}); {step.scaler}.update()"
        text = f"{code} in place of {held}.step(){facts.at_line(span)}"
        return Cause(
            "scaled step",
            f"{held}.step(){facts.at_line(span)} uses gradients that are still multiplied by the "
            f"loss scale, {step.factor}: neither unscale_() nor {step.scaler}.step() divides them",
            step.evidence(facts, "the step uses the multiplied gradients"),
            (with_statement(facts, facts.text.statement(span), code, text),),
        )
    return None


ITERATORS = ("filter", "map", "iter")


def not_clipped(facts: Facts) -> Cause | None:
    """Find clip_grad_norm_, in a loop that ran, of an iterator that another call has exhausted."""
    written = {c.span.line for c in facts.trace.changes if c.of_grad and c.span is not None}
    calls = [c for c in facts.text.calls if c.args and c.lineno not in written]
    for call in calls:
        statement = facts.text.statement(span_of(call))
        loop = loop_around(facts, statement)
        if (
            not facts.text.cut(call.func).endswith("clip_grad_norm_")
            or loop is None
            or statement not in loop.body
            or facts.lines.isdisjoint(places.lines_of(loop))
        ):
            continue
        name = facts.text.cut(call.args[0])
        for bound in facts.text.assignments(name):
            value = getattr(bound, "value", None)
            if not isinstance(value, ast.Call) or facts.text.cut(value.func) not in ITERATORS:
                continue
            line = facts.at_line(span_of(value))
            code = f"list({facts.text.cut(value)})"
            return Cause(
                "clips nothing",
                f"clip_grad_norm_ on line {call.lineno} gets no tensor: {name} is an iterator"
                f"{line}, and another call has taken its tensors",
                (
                    facts.at(f"{name} gives its tensors once", span_of(value)),
                    facts.at("nothing is left of it here", span_of(call)),
                ),
                (Fix(f"{code}{line}", [(span_of(value), code)]),),
                symptom="no gradient is clipped",
            )
    return None


def clipped_to_nothing(facts: Facts, clips: list[Change]) -> Cause | None:
    spans = {clip.span for clip in clips}
    zero = next(
        (o for o in facts.calls_of(("div", "mul")) if o.span in spans and _is_zero(o.constants)),
        None,
    )
    if zero is None:
        return None
    return Cause(
        "clipped to 0",
        f"clip_grad_norm_{facts.at_line(zero.span)} makes every gradient 0: its largest norm is 0",
        (
            facts.at("the gradients are multiplied by 0 / norm", zero.span),
            Evidence("so the steps use zeros"),
        ),
        ("a norm above 0, for instance 1.0",),
        symptom="nothing is updated",
    )


def clipped_away(facts: Facts, clips: list[Change]) -> Cause | None:
    """Find a largest norm so small that the steps of SGD, which are lr times the gradient, change
    next to nothing.
    """
    spans = {clip.span for clip in clips}
    optimiser = updated(facts)
    divisions = (o for o in facts.calls_of(("div", "mul")) if o.span in spans and o.tensors)
    division = next((o for o in divisions if is_number("".join(o.constants[:1]))), None)
    if division is None or optimiser is None or not is_plain_sgd(optimiser):
        return None
    clipped = {
        facts.tensors[i].first for clip in clips if clip.span == division.span for i in clip.tensors
    }
    if not clipped >= {facts.tensors[i].first for i in optimiser.tensors}:
        return None
    inverse = facts.maker(division.tensors[0])  # of c / norm, which may be c times its reciprocal
    norm = (division if inverse is None or inverse.name != "reciprocal" else inverse).tensors[0]
    value = facts.tensors[norm].value
    before = 0.0 if value is None else highest(value) or 0.0
    bound = float(division.constants[0])
    lr = max((rate for _, rate in optimiser.rates), default=optimiser.lr or 0.0)
    sizes = [
        v.norm
        for i in optimiser.tensors
        if (v := facts.tensors[i].value) is not None and v.is_measured
    ]
    least = hypot(*sizes) * SPACING
    if not 0 < bound < before or not lr * bound < least <= lr * before:
        return None
    norms = f"from {_number(before)} to {_number(bound)}"
    return Cause(
        "clipped to 0",
        f"clip_grad_norm_{facts.at_line(division.span)} reduces the norm of the gradients {norms}, "
        f"and lr={lr:g} times that is less than {SPACING:g} of the parameters' norm, "
        f"{_number(hypot(*sizes))}",
        (
            facts.at(
                f"the norm of all gradients goes {norms} here{facts.step(division)}", division.span
            ),
        ),
        ("a larger norm, for instance 1.0",),
        symptom="next to nothing is updated",
    )


def is_plain_sgd(optimiser: OptimiserRecord) -> bool:
    return optimiser.kind == "SGD" and not any(
        setting(optimiser, name) for name in ("momentum", "weight_decay")
    )


def _is_zero(texts: tuple[str, ...]) -> bool:
    return texts[:1] in (("0",), ("0.0",))


def _number(x: Any) -> str:
    return short(int(x)) if float(x).is_integer() else short(x)
