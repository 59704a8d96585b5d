"""Find steps whose gradients are not those of one loss: two losses, undivided micro-batches,
clipping too early.
"""

from __future__ import annotations

from math import hypot

from gradtrace.analysis.cause import Cause, Evidence
from gradtrace.analysis.causes.loops import updated
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.ledger.book import Ledger, ledger_of
from gradtrace.analysis.ledger.gradients import CLEARS, GradientEntry, sums
from gradtrace.analysis.ledger.parameters import ParameterEntry
from gradtrace.analysis.places import lines_of
from gradtrace.analysis.rewrites import with_statement
from gradtrace.analysis.terms import (
    code_at,
    highest,
    named,
    numbers_in,
    operator,
    optimiser_name,
    setting,
)
from gradtrace.analysis.words import short_number as short
from gradtrace.annotations import Any, Iterator, NamedTuple, Sequence
from gradtrace.engine.operators.tables import function_table
from gradtrace.program import syntax as ast
from gradtrace.trace.record import Change, ClipRecord, Operation, OptimiserRecord, PassRecord, Span

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


def trained_by(ledger: Ledger) -> Iterator[tuple[int, ParameterEntry]]:
    """Yield the index of each optimiser that takes steps, with a parameter that gets gradients."""
    facts = ledger.facts
    for number, optimiser in enumerate(facts.trace.optimisers):
        held = (entry for entry in ledger.trained if number in entry.holders and entry.gradients)
        entry = next((entry for entry in held if entry.leaf not in facts.assigned), None)
        if optimiser.steps > 1 and entry is not None:
            yield number, entry


def size(group: list[GradientEntry]) -> int:
    """Return of how many passes a step used the sum, also of those that a step had used before."""
    return group[-1].stale + len(group)


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
    ledger = ledger_of(facts)
    for number, entry in trained_by(ledger):
        optimisers = list(facts.trace.optimisers)
        optimiser = optimisers.pop(number)
        marks = [mark.after for rival in optimisers for mark in rival.marks]
        mixed = []
        for group in sums(entry.gradients):
            passes = list(map(ledger.pass_of, group))
            added = foreign(passes, marks)
            if added is not None:
                mixed.append((passes[-1], added, size(group)))
        if len(mixed) > 1:
            return of_two(facts, optimiser, entry.leaf, *mixed[-1])
    return None


def foreign(passes: list[PassRecord], marks: list[int]) -> PassRecord | None:
    """Return a pass from another line than the last one, after which another optimiser took its
    step.
    """
    last = passes[-1]
    for pass_ in passes[:-1]:
        if pass_.span != last.span and any(pass_.until <= ran <= last.after for ran in marks):
            return pass_
    return None


def of_two(
    facts: Facts,
    optimiser: OptimiserRecord,
    leaf: int,
    last: PassRecord,
    added: PassRecord,
    count: int,
) -> Cause:
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
            facts.at(f"the step uses the sum of {count} passes", optimiser.step_span),
        ),
        (
            f"{variable}.zero_grad() right before backward{facts.at_line(last.span)}",
            f"or .detach() where {loss} reads what {name.partition('.')[0]} made, if it is not to "
            "change it",
        ),
        tensors=facts.held_by(optimiser),
    )


# ---- micro-batches


def undivided(facts: Facts) -> Cause | None:
    """Find gradients of micro-batches that are added up, each of a mean, with a step after some of
    them.
    """
    ledger = ledger_of(facts)
    for number, entry in trained_by(ledger):
        optimiser = facts.trace.optimisers[number]
        steps = sums(entry.gradients)
        if not steps or not every_few(facts, optimiser.step_span):
            continue
        passes = list(map(ledger.pass_of, steps[0]))
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
        which = "each step" if all(size(group) == count for group in steps) else "the first step"
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
    if span is None or span.file:
        return False
    around = (s for s in facts.text.statements if isinstance(s, ast.If))
    tests = [s.test for s in around if span.line in lines_of(s)]
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
    clips = [clip for clip in facts.trace.clips if clip.how == "norm"]
    return (
        clipped_to_nothing(facts, clips)
        or clipped_scaled(facts, clips)
        or clipped_away(facts, clips)
    )


