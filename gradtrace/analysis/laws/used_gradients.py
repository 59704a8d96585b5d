"""Laws of gradients: what a pass computes is used once, for the parameters that it was computed
at.
"""

from __future__ import annotations

from gradtrace.analysis.cause import Cause
from gradtrace.analysis.facts import Facts, is_finite
from gradtrace.analysis.ledger.book import Ledger
from gradtrace.analysis.ledger.gradients import CLEARED, USED, GradientEntry, sums
from gradtrace.analysis.terms import named, settings
from gradtrace.annotations import Iterator, Sequence
from gradtrace.trace.record import OptimiserRecord, PassRecord, Span


def used_once(ledger: Ledger) -> Iterator[Cause]:
    """Gradients are not cleared before a step has used them.

    A pass of which some leaves' gradients are used is in order: a generator's loss goes through the
    discriminator, and an alternating training steps one part at a time. So is one through another
    optimiser's parameters, which that one's steps move by their own loss, one whose gradients the
    program reads, or that an optimiser's closure runs.
    """
    facts = ledger.facts
    passes: dict[int, list[GradientEntry]] = {}
    is_idle = not any(entry.fate == USED for held in ledger.trained for entry in held.gradients)
    for held in ledger.trained:
        holders = [facts.trace.optimisers[n] for n in held.holders]
        if not any(has_closure(facts, holder) for holder in holders):
            begin = 0 if is_idle else min(passes_before(facts, holder) for holder in holders)
            for entry in held.gradients:
                if entry.turn.number >= begin:
                    passes.setdefault(entry.turn.number, []).append(entry)
    lines: dict[Span | None, list[list[GradientEntry]]] = {}
    for number, entries in passes.items():
        lines.setdefault(facts.passes[number].span, []).append(entries)
    for groups in lines.values():
        lost = [group for group in groups if all(map(is_lost, group))]
        if len(lost) < 2 - is_idle or 2 * len(lost) < len(groups):
            continue
        entries = [entry for group in lost for entry in group]
        pass_ = ledger.pass_of(entries[0])
        if len(lost) == len(groups) and any(is_read(facts, pass_, entry) for entry in entries):
            continue
        if all(is_used_elsewhere(ledger, entry) for entry in entries):
            continue
        yield cleared_unused(facts, pass_, entries, len(lost), len(groups))


def is_used_elsewhere(ledger: Ledger, lost: GradientEntry) -> bool:
    """Whether there are several optimisers, and steps use a parameter's gradients of another
    line's passes.
    """
    place = ledger.pass_of(lost).span
    return sum(o.steps > 0 for o in ledger.facts.trace.optimisers) > 1 and any(
        entry.fate == USED and ledger.pass_of(entry).span != place
        for entry in ledger.gradients[lost.leaf]
    )


def passes_before(facts: Facts, optimiser: OptimiserRecord) -> int:
    """Return how many passes ran before an optimiser's first step: no training yet."""
    first = next((mark.after_steps for mark in optimiser.marks), 0)
    return facts.steps[first - 1].number + 1 if first else 0


def is_lost(entry: GradientEntry) -> bool:
    """Whether a gradient was cleared unused; a step that skips one that is not finite is right."""
    after = entry.turn.grad_after
    return entry.fate == CLEARED and (after is None or is_finite(after))


def has_closure(facts: Facts, optimiser: OptimiserRecord) -> bool:
    """Whether an optimiser's step is given a function that runs backward."""
    calls = facts.text.calls_at(optimiser.step_span)
    names = {facts.text.cut(call.args[0]) for call in calls if call.args}
    functions = {function.name for function in facts.text.functions}
    return optimiser.kind == "LBFGS" or not names.isdisjoint(functions)


def is_read(facts: Facts, pass_: PassRecord, entry: GradientEntry) -> bool:
    """Whether the program computes with gradients between a pass and the line that clears them."""
    assert entry.end is not None
    return any(
        facts.tensors[i].operation is None and facts.label(i).endswith(".grad")
        for operation in facts.operations[pass_.until : entry.end.after]
        for i in operation.tensors
    )


def cleared_unused(
    facts: Facts, pass_: PassRecord, lost: list[GradientEntry], passes: int, of: int
) -> Cause:
    end = lost[0].end
    assert end is not None
    call = end.text or "zero_grad()"
    leaves = frozenset(entry.leaf for entry in lost)
    optimisers = facts.trace.optimisers
    optimiser = next((o for o in optimisers if not leaves.isdisjoint(facts.held_by(o))), None)
    evidence = [facts.backward(pass_), facts.at("they are cleared here", end.span)]
    step = ""
    if optimiser is not None and optimiser.step_span is not None:
        idle = f"; {optimiser.idle} of {optimiser.steps} find none" if optimiser.idle else ""
        evidence.append(facts.at(f"steps use what lies there then{idle}", optimiser.step_span))
        step = f"step(){facts.at_line(optimiser.step_span)}"
    return Cause(
        "cleared early",
        f"{call}{facts.at_line(end.span)} clears the gradients of backward"
        f"{facts.at_line(pass_.span)} before {step or 'a step'} uses them, "
        f"in {passes} of {of} passes",
        evidence,
        (
            f"move {call} before backward(), or after step()"
            if passes == of
            else f"call {call} once for each step: right after {step or 'it'}",
        ),
        symptom="nothing is updated" if passes == of else "gradients are lost",
        tensors=leaves,
    )


