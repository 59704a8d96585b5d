"""Say what was checked in a training run without a cause: its steps, its loss, who changed its
parameters, its gradients; and what is worth knowing.
"""

from __future__ import annotations

from gradtrace.analysis import places
from gradtrace.analysis.causes.divergence import adds, own_update
from gradtrace.analysis.causes.partial import meant_numbers
from gradtrace.analysis.facts import Facts, is_zero, loss_among, loss_in, number_of
from gradtrace.analysis.laws.table import remarks as meant
from gradtrace.analysis.laws.used_gradients import has_closure
from gradtrace.analysis.ledger.book import Ledger, ledger_of
from gradtrace.analysis.ledger.gradients import CLEARED
from gradtrace.analysis.ledger.parameters import ParameterEntry
from gradtrace.analysis.terms import named, own_span
from gradtrace.analysis.why import explain
from gradtrace.analysis.words import folded, short_number
from gradtrace.analysis.zeros import is_trained, zero_factor
from gradtrace.annotations import Iterator
from gradtrace.trace.record import PIPELINE, Change, Span, TensorRecord

REMARKS = 3  # of a short answer
LOSSES = 3  # lines that compute one, of a pass
FEW = 16  # parameters whose reasons are compared


def short_answer(facts: Facts) -> list[str]:
    """Return a sentence about a training run without causes that says what was checked, then at
    most three remarks; [] for any other run.
    """
    trained = [
        facts.tensors[i]
        for i in facts.optimised or updated(facts)
        if facts.tensors[i].requires_grad
    ]
    if (
        not trained
        or not facts.storing
        or facts.trace.failure is not None
        or PIPELINE in facts.trace.left_out
    ):
        return []
    ledger = ledger_of(facts)
    begin = ", ".join(steps(facts))
    clauses = [*changes(ledger), gradients(ledger, trained)]
    head = f"Checked: {'; '.join([begin, *clauses] if begin else clauses)}."
    told = list(dict.fromkeys(f"{cause.because}." for cause in meant(ledger)))
    return [head, *[*told, *remarks(facts, trained)][:REMARKS]]


def changes(ledger: Ledger) -> Iterator[str]:
    """Yield what changed the parameters that optimisers hold, and which did not change."""
    trace = ledger.facts.trace
    groups: dict[tuple[int, ...], list[ParameterEntry]] = {}
    for entry in ledger.trained:
        numbers = tuple(n for n in entry.holders if trace.optimisers[n].steps)
        groups.setdefault(numbers, []).append(entry)
    counts: dict[tuple[str, str, bool], list[tuple[int, int]]] = {}
    for numbers, entries in groups.items():
        moved = [entry for entry in entries if entry.updates and not entry.is_still]
        others = {ledger.facts.statement(write): write for entry in moved for write in entry.others}
        calls = [
            f"{text}{ledger.facts.at_line(place_of(ledger.facts, write))}"
            for text, write in list(others.items())[:2]
        ]
        names = [trace.optimisers[number].kind for number in numbers]
        is_one = len(names) > 1 and len(set(names)) == 1
        kinds = f"{len(names)} {names[0]} optimisers" if is_one else " and ".join(names)
        key = kinds, " and ".join(calls) or "nothing else", bool(moved)
        counts.setdefault(key, []).append((len(moved), len(entries)))
    for (kind, besides, _), pairs in counts.items():
        count, held = map(sum, zip(*pairs, strict=True))
        changed = f"{count} of {held}" if count < held else f"{count}"
        by = kind if len(pairs) == 1 else f"{len(pairs)} {kind} optimisers"
        noun = f"parameter{'s' * (held > 1)}"
        yield (
            f"{changed} {noun} changed by {by} and by {besides}"
            if count
            else f"the {held} {noun} of {by} did not change"
        )


def place_of(facts: Facts, write: Change) -> Span | None:
    """Return the program's own place of a write, if its operation is recorded."""
    if write.operation is None or not 0 <= write.operation < len(facts.operations):
        return write.span
    operation = facts.operations[write.operation]
    return own_span(facts, operation) if operation.name == write.how else write.span


def updated(facts: Facts) -> list[int]:
    """Return the leaves with gradients that a loop changes in each step, in a program without an
    optimiser.
    """
    least = max(2, len(facts.trace.training))
    entries = ledger_of(facts).parameters.values()
    return [entry.leaf for entry in entries if entry.gradients and len(entry.writes) >= least]


def steps(facts: Facts) -> Iterator[str]:
    """Yield the number of steps, and the loss of the first and the last one."""
    training = facts.trace.training
    if not training:
        return
    yield f"{len(training)} step{'s' * (len(training) > 1)}"
    losses: dict[Span | None, list[TensorRecord]] = {}
    for step in training:
        loss = loss_in(facts.trace, step)
        if loss is not None and number_of(loss) is not None:
            losses.setdefault(computed_at(facts, loss), []).append(loss)
    # the loss of the last step, then those of other lines
    last = loss_in(facts.trace, training[-1])
    first = None if last is None else computed_at(facts, last)
    for span, records in sorted(losses.items(), key=lambda pair: pair[0] != first)[:LOSSES]:
        yield course(facts, records, None if span == first else span)
    stored = [p.span for p in facts.passes[slice(*training[-1].passes)] if p.stores]
    yield from other_losses(facts, stored[-1:])


def computed_at(facts: Facts, loss: TensorRecord) -> Span | None:
    maker = facts.maker(loss.id)
    return None if maker is None else own_span(facts, maker)


