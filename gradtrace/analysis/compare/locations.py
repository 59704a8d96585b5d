"""The places of what a run did: an operation, a tensor, what became of a gradient, a step."""

from __future__ import annotations

from gradtrace.analysis.compare.cells import VALUE, Cell
from gradtrace.analysis.compare.differences import DifferencePlace
from gradtrace.analysis.compare.reasons import adds_to_earlier, optimiser_of
from gradtrace.analysis.compare.runs import RecordedRun
from gradtrace.analysis.compare.texts import ProgramText
from gradtrace.analysis.ledger.gradients import CLEARS
from gradtrace.annotations import Mapping
from gradtrace.trace.record import Change, Span


def place(run: RecordedRun, tensor: int | None, operation: int | None) -> DifferencePlace | None:
    """Return the place of an operation, else of the tensor; None if a run has neither."""
    if operation is not None:
        record = run.operations[operation]
        shown = next(iter(record.outputs), None) if tensor is None else tensor
        label = record.label if shown is None else run.label(shown)
        own = None if tensor is None else run.own(tensor)
        return DifferencePlace(
            *at(run, record.span), run.modules(record), record.label, label, own, operation
        )
    if tensor is None:
        return None
    label = run.label(tensor)
    change = run.write_of(tensor)
    if change is not None and change.span is not None:
        return DifferencePlace(*at(run, change.span), "", change.how, label, tensor)
    tensor = run.own(tensor)
    module = label.rpartition(".")[0] if run.tensors[tensor].is_parameter else ""
    return DifferencePlace(*at(run, run.span(tensor)), module, "", label, tensor)


def with_origin(
    run: RecordedRun, text: ProgramText, place: DifferencePlace | None
) -> DifferencePlace | None:
    """Return a place with the line that made its module."""
    if place is None or place.made_on is not None or not place.module:
        return place
    kind = run.classes.get(place.module, "")
    return place._replace(made_on=text.module_line(place.module, kind)) if kind else place


def place_of_loss(run: RecordedRun, leaf: int) -> DifferencePlace | None:
    """Return why a parameter is not updated: where the optimiser was made that does not hold it,
    or where its gradient was cleared after backward. None if that is not known.
    """
    optimiser = next(iter(run.trace.optimisers), None)
    label = run.label(leaf)
    if optimiser is not None and optimiser_of(run, leaf) is None:
        return DifferencePlace(*at(run, optimiser.span), "", optimiser.kind, label, leaf)
    if leaf not in run.stored:
        return None
    last = run.stored[leaf][-1]
    change = next((c for c in clears_of(run, leaf) if c.after_steps > last), None)
    if change is None:
        return None
    return DifferencePlace(*at(run, change.span), "", "zero_grad", label, leaf)


def clears_of(run: RecordedRun, leaf: int) -> list[Change]:
    """Return the changes that cleared the gradient of a leaf."""
    writes = run.writes.get(run.tensors[leaf].first, ())
    return [change for change in writes if change.of_grad and change.how in CLEARS]


def first_edit(
    run: RecordedRun, paired: Mapping[int, int], leaf: int, alone: list[Cell]
) -> int | None:
    """Return the first operation that changed the gradient of a leaf after backward, of those that
    only this run has.
    """
    if leaf not in run.holder:
        return None
    begin = run.position(run.holder[leaf])
    makers = [run.tensors[i].operation for kind, i in alone if kind == VALUE]
    return min(
        (n for n in makers if n is not None and n >= begin and n not in paired), default=None
    )


def edit_of(run: RecordedRun, leaf: int) -> int | None:
    """Return the operation that gave the gradient of a leaf its last value; None for backward."""
    return None if leaf not in run.edited else run.tensors[run.edited[leaf]].operation


def place_of_frozen(run: RecordedRun, leaf: int) -> DifferencePlace | None:
    """Return where requires_grad of a leaf was turned off; None if it was not."""
    for change in run.writes.get(run.tensors[leaf].first, ()):
        if change.how == "frozen":
            name = "requires_grad_"
            return DifferencePlace(*at(run, change.span), "", name, run.label(leaf), leaf)
    return None


def first_use(run: RecordedRun, leaf: int) -> int | None:
    """Return the first operation that reads a leaf and through which a gradient can come."""
    uses = run.uses.get(leaf, ())
    return next(
        (n for n in uses if any(run.tensors[i].requires_grad for i in run.operations[n].outputs)),
        None,
    )


def next_version(run: RecordedRun, tensor: int) -> int:
    """Return the version that replaced this one; itself, if none did."""
    versions = run.versions[run.tensors[tensor].first]
    return next((i for i in versions if i > tensor), tensor)


def place_of_clear(run: RecordedRun, leaf: int) -> DifferencePlace:
    """Return where the gradient of a leaf was cleared before backward stored one on it; without
    that, where backward did so.
    """
    before = run.stored[leaf][0]
    visit = run.trace.steps[before]
    clears = [change for change in clears_of(run, leaf) if change.after_steps <= before]
    span = run.trace.passes[visit.number - run.trace.earlier_passes].span
    name = "backward"
    if clears and not adds_to_earlier(run, leaf):
        span = clears[-1].span
        name = "zero_grad"
    return DifferencePlace(*at(run, span), "", name, f"{run.label(leaf)}.grad", leaf)


def place_of_step(
    run: RecordedRun, tensor: int | None, operation: int | None
) -> DifferencePlace | None:
    """Return the place of an optimiser's step that made a version of a parameter."""
    assert tensor is not None
    optimiser = optimiser_of(run, tensor)
    earlier = run.earlier(tensor)
    own = run.own(tensor)
    index = (run.step(tensor) if earlier is None else run.update_step(tensor)) + run.first - 2
    steps = run.trace.training
    change = None if earlier is None else run.update_of(tensor) or run.write_of(tensor)
    span = None if optimiser is None else optimiser.step_span
    if change is not None and change.span is not None:
        span = change.span
    elif 0 <= index < len(steps):
        span = steps[index].span
    label = run.label(tensor)
    name = "" if optimiser is None else f"{optimiser.kind}.step"
    origin = None if optimiser is None else optimiser.span
    line = None if origin is None or origin.file else origin.line
    return DifferencePlace(
        *at(run, span), run.label(own).rpartition(".")[0], name, label, own, made_on=line
    )


def at(run: RecordedRun, span: Span | None) -> tuple[str, int | None]:
    """Return the file and the line of a span."""
    if span is None:
        return run.trace.source_name, None
    return span.file or run.trace.source_name, span.line
