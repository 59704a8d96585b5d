"""Explain a tensor's gradient: None, zero, NaN, or a number.

    cause = why(trace, trace.tensor("w").id)

The run must have been watched and captured with `everything`. The possible causes are tried in
order, and the first one that applies is the answer.
"""

from __future__ import annotations

from gradtrace.analysis import copies, history, numbers, places, zeros
from gradtrace.analysis.cause import Cause, Evidence
from gradtrace.analysis.causes import not_finite
from gradtrace.analysis.copies import left_numbers
from gradtrace.analysis.facts import Facts, is_finite, is_zero
from gradtrace.analysis.flow import Cut, leading_to
from gradtrace.analysis.rewrites import with_line_after, with_statement
from gradtrace.analysis.terms import plain, spans_of
from gradtrace.analysis.words import brief
from gradtrace.trace.record import OVERWRITTEN, PassRecord, TensorRecord, Trace


def why(trace: Trace, tensor: int) -> Cause:
    """Return the cause of what one tensor's gradient is, with its evidence."""
    return explain(Facts(trace), trace.tensors[tensor])


def explain(facts: Facts, record: TensorRecord) -> Cause:
    cause = of_gradient(facts, record)
    grad = record.grad
    is_part = (
        grad is not None
        and grad.is_measured
        and any(shard.name == record.label for shard in facts.trace.shards)
    )
    if not is_part:
        return cause
    return cause._replace(
        symptom=f"Before the ranks reduce it, rank {facts.trace.rank}'s {cause.symptom}"
    )


def of_gradient(facts: Facts, record: TensorRecord) -> Cause:
    if record.grad is None:
        causes = (ask(facts, record) for ask in ASKED)
        cause = next(filter(None, causes), None)
        unknown = Cause("unknown", "backward has not come to it", [facts.origin(record)])
        return (cause or unknown).about(record, "none", "None")
    if not is_finite(record.grad):
        return not_finite.of_gradient(facts, record).about(record, "nan", brief(record.grad))
    return zeros.zero(facts, record) if is_zero(record.grad) else numbers.filled(facts, record)


# ---- causes


def cleared(facts: Facts, record: TensorRecord) -> Cause | None:
    """Explain a gradient that was set to None after backward had stored it."""
    last = facts.last_change(record)
    if last is None or last.how != "cleared":
        return None
    before = facts.steps[: last.after_steps]
    after = facts.steps[last.after_steps :]
    stored = [s for s in before if s.function == record.function and s.grad_after is not None]
    if not stored or any(s.function == record.function for s in after):
        return None
    return Cause(
        "cleared",
        f"it was set to None{facts.at_line(last.span)}, after backward had filled it",
        [
            facts.origin(record),
            facts.backward(facts.passes[stored[-1].number]),
            facts.at("the gradient is set to None", last.span),
        ],
        (
            "read .grad before zero_grad() (or before it is set to None)",
            "zero_grad(set_to_none=False) leaves zeros instead",
        ),
    )


def overwritten(facts: Facts, record: TensorRecord) -> Cause | None:
    """Explain a version of a tensor that was overwritten."""
    if record.grad_note != OVERWRITTEN:
        return None
    return Cause(
        "overwritten",
        "an in-place operation has made a later version of this tensor",
        [facts.origin(record)],
        ("ask for the tensor by its name",),
    )


def without_grad(facts: Facts, record: TensorRecord) -> Cause | None:
    """Explain a tensor that does not require grad."""
    return None if record.requires_grad else history.no_history(facts, record)


def never_called(facts: Facts, record: TensorRecord) -> Cause | None:
    """Explain a run in which no pass stored gradients."""
    if facts.storing:
        return None
    origin = facts.origin(record)
    failure = facts.trace.failure
    if facts.passes:
        after = facts.flow.after([record.id])
        own = (p for p in reversed(facts.passes) if not after.isdisjoint(p.roots))
        return only_returned(facts, origin, next(own, facts.passes[-1]))
    if failure is not None:
        ran = ".backward(" in facts.text.line(failure.span)
        when = (
            "backward failed before it stored a gradient"
            if ran
            else "the program failed before backward was called"
        )
        end = facts.at(f"the program ends here by {failure.kind}: {failure.message}", failure.span)
        return Cause("never called", when, [origin, end], ("fix the error first",))
    return uncalled(facts, origin)


