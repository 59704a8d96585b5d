"""The books of one training step: what each parameter got, what it was used for, how it changed."""

from __future__ import annotations

from gradtrace.analysis.ledger.book import Ledger
from gradtrace.analysis.ledger.gradients import CLEARED, LEFT, USED, GradientEntry, sums
from gradtrace.analysis.ledger.parameters import ParameterEntry
from gradtrace.analysis.terms import named, optimiser_name
from gradtrace.analysis.updates import update_of
from gradtrace.annotations import NamedTuple
from gradtrace.errors import UsageError
from gradtrace.trace.labels import called_by
from gradtrace.trace.record import Change, Span


class Source(NamedTuple):
    """A loss that brought a parameter gradients."""

    loss: str
    span: Span | None  # of its passes
    passes: int
    cleared: int  # passes whose gradient was cleared before a step used it
    left: int  # passes whose gradient no step used up to now


class LedgerRow(NamedTuple):
    """A parameter in one step. `fate` is "used", "cleared" or "left"; "" without a gradient."""

    name: str
    losses: tuple[Source, ...]
    norm: float | None  # of the gradient that was used last, else of the last one
    edits: tuple[str, ...]  # what wrote to the gradient before it was used: "clip_grad_norm_"
    fate: str
    by: str  # the optimiser that used it, or the line that cleared it
    span: Span | None  # where
    change: float | None  # the norm of the parameter's change, by the parameter's before
    writes: tuple[str, ...]  # what else changed the parameter


class StepBooks(NamedTuple):
    """The books of a step; `number` is None for a run without a training loop."""

    number: int | None
    steps: int
    rows: tuple[LedgerRow, ...]


def step_books(ledger: Ledger, number: int | None = None) -> StepBooks:
    """Return the books of a step, by default the last one. UsageError for a step that is not
    there.
    """
    trace = ledger.facts.trace
    steps = trace.training
    passes = range(len(trace.passes))
    if steps:
        number = len(steps) if number is None else number
        if not 1 <= number <= len(steps):
            raise UsageError(f"no step {number}", f"the loop has the steps 1 to {len(steps)}")
        passes = range(*steps[number - 1].passes)
    elif number is not None:
        raise UsageError("the program has no training loop", "leave out --step")
    rows = (row(ledger, entry, passes) for entry in ledger.parameters.values())
    return StepBooks(number, len(steps), tuple(r for r in rows if r.fate))


def row(ledger: Ledger, entry: ParameterEntry, passes: range) -> LedgerRow:
    facts = ledger.facts
    gradients = [g for g in entry.gradients if g.turn.number in passes]
    used = [g for g in gradients if g.fate == USED]
    last = next(reversed(used or gradients), None)
    after = None if last is None else last.turn.grad_after
    return LedgerRow(
        named(facts, entry.leaf),
        sources(ledger, gradients),
        after.norm if after is not None and after.is_measured else None,
        tuple(dict.fromkeys(name_of(edit) for g in gradients for edit in g.edits)),
        "" if last is None else last.fate,
        "" if last is None or last.end is None else user(ledger, entry, last),
        None if last is None or last.end is None else last.end.span,
        None if last is None else change_of(entry, last),
        tuple(dict.fromkeys(name_of(write) for g in gradients for write in g.writes)),
    )


def sources(ledger: Ledger, gradients: list[GradientEntry]) -> tuple[Source, ...]:
    """Return the losses of some gradients, one for each line that called backward."""
    lines: dict[Span | None, list[GradientEntry]] = {}
    for gradient in gradients:
        lines.setdefault(ledger.pass_of(gradient).span, []).append(gradient)
    return tuple(
        Source(
            ", ".join(named(ledger.facts, root) for root in ledger.pass_of(group[0]).roots),
            span,
            len(group),
            sum(gradient.fate == CLEARED for gradient in group),
            sum(gradient.fate == LEFT for gradient in group),
        )
        for span, group in lines.items()
    )


def name_of(change: Change) -> str:
    """Return the call of a write: "clip_grad_norm_"."""
    return called_by(change.text) or change.how


def user(ledger: Ledger, entry: ParameterEntry, gradient: GradientEntry) -> str:
    assert gradient.end is not None
    if gradient.end.how != "step" or not entry.holders:
        return ledger.facts.statement(gradient.end)
    number = entry.holders[0] if gradient.end.optimiser is None else gradient.end.optimiser
    return optimiser_name(ledger.facts, ledger.facts.trace.optimisers[number])


def change_of(entry: ParameterEntry, gradient: GradientEntry) -> float | None:
    """Return how far the update with a gradient moved a parameter, relative to its norm."""
    if gradient.fate != USED:
        return None
    ends: list[Change | None] = [group[0].end for group in sums(entry.gradients)]
    changes = sorted((*entry.updates, *entry.writes), key=lambda c: (c.after, c.after_steps))
    if len(entry.versions) == len(changes) + 1:  # each of them made a version
        ends = list(changes)
    place = next(i for i, end in enumerate(ends) if end is gradient.end)
    versions = entry.versions[-len(ends) - 1 :]
    return update_of(versions[place], entry.versions) if place < len(versions) else None
