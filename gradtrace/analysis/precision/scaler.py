"""Explain the steps that a GradScaler skipped, by parameter and operation."""

from __future__ import annotations

from gradtrace.analysis.cause import Cause, Evidence
from gradtrace.analysis.places import Text
from gradtrace.analysis.terms import plain
from gradtrace.analysis.words import at_line, folded
from gradtrace.annotations import NamedTuple
from gradtrace.trace.record import Trace


class SkippedSteps(NamedTuple):
    """What explains the steps that were skipped: the operation of the first of them, or None, and the parameter."""

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
    row = next((row for row in rows if operation is not None and row.operation == operation.id), None)
    span = None if operation is None else operation.span
    names = [plain(trace.tensors[i].label) for i in first.tensors]
    where = at_line(span).lstrip() + ", " * bool(span)
    clause = f"{where}the gradients overflow, scaled by {first.scale:g}"
    if operation is None:
        clause = "no measured gradient is finite in float64 and not in its own type, so another scale does not help"
    if row is not None:
        label = plain(trace.tensors[row.tensor].label)
        size = f"up to {row.largest:.3g} when scaled by {first.scale:g}"
        clause = f"{where}the gradient of {label}, {size}, overflows {row.dtype}"
    done = "" if operation is None else f"{operation.name} backward: the first gradient that is not finite"
    source = Text(trace.source_text, trace.files).line(span)
    evidence = Evidence(done or "the gradients were also computed in float64", span, source)
    fits = [scaling.fits for scaling in skipped if scaling.fits]
    steps = "the skipped step" if len(skipped) == 1 else f"the {len(skipped)} skipped steps"
    if len(fits) < len(skipped):
        steps = f"{len(fits)} of {steps}"
    fitting = f"GradScaler(init_scale={min(fits, default=0):g}): every gradient measured in {steps} would be finite"
    times = "" if len(skipped) == 1 else f" ({len(skipped)} steps in all)"
    sentence = f"a step was skipped{times}: the gradients of {folded(names, 'parameters')} are not finite"
    passed = None if row is None else row.passed
    cause = Cause("skipped step", clause, (evidence,), (fitting,) if first.fits else (), sentence, names[0])
    return SkippedSteps(cause, None if operation is None else operation.id, passed, first.tensors[0])
