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
from gradtrace.annotations import Any, Iterator, Sequence
from gradtrace.lazy_names import words
from gradtrace.trace.record import BackwardStep, GroupRecord, OptimiserRecord, Value

MANTISSA = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}  # bits
SMALL = 0.1  # beside the largest gradient of a parameter
NOISE = 1e-5  # beside the largest gradient of all
MOST_KEPT = 0.5  # of the elements that a step may leave as they are
SPACINGS = 4  # that an element may move by, and still be lost to rounding
FOLLOWS = 0.9  # of the way to the parameters: an average moves by less in a step
COPIES = 0.999999  # a copy moves by all of it
OFTEN = 4  # copies, in as many steps
WEIGHTED = words("linear addmm mm matmul conv1d conv2d conv3d convolution t")  # read a weight
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
        least = least_norm(held)
        # a record of an earlier version has no groups
        whole = GroupRecord(optimiser.tensors, optimiser.lr, optimiser.rates)
        for group in optimiser.groups or (whole,):
            own = frozenset(map(facts.flow.tensor, group.tensors))
            lost, share = lost_updates([entry for entry in held if entry.leaf in own], least)
            rates = rates_of(group)
            # steps with a rate of 0 make no updates
            if lost and 0.0 not in rates:
                yield updates_of_group(facts, optimiser, rates, lost, share)
    yield from written_updates_show(ledger)


def rates_of(group: GroupRecord) -> list[float]:
    """Return the learning rates of a group, in the order of its steps."""
    return [rate for _, rate in group.rates] or [group.lr or 0.0]


def updates_of_group(
    facts: Facts,
    optimiser: OptimiserRecord,
    rates: Sequence[float],
    lost: Sequence[ParameterEntry],
    share: float,
) -> Cause:
    """Return what the steps of a group leave as it is."""
    dtype = lost[0].values[-1].dtype
    schedule = schedule_of(facts, optimiser)
    owner = "the optimiser" if len(optimiser.groups) < 2 else "their group"
    rate = f"lr={rates[0]:g}"
    evidence = [facts.at(f"{owner} has {rate}", optimiser.span)]
    if rates[-1] != rates[0]:
        rate = f"a learning rate from {rates[0]:g} to {rates[-1]:g}"
        if schedule is not None:
            rate += f", by {schedule.kind}{facts.at_line(schedule.span)}"
            evidence.append(facts.at("this lowers the learning rate", schedule.span))
    return Cause(
        "updates lost",
        f"the steps of {optimiser_name(facts, optimiser)}{facts.at_line(optimiser.step_span)} "
        f"leave {share:.0%} of the elements of {labels(facts, lost)} as they are: with "
        f"{rate} their updates are smaller than the spacing of {dtype}, which keeps "
        f"{digits(dtype)} digits",
        (
            *evidence,
            facts.at("most elements are the same before and after", optimiser.step_span),
        ),
        in_short(facts) if dtype in SHORT else ("a larger learning rate",),
        tensors=frozenset(entry.leaf for entry in lost),
    )


def groups_move(ledger: Ledger) -> Iterator[Cause]:
    """A group of an optimiser has a learning rate, if another one has (a remark)."""
    facts = ledger.facts
    for number, optimiser in enumerate(facts.trace.optimisers):
        at_rest = [group for group in optimiser.groups if max(rates_of(group)) == 0]
        if not at_rest or len(at_rest) == len(optimiser.groups):
            continue  # of none that has a rate there is a cause
        own = {facts.flow.tensor(i) for group in at_rest for i in group.tensors}
        still = [e for e in ledger.trained if e.leaf in own and number in e.holders]
        if still:
            be = "has" if len(at_rest) == 1 else "have"
            yield Cause(
                "group at rest",
                f"{optimiser_name(facts, optimiser)}{facts.at_line(optimiser.span)} does not move "
                f"{labels(facts, still)}: their group{'s' * (len(at_rest) > 1)} {be} lr=0",
                (facts.at("the optimiser is made here", optimiser.span),),
                tensors=frozenset(entry.leaf for entry in still),
            )


def written_updates_show(ledger: Ledger) -> Iterator[Cause]:
    """The same of a statement that moves a parameter along its gradient."""
    facts = ledger.facts
    moved = [
        entry
        for entry in ledger.parameters.values()
        if not entry.holders
        and entry.writes
        and not entry.updates
        and len(entry.values) == len(entry.used) + 1
        and is_rounded(entry.values)
    ]
    lost, share = lost_updates(moved, least_norm(moved))
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


def is_rounded(values: Sequence[Value]) -> bool:
    """Whether no element ever moved by more than a few spacings of the dtype: what a projection or
    a threshold keeps is not lost to rounding.
    """
    if not all(value.is_whole and value.shape and value.is_float for value in values):
        return False
    spacing = 2.0 ** (1 - MANTISSA.get(values[0].dtype, 53))
    return all(
        float(abs(after.data - before.data).max()) <= SPACINGS * spacing * abs(before.data).max()
        for before, after in pairwise(values)
        if before.numel
    )


def least_norm(entries: Sequence[ParameterEntry]) -> float:
    """Return the norm below which a gradient, beside the others', is what is left of terms that
    cancel.
    """
    return NOISE * max((norm_after(turn) for entry in entries for turn in entry.used), default=0.0)


def lost_updates(
    entries: Sequence[ParameterEntry], least: float
) -> tuple[list[ParameterEntry], float]:
    """Return the entries whose elements most updates leave as they are, and the largest share; none
    if they are less than half of those with gradients of more than `least`.
    """
    used = [(entry, [*map(norm_after, entry.used)]) for entry in entries if len(entry.used) > 1]
    norms = [(entry, own) for entry, own in used if is_moved(entry, own)]
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
        and is_weight(facts, entry)
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


def is_weight(facts: Facts, entry: ParameterEntry) -> bool:
    """Whether layers read a parameter as their weight."""
    is_read = any(reader.name in WEIGHTED for reader in facts.readers(entry.leaf))
    return is_read and facts.tensors[entry.leaf].is_parameter


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
    sources = moved_parameters(ledger)
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


def shares_followed(own: Sequence[Value], source: Sequence[Value]) -> Iterator[float]:
    """Yield by which share of its distance to the parameters each write moved an average."""
    goals = source[max(1, len(source) - len(own) + 1) :]
    if len(goals) != len(own) - 1 or not all(v.is_whole and v.shape for v in (*own, *goals)):
        return
    for before, after, goal in zip(own, own[1:], goals, strict=False):
        start = before.data.astype(float).ravel()
        way = goal.data.ravel() - start
        length = float(way @ way)
        if length:
            yield float((after.data.ravel() - start) @ way) / length


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
    origins = moved_parameters(ledger)
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


def moved_parameters(ledger: Ledger) -> dict[tuple[object, ...] | None, ParameterEntry]:
    """Return the trained parameters that have moved, by what tells their first numbers apart."""
    moved = [(fingerprint(entry), entry) for entry in ledger.trained if entry.has_moved]
    return {mark: entry for mark, entry in moved if mark is not None}


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
