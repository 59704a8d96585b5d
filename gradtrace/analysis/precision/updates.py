"""Explain updates of parameters that rounding took."""

from __future__ import annotations

from gradtrace.analysis.cause import Cause, Evidence
from gradtrace.analysis.places import Text
from gradtrace.analysis.precision.kinds import wider
from gradtrace.analysis.terms import plain
from gradtrace.analysis.words import at_line, folded
from gradtrace.trace.precision import UpdateLoss
from gradtrace.trace.record import Span, Trace

PART = 0.5  # the part of a parameter's elements, and of an update's size, that rounding must take


def lost_updates(trace: Trace, felt: set[int]) -> tuple[Cause, int] | None:
    """Return the explanation of all parameters whose updates were rounded away, with the tensor of the worst one.

    The largest update of each parameter decides: those of a training that converges become small. Only parameters in
    `felt` count, by their first versions: those whose gradients are more than rounding errors.
    """
    assert trace.precision is not None
    largest: dict[int, UpdateLoss] = {}
    for u in sorted(trace.precision.updates, key=lambda u: u.norm):
        largest[trace.tensors[u.tensor].first] = u
    broken = [u for u in trace.precision.updates if u.broken]
    if broken:
        return broken_updates(trace, broken), broken[0].tensor
    bad = [u for u in largest.values() if u.wanted and u.lost >= PART * u.wanted and u.error >= PART]
    bad = [u for u in bad if trace.tensors[u.tensor].first in felt]
    if not bad:
        return None
    worst = max(bad, key=lambda u: u.lost / u.wanted)
    name = plain(trace.tensors[worst.tensor].label)
    clause = (
        f"the largest update of {name} left {worst.lost:,} of {worst.wanted:,} elements as they were: "
        f"their changes, up to {worst.largest:.3g}, are smaller than the spacing of {worst.dtype} there"
    )
    advice = (f"keep the parameters in {wider(worst.dtype)} (master weights)", "round stochastically")
    sentence = f"the updates of {folded([plain(trace.tensors[u.tensor].label) for u in bad], 'parameters')} are lost"
    return cause_of(trace, "lost update", worst, clause, advice, sentence), worst.tensor


def broken_updates(trace: Trace, broken: list[UpdateLoss]) -> Cause:
    """Explain updates whose result is not finite, where it is in the wider type."""
    first = broken[0]
    name = plain(trace.tensors[first.tensor].label)
    clause = (
        f"{first.broken:,} of {first.elements:,} elements of {name} are not finite after its update in {first.dtype}; "
        "in a wider type they are"
    )
    names = folded([plain(trace.tensors[i].label) for i in dict.fromkeys(u.tensor for u in broken)], "parameters")
    advice = (
        f"keep the parameters in {wider(first.dtype)} (master weights)",
        *["an optimiser's eps of 1e-8 is 0 in float16: use a larger one"] * (first.dtype == "float16"),
    )
    return cause_of(trace, "broken update", first, clause, advice, f"the updates of {names} are not finite")


def cause_of(trace: Trace, code: str, update: UpdateLoss, clause: str, advice: tuple[str, ...], what: str) -> Cause:
    span = place_of(trace, update)
    source = Text(trace.source_text, trace.files).line(span)
    evidence = (Evidence("each update was also computed in a wider type", span, source),)
    return Cause(code, at_line(span).lstrip() + ", " * bool(span) + clause, evidence, advice, what)


def place_of(trace: Trace, update: UpdateLoss) -> Span | None:
    """Return the place of an update: the operation that made it, or the optimiser's step."""
    last = trace.operations[update.after - 1] if 0 < update.after <= len(trace.operations) else None
    first = trace.tensors[update.tensor].first
    if last is not None and any(trace.tensors[i].first == first for i in last.outputs):
        return last.span
    return next((o.step_span for o in trace.optimisers if o.step_span is not None), None)
