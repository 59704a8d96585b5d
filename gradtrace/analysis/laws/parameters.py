"""Laws of parameters: what gets gradients changes by its optimiser, and by nothing else."""

from __future__ import annotations

from itertools import pairwise

from gradtrace.analysis import places
from gradtrace.analysis.cause import Cause
from gradtrace.analysis.causes.rates import schedule_of
from gradtrace.analysis.facts import Facts, is_finite, is_zero
from gradtrace.analysis.ledger.book import Ledger
from gradtrace.analysis.ledger.gradients import CLEARED, LEFT
from gradtrace.analysis.ledger.parameters import ParameterEntry
from gradtrace.analysis.terms import SHORT, named, optimiser_name
from gradtrace.analysis.words import folded
from gradtrace.annotations import Any, Iterable, Iterator, Sequence
from gradtrace.trace.record import BackwardStep, GroupRecord, OptimiserRecord, Value

MANTISSA = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}  # bits
SMALL = 0.1  # beside the largest gradient of a parameter
NOISE = 1e-5  # beside the largest gradient of all
MOST_KEPT = 0.5  # of the elements that a step may leave as they are
SAMPLE = 64  # steps that show whether all are to be looked at


def labels(facts: Facts, entries: Sequence[ParameterEntry]) -> str:
    return folded([named(facts, entry.leaf) for entry in entries], "parameters")


def updates_stay(ledger: Ledger) -> Iterator[Cause]:
    """What a step changes stays changed: no later write brings the old values back."""
    facts = ledger.facts
    back = [
        entry
        for entry in ledger.trained
        if len(entry.updates) > 1 and entry.is_still and is_written_back(entry)
    ]
    if not back:
        return
    write = back[0].writes[-1]
    name = labels(facts, back)
    optimiser = facts.trace.optimisers[back[0].holders[0]]
    yield Cause(
        "updates undone",
        f"{facts.statement(write)}{facts.at_line(write.span)} brings the old values back after "
        f"each step{facts.at_line(optimiser.step_span)}: {name} end{'s' * (len(back) == 1)} as "
        f"{'it' if len(back) == 1 else 'they'} began",
        (
            facts.at("the step changes them here", optimiser.step_span),
            facts.at("and this writes what they held before", write.span),
        ),
        ("write to the copy instead, if the copy is meant to follow", "or leave that line out"),
        symptom="nothing is learnt",
        tensors=frozenset(entry.leaf for entry in back),
    )


def is_written_back(entry: ParameterEntry) -> bool:
    """Whether other writes than steps can have brought old values back: in between it had others,
    or each step is followed by one.
    """
    return bool(entry.writes) and (entry.has_moved or len(entry.writes) >= len(entry.updates))


IN_SHORT = "keep the parameters in float32, and compute in the short type by autocast"


def in_short(facts: Facts) -> tuple[str, str]:
    engine = " --engine torch" if facts.trace.engine else ""
    return IN_SHORT, f"gradtrace why --precision{engine} compares each update with a wider type"


def updates_show(ledger: Ledger) -> Iterator[Cause]:
    """A step moves a parameter by more than its spacing, so that the parameter changes."""
    facts = ledger.facts
    for number, optimiser in enumerate(facts.trace.optimisers):
        held = [entry for entry in ledger.trained if number in entry.holders and not entry.writes]
        for group in optimiser.groups:
            own = frozenset(map(facts.flow.tensor, group.tensors))
            lost, share = lost_updates(entry for entry in held if entry.leaf in own)
            if lost:
                yield from updates_of_group(facts, optimiser, group, lost, share)
    yield from written_updates_show(ledger)


def updates_of_group(
    facts: Facts,
    optimiser: OptimiserRecord,
    group: GroupRecord,
    lost: Sequence[ParameterEntry],
    share: float,
) -> Iterator[Cause]:
    """Yield what the steps of a group leave as it is."""
    rates = [rate for _, rate in group.rates] or [group.lr or 0.0]
    if max(rates) == 0 and len(optimiser.groups) == 1:
        return  # nothing at all is updated, which has a cause of its own
    dtype = lost[0].values[-1].dtype
    schedule = schedule_of(facts, optimiser)
    steps = f"the steps of {optimiser_name(facts, optimiser)}{facts.at_line(optimiser.step_span)}"
    rate = f"lr={rates[0]:g}"
    owner = "the optimiser" if len(optimiser.groups) == 1 else "their group"
    evidence = [facts.at(f"{owner} has {rate}", optimiser.span)]
    advice: tuple[str, ...] = ("a larger learning rate",)
    if rates[-1] != rates[0]:
        rate = f"a learning rate from {rates[0]:g} to {rates[-1]:g}"
        if schedule is not None:
            rate += f", by {schedule.kind}{facts.at_line(schedule.span)}"
            evidence.append(facts.at("this lowers the learning rate", schedule.span))
    if max(rates) == 0:
        because = f"{steps} leave {labels(facts, lost)} as they are: their group has {rate}"
    else:
        because = (
            f"{steps} leave {share:.0%} of the elements of {labels(facts, lost)} as they are: with "
            f"{rate} their updates are smaller than the spacing of {dtype}, which keeps "
            f"{digits(dtype)} digits"
        )
        if dtype in SHORT:
            advice = in_short(facts)
    yield Cause(
        "updates lost",
        because,
        (
            *evidence,
            facts.at("most elements are the same before and after", optimiser.step_span),
        ),
        advice,
        tensors=frozenset(entry.leaf for entry in lost),
    )


