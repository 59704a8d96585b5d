"""Explain updates of parameters that rounding took, and steps that a GradScaler skipped."""

from __future__ import annotations

from gradtrace.analysis.cause import Cause, Evidence
from gradtrace.analysis.places import Text
from gradtrace.analysis.precision.kinds import wider
from gradtrace.analysis.terms import plain
from gradtrace.analysis.words import folded, on_line
from gradtrace.annotations import NamedTuple
from gradtrace.trace.precision import UpdateLoss
from gradtrace.trace.record import Span, Trace

PART = 0.5  # the part of a parameter's elements, and of an update's size, that rounding must take


def lost_updates(trace: Trace, felt: set[int]) -> tuple[Cause, int] | None:
    """Return the explanation of all parameters whose updates were rounded away, with the tensor of
    the worst one.

    The largest update of each parameter decides: those of a training that converges become small.
    Only parameters in `felt` count, by their first versions: those whose gradients are more than
    rounding errors.
    """
    assert trace.precision is not None
    largest: dict[int, UpdateLoss] = {}
    for u in sorted(trace.precision.updates, key=lambda u: u.norm):
        largest[trace.tensors[u.tensor].first] = u
    broken = [u for u in trace.precision.updates if u.broken]
    if broken:
        return broken_updates(trace, broken), broken[0].tensor
    bad = [
        u for u in largest.values() if u.wanted and u.lost >= PART * u.wanted and u.error >= PART
    ]
    bad = [u for u in bad if trace.tensors[u.tensor].first in felt]
    if not bad:
        return None
    worst = max(bad, key=lambda u: u.lost / u.wanted)
    name = plain(trace.tensors[worst.tensor].label)
    clause = (
        f"the largest update of {name} left {worst.lost:,} of {worst.wanted:,} elements as they "
        f"were: their changes, up to {worst.largest:.3g}, are smaller than the spacing of "
        f"{worst.dtype} there"
    )
    advice = (
        f"keep the parameters in {wider(worst.dtype)} (master weights)",
        "round stochastically",
    )
    sentence = (
        "the updates of "
        f"{folded([plain(trace.tensors[u.tensor].label) for u in bad], 'parameters')} are lost"
    )
    return cause_of(trace, "lost update", worst, clause, advice, sentence), worst.tensor


def broken_updates(trace: Trace, broken: list[UpdateLoss]) -> Cause:
    """Explain updates whose result is not finite, where it is in the wider type."""
    first = broken[0]
    name = plain(trace.tensors[first.tensor].label)
    clause = (
        f"{first.broken:,} of {first.elements:,} elements of {name} are not finite after its "
        f"update in {first.dtype}; in a wider type they are"
    )
    names = folded(
        [plain(trace.tensors[i].label) for i in dict.fromkeys(u.tensor for u in broken)],
        "parameters",
    )
    advice = (
        f"keep the parameters in {wider(first.dtype)} (master weights)",
        *["an optimiser's eps of 1e-8 is 0 in float16: use a larger one"]
        * (first.dtype == "float16"),
    )
    return cause_of(
        trace, "broken update", first, clause, advice, f"the updates of {names} are not finite"
    )


def cause_of(
    trace: Trace, code: str, update: UpdateLoss, clause: str, advice: tuple[str, ...], symptom: str
) -> Cause:
    span = place_of(trace, update)
    source = Text(trace.source_text, trace.files).line(span)
    evidence = (Evidence("each update was also computed in a wider type", span, source),)
    return Cause(code, on_line(span) + clause, evidence, advice, symptom)


def place_of(trace: Trace, update: UpdateLoss) -> Span | None:
    """Return the place of an update: the operation that made it, or the optimiser's step."""
    last = trace.operations[update.after - 1] if 0 < update.after <= len(trace.operations) else None
    first = trace.tensors[update.tensor].first
    if last is not None and any(trace.tensors[i].first == first for i in last.outputs):
        return last.span
    return next((o.step_span for o in trace.optimisers if o.step_span is not None), None)


# ---- steps that a GradScaler skipped


class SkippedSteps(NamedTuple):
    """What explains the steps that were skipped: the operation of the first of them, or None, and
    the parameter.
    """

    cause: Cause
    operation: int | None
    passed: int | None
    tensor: int


def skipped_steps(trace: Trace) -> SkippedSteps | None:
    """Explain the first step that a GradScaler skipped; None if it skipped none."""
    assert trace.precision is not None
    skipped = [scaling for scaling in trace.precision.scales if scaling.skipped and scaling.tensors]
    if not skipped:
        return None
    first = skipped[0]
    operation = trace.operations[first.operations[0]] if first.operations else None
    rows = [row for row in trace.precision.measured if row.overflowed and row.passed is not None]
    row = next(
        (row for row in rows if operation is not None and row.operation == operation.id), None
    )
    span = None if operation is None else operation.span
    names = [plain(trace.tensors[i].label) for i in first.tensors]
    where = on_line(span)
    clause = f"{where}the gradients overflow, scaled by {first.scale:g}"
    if operation is None:
        clause = (
            "no measured gradient is finite in float64 and not in its own type, so another "
            "scale does not help"
        )
    if row is not None:
        label = plain(trace.tensors[row.tensor].label)
        size = f"up to {row.largest:.3g} when scaled by {first.scale:g}"
        clause = f"{where}the gradient of {label}, {size}, overflows {row.dtype}"
    done = (
        ""
        if operation is None
        else f"{operation.name} backward: the first gradient that is not finite"
    )
    source = Text(trace.source_text, trace.files).line(span)
    evidence = Evidence(done or "the gradients were also computed in float64", span, source)
    fits = [scaling.fits for scaling in skipped if scaling.fits]
    steps = "the skipped step" if len(skipped) == 1 else f"the {len(skipped)} skipped steps"
    if len(fits) < len(skipped):
        steps = f"{len(fits)} of {steps}"
    fitting = (
        f"GradScaler(init_scale={min(fits, default=0):g}): every gradient measured in "
        f"{steps} would be finite"
    )
    times = "" if len(skipped) == 1 else f" ({len(skipped)} steps in all)"
    sentence = (
        f"a step was skipped{times}: the gradients of {folded(names, 'parameters')} are not finite"
    )
    passed = None if row is None else row.passed
    cause = Cause(
        "skipped step", clause, (evidence,), (fitting,) if first.fits else (), sentence, names[0]
    )
    return SkippedSteps(
        cause, None if operation is None else operation.id, passed, first.tensors[0]
    )