def of_one_state(ledger: Ledger) -> Iterator[Cause]:
    """The gradients that one step adds up were computed at the same parameters."""
    facts = ledger.facts
    for held in ledger.trained:
        ends = together(held.gradients)
        mixed = [(a, b) for a, b in ends if any(w not in b.writes for w in a.writes)]
        if len(mixed) < 2:
            continue
        first, last = mixed[-1]
        between = next(w for w in first.writes if w not in last.writes)
        name = named(facts, held.leaf)
        before, after = ledger.pass_of(first), ledger.pass_of(last)
        yield Cause(
            "mixed gradients",
            f"each step adds gradients of two states of the parameters: those of backward"
            f"{facts.at_line(before.span)}, from before {facts.statement(between)}"
            f"{facts.at_line(between.span)} changes {name}, and those of backward"
            f"{facts.at_line(after.span)}, from after it",
            (
                facts.backward(before),
                facts.at(f"{name} is changed here, and its gradient stays", between.span),
                facts.backward(after),
            ),
            (f"clear the gradients before backward{facts.at_line(after.span)}",),
            tensors=ledger.leaves,
        )
        return


def together(entries: Sequence[GradientEntry]) -> list[tuple[GradientEntry, GradientEntry]]:
    """Return the first and the last of those entries that one step used, for each such step."""
    return [(group[0], group[-1]) for group in sums(entries) if len(group) > 1]


def closures_clear(ledger: Ledger) -> Iterator[Cause]:
    """What LBFGS calls clears the gradients before each of its passes.

    PyTorch's record has one update for a step, gradtrace's own one for each of its iterations.
    """
    facts = ledger.facts
    for held in ledger.trained:
        holders = [facts.trace.optimisers[number] for number in held.holders]
        optimiser = next((o for o in holders if o.kind == "LBFGS"), None)
        if optimiser is None or settings(optimiser).get("max_iter") == "1":
            continue
        added = [entry for entry in held.gradients if entry.stale]
        if facts.trace.engine:
            added = [entry for used in sums(held.gradients) for entry in used[1:]]
        if len(added) < 2 or any(entry.fate == CLEARED for entry in held.gradients):
            continue
        pass_ = ledger.pass_of(added[-1])
        yield Cause(
            "closure accumulates",
            f"LBFGS{facts.at_line(optimiser.step_span)} calls its closure several times in a step, "
            f"and nothing in it clears the gradients: {len(added)} passes"
            f"{facts.at_line(pass_.span)} add to those before",
            (facts.backward(pass_), facts.at("the steps are taken here", optimiser.step_span)),
            (f"zero_grad() in the closure, before backward{facts.at_line(pass_.span)}",),
            tensors=ledger.leaves,
        )
        return


def for_parameters(ledger: Ledger) -> Iterator[Cause]:
    """Passes that run for the gradient of an input leave none for a step, as those of a sampler or
    of an attack; a single one may be meant for both.
    """
    facts = ledger.facts
    inputs = {
        turn.number: leaf
        for leaf, turns in facts.stored.items()
        if leaf not in facts.optimised
        and not facts.tensors[leaf].is_parameter
        and not ledger.parameters[leaf].writes
        for turn in turns
    }
    for held in ledger.trained:
        for used in sums(held.gradients):
            last = ledger.pass_of(used[-1])
            aside = [
                entry
                for entry in used
                if entry.turn.number in inputs and ledger.pass_of(entry).span != last.span
            ]
            if len(aside) < 2 or used[-1].turn.number in inputs:
                continue
            pass_ = ledger.pass_of(aside[-1])
            name = named(facts, inputs[aside[-1].turn.number])
            end = aside[-1].end
            assert end is not None
            yield Cause(
                "gradients of a sampler",
                f"{end.text}{facts.at_line(end.span)} also uses the gradients of "
                f"{len(aside)} passes{facts.at_line(pass_.span)} that run for {name}.grad: they "
                f"add to {named(facts, held.leaf)}.grad, and nothing clears it",
                (facts.backward(pass_), facts.at("the step uses the sum", end.span)),
                (
                    f"torch.autograd.grad(..., {name}) in place of backward"
                    f"{facts.at_line(pass_.span)}",
                    f"or zero_grad() before the backward of the loss{facts.at_line(last.span)}",
                ),
                tensors=ledger.leaves,
            )
            return


def once_for_each_loss(ledger: Ledger) -> Iterator[Cause]:
    """A loss goes backward once before a step."""
    facts = ledger.facts
    for held in ledger.trained:
        twice = [
            (a, b)
            for a, b in together(held.gradients)
            if ledger.pass_of(a).roots == ledger.pass_of(b).roots
        ]
        if len(twice) < 2:
            continue
        first, last = map(ledger.pass_of, twice[-1])
        root = facts.labels(last.roots)
        also = "" if first.span == last.span else f" and{facts.at_line(last.span)}"
        yield Cause(
            "backward twice",
            f"backward runs from {root} twice before each step{facts.at_line(first.span)}{also}: "
            "each gradient is added twice",
            (facts.backward(first), facts.backward(last)),
            (f"call backward once for each {root}",),
            tensors=ledger.leaves,
        )
        return