def uncalled(facts: Facts, origin: Evidence) -> Cause:
    """Explain a run without a backward: its call has no parentheses, or the result does not require
    grad, or it is missing.
    """
    statement = next(iter(places.uncalled(facts.text, ("backward",))), None)
    roots = [facts.tensors[i] for i in facts.roots]
    if roots and not any(root.requires_grad for root in roots):
        cause = history.no_history(facts, roots[0])
        because = (
            f"backward was not called, and {roots[0].label} does not require grad: {cause.because}"
        )
        return Cause(
            "never called", because, list(dict.fromkeys([origin, *cause.evidence])), cause.advice
        )
    if statement is not None:
        text = facts.text.cut(statement)
        head = places.head_of(statement)
        fix = with_statement(statement, f"{text}()", f"{text}(){facts.at_line(head)}")
        here = facts.at("this only looks the method up", head)
        because = f"backward was not called: line {head.line} names {text} without parentheses"
        return Cause("never called", because, [origin, here], (fix,))
    call = f"{facts.root_names()}.backward()"
    return Cause(
        "never called",
        "backward was not called",
        [origin],
        (with_line_after(facts, None, call, f"call {call}"),),
    )


def not_retained(facts: Facts, record: TensorRecord) -> Cause | None:
    """Explain a tensor that backward reached without keeping its gradient, since it is not a
    leaf.
    """
    visits = facts.visits_of(record)
    last = facts.passes[visits[-1].number] if visits else unseen_pass(facts, record)
    if record.is_leaf or record.retains_grad or last is None:
        return None
    evidence = [facts.backward(last)]
    passing = visits[-1].gradient if visits else None
    if passing is not None:
        evidence.append(Evidence(f"the gradient that passed through it was {brief(passing)}"))
    hidden = history.hidden_leaf(facts, record)
    if hidden is not None:
        return hidden._replace(evidence=[*hidden.evidence, *evidence])
    variable = record.name or plain(record.label)
    is_path = variable.replace(".", "_").isidentifier()
    call = f"{variable}.retain_grad()" if is_path else "retain_grad() on the result"
    # an option has no effect where the program calls backward itself
    by_option = "--retain-grad" in record.grad_note and record.name is not None
    option = f" (--retain-grad {record.name})" if by_option else ""
    return Cause(
        "non-leaf",
        "it is a non-leaf, and backward keeps gradients only for leaf tensors",
        [facts.origin(record), *evidence],
        (f"call {call} before backward{option}", "or read it in a hook (register_hook)"),
    )


def unseen_pass(facts: Facts, record: TensorRecord) -> PassRecord | None:
    """Return the last pass that came to a tensor and of which only the stored gradients are
    recorded, as of most passes of a long run.
    """
    seen = {s.number for s in facts.steps if facts.functions[s.function].variable is None}
    passes = passes_through(facts, record)
    return next((p for p in reversed(passes) if p.number not in seen and not p.error), None)


def passes_through(facts: Facts, record: TensorRecord) -> list[PassRecord]:
    """Return the passes that store gradients and begin at a tensor or behind it."""
    above = set() if record.function is None else leading_to(facts.trace, {record.function})
    starts = {t.id for t in facts.tensors if t.function in above}
    return [pass_ for pass_ in facts.storing if not starts.isdisjoint(pass_.roots)]


def left_out(facts: Facts, record: TensorRecord) -> Cause | None:
    """Explain a tensor that was not among the chosen inputs of any pass."""
    for_others = [
        pass_
        for pass_ in facts.storing
        if pass_.inputs is not None and record.id not in pass_.inputs
    ]
    if len(for_others) != len(facts.storing) or record.function is None:
        return None
    if not passes_through(facts, record):
        return None
    return Cause(
        "inputs=",
        f"backward(inputs=) accumulated into {facts.labels(for_others[-1].inputs or ())} alone",
        [facts.origin(record), facts.backward(for_others[-1])],
        (f"add {record.label} to inputs=, or leave inputs= out",),
    )


def stopped(facts: Facts, record: TensorRecord) -> Cause | None:
    """Explain a gradient that did not reach a tensor on its path: a pass failed, or a Function
    returned None.
    """
    paths = passes_through(facts, record)
    if not paths or record.function is None:
        return None
    origin = facts.origin(record)
    last = paths[-1]
    if last.error:
        because = f"backward failed before it came to {record.label}"
        return Cause(
            "failed", because, [origin, facts.at(last.error, last.span)], ("fix the error first",)
        )
    silent = history.gave_none(facts, record.function, last.number)
    if silent is None:
        because = "no gradient came along the paths that lead to it"
        return Cause("no gradient", because, [origin, facts.backward(last)])
    return Cause(
        "gave None",
        f"{silent.name} returned None for the way that leads to it",
        [
            origin,
            facts.at(f"{silent.name} sends None to this input", silent.span),
            facts.backward(last),
        ],
        (f"return a gradient from {silent.name}'s backward for that input",),
    )


def avoidable(facts: Facts, cuts: list[Cut]) -> Cause:
    """Return the first cut that a program could avoid, one of its own before one of a library,
    which may be by design; an argmax or a comparison has no derivative in any case.
    """
    spans = [(cut.operation or cut.escape).span for cut in cuts]  # type: ignore[union-attr]
    is_own = [span is None or not span.file for span in spans]
    causes = [
        history.describe(facts, cut)
        for own in (True, False)
        for cut, o in zip(cuts, is_own)
        if o is own
    ]
    return next(
        (c for c in causes if c.code not in ("integer", "comparison", "no derivative")), causes[0]
    )