def written_updates_show(ledger: Ledger) -> Iterator[Cause]:
    """The same of a statement that moves a parameter along its gradient."""
    facts = ledger.facts
    lost, share = lost_updates(
        entry
        for entry in ledger.parameters.values()
        if not entry.holders and len(entry.values) == len(entry.used) + 1
    )
    if lost:
        dtype = lost[0].values[-1].dtype
        write = lost[0].writes[-1]
        yield Cause(
            "updates lost",
            f"{facts.statement(write)}{facts.at_line(write.span)} leaves {share:.0%} of the "
            f"elements of {labels(facts, lost)} as they are: the change is smaller than the "
            f"spacing of {dtype}, which keeps {digits(dtype)} digits",
            (facts.at("most elements are the same before and after", write.span),),
            in_short(facts) if dtype in SHORT else ("a larger learning rate",),
            tensors=frozenset(entry.leaf for entry in lost),
        )


def lost_updates(entries: Iterable[ParameterEntry]) -> tuple[list[ParameterEntry], float]:
    """Return the entries whose elements most updates leave as they are, and the largest share; none
    if they are less than half of those that get gradients.
    """
    used = [(entry, [*map(norm_after, entry.used)]) for entry in entries if len(entry.used) > 1]
    norms = [(entry, own) for entry, own in used if is_moved(entry, own)]
    # what is small beside the others' gradients is what is left of terms that cancel
    least = NOISE * max((max(own) for _, own in norms), default=0.0)
    shares = [(entry, share_kept(entry, own)) for entry, own in norms if max(own) > least]
    lost = [entry for entry, share in shares if share > MOST_KEPT]
    if not lost or 2 * len(lost) < len(shares):
        return [], 0.0
    return lost, max(share for _, share in shares)