class Scaled(NamedTuple):
    """A clipping or a step that uses gradients with the loss scale, after the pass from a loss that
    a GradScaler has multiplied at `span`.
    """

    use: Change | ClipRecord
    pass_: PassRecord
    span: Span | None
    factor: str
    scaler: str

    def evidence(self, facts: Facts, text: str) -> tuple[Evidence, ...]:
        return (
            facts.at(f"the loss is multiplied by {self.factor} here", self.span),
            facts.at(text, self.use.span),
        )


def while_scaled(facts: Facts, uses: Sequence[Change | ClipRecord]) -> Iterator[Scaled]:
    """Yield the first use at each place, if nothing has divided the gradients before it."""
    calls = facts.trace.scalings
    scaled = {call.span for call in calls if call.how == "scale"}
    for use in {use.span: use for use in reversed(uses)}.values() if scaled else ():
        pass_ = next((p for p in reversed(facts.storing) if p.until <= use.after), None)
        root = facts.maker(pass_.roots[0]) if pass_ is not None and pass_.roots else None
        if pass_ is None or root is None or operator(root) != "mul" or root.span not in scaled:
            continue
        scales = [highest(value) or 0.0 for _, value in facts.operands(root)[1:]]
        factor = max([*scales, *numbers_in(root)], default=0.0)
        # also in a library's own clip_grad_norm_
        divided = (c for c in calls if c.how in ("unscale_", "step"))
        if factor > 1 and not any(pass_.until <= c.after <= use.after for c in divided):
            before, call, _ = facts.text.line(root.span).partition(".scale(")
            scaler = f" {before}".split(" ")[-1].lstrip("(") if call else ""
            is_name = all(part.isidentifier() for part in scaler.split("."))
            yield Scaled(use, pass_, root.span, _number(factor), scaler if is_name else "scaler")


def clipped_scaled(facts: Facts, clips: list[ClipRecord]) -> Cause | None:
    for clip in while_scaled(facts, clips):
        span = clip.use.span
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
        span = step.use.span
        held = code_at(facts, span).partition(".step(")[0]
        since = (c for c in changes if step.pass_.until <= c.after <= step.use.after)
        if not held or any(c.of_grad and c.how not in CLEARS for c in since):
            continue
        code = f"{step.scaler}.step({held}); {step.scaler}.update()"
        text = f"{code} in place of {held}.step(){facts.at_line(span)}"
        return Cause(
            "scaled step",
            f"{held}.step(){facts.at_line(span)} uses gradients that are still multiplied by the "
            f"loss scale, {step.factor}: neither unscale_() nor {step.scaler}.step() divides them",
            step.evidence(facts, "the step uses the multiplied gradients"),
            (with_statement(facts.text.statement(span), code, text),),
        )
    return None


def clipped_to_nothing(facts: Facts, clips: list[ClipRecord]) -> Cause | None:
    zero = next((clip for clip in clips if clip.limit == 0), None)
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


def clipped_away(facts: Facts, clips: list[ClipRecord]) -> Cause | None:
    """Find a largest norm so small that the steps of SGD, which are lr times the gradient, change
    next to nothing.
    """
    optimiser = updated(facts)
    if not clips or optimiser is None or not is_plain_sgd(optimiser):
        return None
    clip = clips[0]
    if not facts.held_by(optimiser) <= set(map(facts.flow.tensor, clip.tensors)):
        return None
    before = clip.norm or 0.0
    bound = clip.limit or 0.0
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
    step = facts.step(facts.operations[clip.after - 1])
    return Cause(
        "clipped to 0",
        f"clip_grad_norm_{facts.at_line(clip.span)} reduces the norm of the gradients {norms}, "
        f"and lr={lr:g} times that is less than {SPACING:g} of the parameters' norm, "
        f"{_number(hypot(*sizes))}",
        (facts.at(f"the norm of all gradients goes {norms} here{step}", clip.span),),
        ("a larger norm, for instance 1.0",),
        symptom="next to nothing is updated",
    )


def is_plain_sgd(optimiser: OptimiserRecord) -> bool:
    return optimiser.kind == "SGD" and not any(
        setting(optimiser, name) for name in ("momentum", "weight_decay")
    )


def _number(x: Any) -> str:
    return short(int(x)) if float(x).is_integer() else short(x)