def ways(facts: Facts, record: TensorRecord, cuts: list[Cut], first: Cause) -> list[str]:
    """Return in words the places that cut the paths from a tensor to the roots: `first`, then the
    others.
    """
    others = [history.describe(facts, cut).because for cut in cuts]
    after = facts.flow.after([record.id])
    numbers = [number.escape for number in left_numbers(facts) if number.tensor in after]
    others += [f"{escape.how}(){facts.at_line(escape.span)}" for escape in numbers]
    reasons = list(dict.fromkeys([first.because, *others]))
    return (
        reasons
        if len(reasons) <= MOST_WAYS
        else [*reasons[:MOST_WAYS], f"{len(reasons) - MOST_WAYS} more"]
    )


MOST_WAYS = 3


def unreached(facts: Facts, record: TensorRecord) -> Cause | None:
    """Explain a tensor that is on no path to a root: it is cut off, or not used at all."""
    reached = facts.flow.after([record.id])
    last = facts.pass_with(reached)
    origin = facts.origin(record)
    run = facts.backward(last)
    roots = facts.labels(last.roots) or "the result"
    cuts = facts.cuts_on_the_way(record, last.roots)
    if cuts:
        cut = avoidable(facts, cuts)
        because = (
            f"{roots} depends on it only through "
            f"{', and through '.join(ways(facts, record, cuts, cut))}"
        )
        return cut._replace(because=because, evidence=[origin, *cut.evidence, run])
    results = [root for pass_ in facts.storing for root in pass_.roots]
    gone = copies.rewrapped(facts, reached, results) or copies.left_as_number(
        facts, reached, results
    )
    if gone is not None:
        return gone._replace(evidence=[origin, *gone.evidence, run])
    replaced = history.rebound(facts, record)
    if replaced is not None:
        return replaced._replace(evidence=[*replaced.evidence, run])
    unseen = without_grad_mode(facts, record)
    if unseen is not None:
        return Cause("no grad mode", unseen[0], [origin, unseen[1], run])
    returned = next(
        (p for p in reversed(facts.passes) if not p.stores and not reached.isdisjoint(p.roots)),
        None,
    )
    if returned is not None:
        return only_returned(facts, origin, returned)
    uses = facts.uses(record.id)
    if not uses:
        return Cause(
            "unused",
            f"nothing was computed from it, so {roots} does not depend on it",
            [origin, run],
            (f"use {record.label} in the computation of {roots}",),
        )
    return Cause(
        "not on a path",
        f"what was computed from it is not part of {roots}",
        [origin, *list({use.span: use for use in uses}.values())[:3], run],
        (f"let {roots} depend on {differentiable(facts, reached)}, or call backward from there",),
    )


def without_grad_mode(facts: Facts, record: TensorRecord) -> tuple[str, Evidence] | None:
    """Return a sentence and a line about the uses of a leaf if all outside of the passes are in
    grad mode off, in a call that the result comes from, as a Function's forward is; else None.
    """
    inside = [range(pass_.after, pass_.until) for pass_ in facts.passes]
    readers = [
        reader for reader in facts.readers(record.id) if not any(reader.id in ran for ran in inside)
    ]
    if not readers or any(reader.grad_enabled for reader in readers):
        return None
    spans = spans_of(facts, readers[-1])
    makers = filter(None, map(facts.maker, facts.flow.before(facts.roots)))
    if not any(spans_of(facts, maker)[-1:] == spans[-1:] for maker in makers):
        return None
    lines = [span for span in reversed(spans) if not span.file]
    through = f", called{facts.at_line(lines[0])}" if len(lines) > 1 else ""
    return (
        f"in the forward pass it is used with grad mode off alone{facts.at_line(readers[-1].span)}"
        f"{through}",
        facts.at("grad mode is off here", readers[-1].span),
    )


def differentiable(facts: Facts, tensors: set[int]) -> str:
    """Return the name of the last of some tensors through which gradients can come back."""
    return plain(facts.label(max(i for i in tensors if facts.tensors[i].requires_grad)))


def only_returned(facts: Facts, origin: Evidence, pass_: PassRecord) -> Cause:
    """Explain a gradient that autograd.grad returned."""
    return Cause(
        "autograd.grad",
        "autograd.grad returns gradients, it stores none in .grad",
        [origin, facts.backward(pass_)],
        ("take the gradient from what autograd.grad returns", "or call backward() instead"),
    )


ASKED = (
    cleared,
    overwritten,
    without_grad,
    never_called,
    not_retained,
    left_out,
    stopped,
    unreached,
)