def share_kept(entry: ParameterEntry, norms: Sequence[float]) -> float:
    """Return the mean share of elements with a gradient that a step left as they were; 0 if that
    is not known. Where the gradients have become small, as at a minimum, nothing is to move.
    """
    turns = entry.used
    values = entry.values[-len(turns) - 1 :]
    if len(values) <= len(turns) or any(t.value is None for t in entry.versions):
        return 0.0
    least = SMALL * max(norms)
    steps = zip(norms, turns, values, values[1:], strict=False)
    rows = [row for norm, *row in steps if norm > least]
    if len(rows) < 2:
        return 0.0
    sample = mean_kept(rows[:: 1 + len(rows) // SAMPLE])
    return mean_kept(rows) if sample > MOST_KEPT / 2 else sample


def mean_kept(rows: Sequence[Sequence[Any]]) -> float:
    return sum(kept(*row) for row in rows) / len(rows)


def norm_after(turn: BackwardStep) -> float:
    """Return the norm of the gradient that a turn left on a leaf; 0 if it is not a number."""
    after = turn.grad_after
    return after.norm if after is not None and is_finite(after) else 0.0


def kept(turn: BackwardStep, before: Value, after: Value) -> float:
    """Return the share of the elements with a gradient that are equal before and after a step."""
    gradient = turn.grad_after
    if not after.is_measured or not after.all_finite:
        return 0.0
    if before == after:
        return 1.0
    if gradient is None or not before.shape:
        return 0.0
    if not (before.is_whole and after.is_whole and gradient.is_whole):
        return 0.0
    own = gradient.data != 0
    return float((own & (before.data == after.data)).sum() / max(own.sum(), 1))


def is_moved(entry: ParameterEntry, norms: Sequence[float]) -> bool:
    """Whether steps used gradients of a parameter that are not 0."""
    pairs = zip(entry.used, norms, strict=True)
    return not any(norm == 0 and is_zero(turn.grad_after) for turn, norm in pairs)


def digits(dtype: str) -> str:
    return f"{MANTISSA.get(dtype, 53) * 0.30103:.1f}"


def held_by_an_optimiser(ledger: Ledger) -> Iterator[Cause]:
    """What gets gradients in each step is held by an optimiser (a remark)."""
    facts = ledger.facts
    stepping = next((o for o in facts.trace.optimisers if o.steps > 1), None)
    if stepping is None:
        return
    loose = [
        entry
        for entry in ledger.parameters.values()
        if not entry.holders
        and facts.tensors[entry.leaf].is_parameter
        and len(entry.gradients) > 1
        and (is_unused(entry) or not entry.has_moved)
    ]
    if loose:
        be = "is" if len(loose) == 1 else "are"
        origin = facts.origin(facts.tensors[loose[0].leaf])
        place = "" if origin.span is None else f", made{facts.at_line(origin.span)},"
        yield Cause(
            "no optimiser",
            f"{labels(facts, loose)}{place} get{'s' * (len(loose) == 1)} gradients and {be} in no "
            f"optimiser: {optimiser_name(facts, stepping)}{facts.at_line(stepping.span)} holds "
            f"{stepping.held} others",
            (origin, facts.at("the optimiser is made here", stepping.span)),
            tensors=frozenset(entry.leaf for entry in loose),
        )


def is_unused(entry: ParameterEntry) -> bool:
    """Whether nothing changed a parameter after its gradients were there."""
    return not entry.writes and all(g.fate in (CLEARED, LEFT) for g in entry.gradients)


def units_differ(ledger: Ledger) -> Iterator[Cause]:
    """The units of a layer learn different things (a remark)."""
    facts = ledger.facts
    alike = [
        entry
        for entry in ledger.trained
        if len(entry.used) > 1
        and entry.has_moved
        and are_units_alike(entry.values[-len(entry.used) - 1 :])
    ]
    if alike:
        name = labels(facts, alike)
        yield Cause(
            "equal units",
            f"the rows of {name} are equal before the first step and after the last: the units of "
            f"{'this layer' if len(alike) == 1 else 'these layers'} compute the same",
            (facts.origin(facts.tensors[alike[0].leaf]),),
            tensors=frozenset(entry.leaf for entry in alike),
        )


def are_units_alike(values: Sequence[Value]) -> bool:
    ends = [values[0], values[-1]]
    return all(
        len(value.shape) > 1
        and value.shape[0] > 1
        and value.is_whole
        and bool((value.data == value.data[:1]).all())
        for value in ends
    )


def averages_last(ledger: Ledger) -> Iterator[Cause]:
    """An average of parameters keeps most of itself when it follows them (a remark)."""
    facts = ledger.facts
    sources = {
        fingerprint(entry): entry
        for entry in ledger.trained
        if entry.has_moved and fingerprint(entry) is not None
    }
    for entry in ledger.parameters.values():
        source = sources.get(fingerprint(entry))
        if source is None or source is entry or entry.holders or not entry.writes:
            continue
        shares = [*shares_followed(entry.values, source.values)]
        if len(shares) < 2 or min(shares) < FOLLOWS:
            continue
        write = entry.writes[-1]
        call = f"{facts.statement(write)}{facts.at_line(write.span)}"
        name, goal = named(facts, entry.leaf), named(facts, source.leaf)
        if max(shares) < COPIES:
            because = (
                f"{call} moves {name} by {shares[-1]:.1%} of its distance to {goal}: it keeps "
                f"{1 - shares[-1]:.1%} of itself"
            )
        elif min(shares) > COPIES and len(shares) >= OFTEN and facts.readers(entry.leaf):
            because = (
                f"{call} copies {goal} into {name} in each of {len(shares)} steps: it is never "
                "older than one step"
            )
        else:
            continue
        yield Cause("average follows", because, (facts.at("it is written here", write.span),))
        return


FOLLOWS = 0.9  # of the way to the parameters: what an average does not move by in a step
COPIES = 0.999999  # a copy moves by all of it
OFTEN = 4  # copies, in as many steps


def shares_followed(own: Sequence[Value], source: Sequence[Value]) -> Iterator[float]:
    """Yield by which share of its distance to the parameters each write moved an average."""
    goals = source[max(1, len(source) - len(own) + 1) :]
    if len(goals) != len(own) - 1 or not all(v.is_whole and v.shape for v in (*own, *goals)):
        return
    for before, after, goal in zip(own, own[1:], goals, strict=False):
        way = (goal.data - before.data).ravel()
        length = float(way @ way)
        if length:
            yield float((after.data - before.data).ravel() @ way) / length


def holders_train(ledger: Ledger) -> Iterator[Cause]:
    """What an optimiser holds requires grad (a remark)."""
    facts = ledger.facts
    for optimiser in facts.trace.optimisers:
        held = map(facts.flow.tensor, dict.fromkeys(optimiser.tensors))
        frozen = [
            entry
            for entry in map(ledger.parameters.__getitem__, held)
            if not facts.tensors[entry.leaf].requires_grad and not entry.gradients
        ]
        if frozen and optimiser.steps:
            yield Cause(
                "frozen in optimiser",
                f"{optimiser_name(facts, optimiser)}{facts.at_line(optimiser.span)} holds "
                f"{labels(facts, frozen)}, which do{'es' * (len(frozen) == 1)} not require grad "
                f"and never change{'s' * (len(frozen) == 1)}",
                (facts.at("made here", optimiser.span),),
                tensors=frozenset(entry.leaf for entry in frozen),
            )


def one_holder(ledger: Ledger) -> Iterator[Cause]:
    """A parameter is in one optimiser that takes steps (a remark)."""
    facts = ledger.facts
    optimisers = facts.trace.optimisers
    pairs: dict[tuple[int, ...], list[ParameterEntry]] = {}
    for entry in ledger.trained:
        stepping = tuple(n for n in entry.holders if optimisers[n].steps)
        if len(stepping) > 1 and take_turns([optimisers[n] for n in stepping]):
            pairs.setdefault(stepping, []).append(entry)
    for numbers, entries in pairs.items():
        names = " and ".join(holder(facts, optimisers[n]) for n in numbers)
        yield Cause(
            "two optimisers",
            f"{names} both hold and change {labels(facts, entries)}",
            tuple(facts.at("a step", optimisers[n].step_span) for n in numbers),
            tensors=frozenset(entry.leaf for entry in entries),
        )


def take_turns(optimisers: Sequence[OptimiserRecord]) -> bool:
    """Whether an optimiser takes steps again after another one has; one that is made later, for
    another phase, does not.
    """
    ordered = sorted(
        (mark.after, mark.after_steps, number)
        for number, optimiser in enumerate(optimisers)
        for mark in optimiser.marks
    )
    turns = [a[2] != b[2] for a, b in pairwise(ordered)]
    return sum(turns) >= len(optimisers)


def holder(facts: Facts, optimiser: OptimiserRecord) -> str:
    return f"{optimiser_name(facts, optimiser)}{facts.at_line(optimiser.span)}"


def copies_follow(ledger: Ledger) -> Iterator[Cause]:
    """A copy of trained parameters that a loss is computed with follows them (a remark)."""
    facts = ledger.facts
    origins = {
        fingerprint(entry): entry
        for entry in ledger.trained
        if entry.has_moved and fingerprint(entry) is not None
    }
    begin = facts.trace.training[0].operations[0] if facts.trace.training else 0
    copies = [
        (entry, origins[fingerprint(entry)])
        for entry in ledger.parameters.values()
        if not entry.gradients
        and len(entry.versions) == 1
        and fingerprint(entry) in origins
        and any(reader.id >= begin for reader in facts.readers(entry.leaf))
    ]
    if copies:
        entries = [entry for entry, _ in copies]
        originals = labels(facts, [original for _, original in copies])
        many = len(entries) > 1
        yield Cause(
            "stale copy",
            f"{labels(facts, entries)} hold{'s' * (not many)} the numbers that {originals} had at "
            f"first, and {'are' if many else 'is'} never changed in these steps",
            (facts.origin(facts.tensors[entries[0].leaf]),),
            tensors=frozenset(entry.leaf for entry in entries),
        )


def fingerprint(entry: ParameterEntry) -> tuple[object, ...] | None:
    """Return what tells a parameter's first numbers from others'; None for a constant."""
    value = entry.versions[0].value
    if value is None or value.numel < 4 or not value.is_measured:
        return None
    facts = value.summary
    if facts.minimum == facts.maximum:
        return None
    return value.shape, value.dtype, facts.minimum, facts.maximum, facts.norm


FLAG = "requires_grad"


def flags_exist(ledger: Ledger) -> Iterator[Cause]:
    """A flag that the program sets is one that PyTorch reads (a remark)."""
    facts = ledger.facts
    for statement in facts.text.simple:
        for target in getattr(statement, "targets", ()):
            name = getattr(target, "attr", "")
            if name != FLAG and is_like(name):
                head = places.head_of(statement)
                yield Cause(
                    "unknown flag",
                    f"{facts.text.cut(target)}{facts.at_line(head)} sets {name}, which PyTorch "
                    f"does not read: the flag is {FLAG}",
                    (facts.at("this changes nothing", head),),
                )


def is_like(name: str) -> bool:
    """Whether a name differs from the flag's by a letter or two."""
    return name.startswith("req") and len(set(name) ^ set(FLAG)) <= 2