def course(facts: Facts, losses: list[TensorRecord], span: Span | None) -> str:
    """Return the first and the last number of a loss, with its name or the place."""
    name = named(facts, losses[-1].id)
    ends = [number_of(losses[i]) for i in sorted({0, len(losses) - 1})]
    numbers = " -> ".join(f"{x + 0.0:.4g}" for x in ends if x is not None)
    return f"{name if name.isidentifier() else 'loss'} {numbers}{facts.at_line(span)}"


def other_losses(facts: Facts, shown: list[Span | None]) -> Iterator[str]:
    """Yield the losses of passes that other optimisers' steps used, also in other loops, by the
    places of the passes, without the places `shown`.
    """
    losses: dict[Span | None, list[TensorRecord]] = {}
    for pass_ in (facts.passes[i] for i in sorted(facts.stepped)):
        loss = loss_among(facts.trace, pass_.roots)
        if loss is not None and pass_.span not in shown:
            losses.setdefault(pass_.span, []).append(loss)
    for span, records in losses.items():
        yield course(facts, records, span)


def gradients(ledger: Ledger, trained: list[TensorRecord]) -> str:
    """Return how many parameters have gradients, between which norms, and what became of these."""
    if not ledger.facts.assigned.isdisjoint(t.id for t in trained):
        return "the program sets gradients"
    stored = [t for t in trained if t.id in ledger.gradients]
    entries = [entry for t in stored for entry in ledger.gradients[t.id]]
    # the gradient that the last step used, which may be unscaled or clipped
    last = {t.first: t.grad for t in ledger.facts.tensors if t.grad is not None and not t.is_last}
    values = [last.get(t.first, ledger.gradients[t.id][-1].turn.grad_after) for t in stored]
    norms = sorted(v.norm for v in values if v is not None and v.is_measured and not is_zero(v))
    ends = list(dict.fromkeys(short(norm) for norm in (norms[0], norms[-1]))) if norms else []
    between = f" (norm{'s' * (len(ends) > 1)} {' to '.join(ends)})" if len(norms) > 1 else ""
    if not stored:
        return "no parameter has a gradient"
    if len(stored) < len(trained):
        return f"{len(stored)} of {len(trained)} parameters have gradients{between}"
    lost = sum(entry.fate == CLEARED for entry in entries)
    if any(has_closure(ledger.facts, o) for o in ledger.facts.trace.optimisers if o.steps):
        lost = 0  # a closure clears what its optimiser has read
    used = ""
    if lost:
        used = f", {lost} of {len(entries)} of them cleared before a step"
    elif ledger.trained and not any(entry.stale for entry in entries):
        used = f", {'each ' * (len(trained) > 1)}used once"
    if len(trained) > 1:
        # others have gradients too, which no optimiser uses
        loose = any(e.gradients and not e.holders for e in ledger.parameters.values())
        of = " in optimisers" if loose and ledger.facts.optimised else ""
        return f"all {len(trained)} parameters{of} have gradients{between}{used}"
    return f"the parameter has a gradient{used}"


def short(x: float) -> str:
    return short_number(float(f"{x:.1g}"))


def reason(facts: Facts, records: list[TensorRecord]) -> str:
    """Return why some parameters have the gradients that they have; of many, or for other reasons,
    why the first one has its.
    """
    because = list(dict.fromkeys(explain(facts, t).because for t in records[:FEW]))
    is_all = len(because) == 1 and len(records) <= FEW
    return because[0] if is_all else f"of {records[0].label}, {because[0]}"


def remarks(facts: Facts, trained: list[TensorRecord]) -> Iterator[str]:
    """Yield what else is worth knowing of a run, most important first."""
    update = None if facts.optimised else own_update(facts)
    if update is not None and adds(update):
        place = facts.at_line(places.head_of(update))
        yield f"{facts.text.cut(update)}{place} adds the gradient: such steps raise the loss."
    unread = [t for t in trained if t.id not in facts.stored and not facts.readers(t.id)]
    if unread:
        yield f"No operation of these steps reads {names(unread)}."
    assigned = facts.assigned
    others = [
        t
        for t in trained
        if t.id not in facts.stored and t.id not in assigned and facts.readers(t.id)
    ]
    if others:
        yield f"{names(others)} got no gradient: {reason(facts, others)}."
    zero = [
        t
        for t in trained
        if t.id in facts.stored and all(is_zero(v.grad_after) for v in facts.stored[t.id])
    ]
    early = {
        t.id: factor
        for t in zero
        if (factor := zero_factor(facts, t)) is not None and is_trained(facts, factor)
    }
    if early:
        shown = [t for t in zero if t.id in early]
        factors = list({factor.id: factor for factor in early.values()}.values())
        noun = "a factor that starts" if len(factors) == 1 else "factors that start"
        yield (
            f"The gradient of {names(shown)} is 0 until an update of {names(factors)}, {noun} at 0."
        )
    if left := [t for t in zero if t.id not in early]:
        yield f"The gradient of {names(left)} is 0: {reason(facts, left)}."
    yield from (f"{said}." for said in meant_numbers(facts))
    frozen = [
        t
        for t in facts.trace.named
        if t.is_parameter and not t.requires_grad and t.id not in facts.stored
    ]
    if frozen:
        yield f"{names(frozen)} {'do' if len(frozen) > 1 else 'does'} not require grad."


def names(records: list[TensorRecord]) -> str:
    return folded([t.label for t in records], "parameters")
