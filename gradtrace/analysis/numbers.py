"""Explain a gradient that is a number by its contributions."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict

from gradtrace.analysis import history, places
from gradtrace.analysis.cause import Cause, Evidence
from gradtrace.analysis.facts import Facts, is_zero
from gradtrace.analysis.flow import leading_to
from gradtrace.analysis.ledger.book import ledger_of
from gradtrace.analysis.ledger.gradients import CLEARS, USED
from gradtrace.analysis.symmetries import cancellation, keys_cancel
from gradtrace.analysis.words import brief
from gradtrace.trace.labels import called_by
from gradtrace.trace.record import BackwardStep, Change, PassRecord, TensorId, TensorRecord, Value

SHOWN = 3  # passes that are listed one by one
TIMES = {2: "twice"}

# ---- a number


def filled(facts: Facts, record: TensorRecord) -> Cause:
    """Explain a finite, nonzero gradient by its contributions."""
    assert record.grad is not None
    name = record.label
    total = brief(record.grad)
    origin = facts.origin(record)
    visits = [step for step in facts.visits_of(record) if facts.passes[step.number].stores]
    if not visits:
        last = facts.last_change(record)
        assigned = (
            []
            if last is None or last.how != "assigned"
            else [facts.at(f"{name}.grad is assigned", last.span)]
        )
        return Cause("assigned", "it was set by the program", [origin, *assigned]).about(
            record, "gradient", total
        )
    code, how, advice = came_by(facts, record, visits)
    is_reason = code not in ("backward", "hook on the way")
    cut = cut_off(facts, record, facts.passes[visits[-1].number])
    how += f"; another path is cut by {cut.because}" if cut is not None else ""
    evidence = [origin, *of_its_own(facts, record), *turns(facts, since_cleared(visits), name)]
    evidence += [] if cut is None else cut.evidence
    if (rewrite := rewritten(facts, record)) is not None:
        call = called_by(rewrite.text) or rewrite.how
        how += f", and then {call}{facts.at_line(rewrite.span)}"
        evidence.append(facts.at(f"{call} changes {name}.grad here", rewrite.span))
    stale = history.stale_optimiser(facts, record)
    if stale is not None:
        code = stale.code
        how = f"{how}; {stale.because}"
        advice = (*stale.advice, *advice)
        evidence += stale.evidence
    unseen = unseen_changes(facts, visits)
    evidence += list(dict.fromkeys(unseen_evidence(facts, change) for change in unseen))[:SHOWN]
    if unseen:
        code = "changed through .data"
        advice = (
            "change it under torch.no_grad() instead: then autograd refuses to use the changed "
            "value",
            *advice,
        )
        how += (
            f"; the value that it was computed with was changed{facts.at_line(unseen[-1].span)} "
            "behind autograd's back"
        )
    for call in places.direct_forwards(facts.text):
        of = call.func.value.id
        note = f"note: {of}.forward without apply runs as plain code, {of}.backward is not used"
        evidence.append(facts.at(note, places.span_of(call)))
    share = zero_share(record.grad)
    cancels = cancellation(facts, record) if code == "backward" else None
    if cancels is not None:
        because = f"{cancels.clause(facts, ', but for rounding')}{share}"
        return Cause("symmetry", because, evidence, advice).about(
            record, "gradient", f"{total}, {how}"
        )
    if code == "backward":
        how += keys_cancel(facts, record)
    if is_reason:
        return Cause(code, f"{how}{share}", evidence, advice).about(record, "gradient", total)
    return Cause(code, "", evidence, advice).about(record, "gradient", f"{total}, {how}{share}.")


def rewritten(facts: Facts, record: TensorRecord) -> Change | None:
    """Return the last write to a gradient after the pass that stored it, such as that of
    clip_grad_norm_.
    """
    changes = (c for c in reversed(facts.trace.changes) if c.of_grad and c.how not in CLEARS)
    last = next(
        (c for c in changes if record.id in facts.held(c) and differs(*facts.written(c))), None
    )
    if last is None or last.how == "assigned":
        return None
    return (
        None
        if any(s.function == record.function for s in facts.steps[last.after_steps :])
        else last
    )


def differs(before: Value | None, after: Value | None) -> bool:
    """Whether a write may have changed a value: clip_grad_norm_ multiplies a small gradient by
    1.
    """
    if before is None or after is None or not (before.is_whole and after.is_whole):
        return True
    return before != after


def came_by(
    facts: Facts, record: TensorRecord, visits: list[BackwardStep]
) -> tuple[str, str, tuple[str, ...]]:
    """Return the code of how a gradient came about, the same in words, and advice."""
    name = record.label
    hooked = [hook for step in visits for hook in step.hooks if hook.changed]
    if hooked:
        call = places.hook_call(facts.text, hooked[-1].name, name)
        where = "" if call is None else facts.at_line(places.span_of(call))
        how = f"the hook {hooked[-1].name}{where} replaced what backward brought"
        return "hook", how, (KEPT_BY_HOOK,)
    summed = since_cleared(visits)
    if (summed[0].grad_before is not None and not is_zero(summed[0].grad_before)) or len(
        summed
    ) > 1:
        added = (
            f"{len(summed)} passes added up"
            if len(summed) > 1
            else "a pass added to the gradient from before"
        )
        how = f"{added}, for gradients are not zeroed between passes"
        if (cleared := cleared_before(facts, record, summed[0])) is not None:
            return "accumulated", f"{added} since it was cleared{facts.at_line(cleared.span)}", ()
        if (update := update_of_sum(facts, record, summed)) is not None:
            return "accumulated", f"{added} for the update{facts.at_line(update.span)}", ()
        fix = (
            f"{name}.grad = None, or zero_grad(), before each backward gives the last pass's alone"
        )
        return "accumulated", how, (fix,)
    how = f"from backward{facts.at_line(facts.passes[visits[-1].number].span)}"
    way = hook_on_the_way(facts, record, visits[-1].number)
    return (
        ("backward", how, ())
        if way is None
        else ("hook on the way", f"{how}; {way}", (KEPT_BY_HOOK,))
    )


KEPT_BY_HOOK = "return nothing from the hook to leave the gradient as it is"


def hook_on_the_way(facts: Facts, record: TensorRecord, number: int) -> str | None:
    """Describe the last hook that changed a gradient on its way to a tensor in a pass."""
    steps = [s for s in facts.changed_by_hooks if s.number == number]
    above = (
        leading_to(facts.trace, {record.function})
        if steps and record.function is not None
        else set()
    )
    for step in reversed(steps):
        function = facts.functions[step.function]
        hook = next((h for h in reversed(step.hooks) if h.changed and h.before and h.after), None)
        if step.function not in above or hook is None or not function.outputs:
            continue
        of = facts.label(function.outputs[0])
        call = places.hook_call(facts.text, hook.name, of)
        where = "" if call is None else facts.at_line(places.span_of(call))
        turned = f"from {brief(hook.before)} into {brief(hook.after)}"
        return f"the hook {hook.name}{where} turned the gradient of {of} {turned}"
    return None


def since_cleared(visits: list[BackwardStep]) -> list[BackwardStep]:
    """Return the passes that a gradient is the sum of: those since it was last cleared."""
    starts = [
        i for i, step in enumerate(visits) if step.grad_before is None or is_zero(step.grad_before)
    ]
    return visits[starts[-1] :] if starts else visits


def cleared_before(facts: Facts, record: TensorRecord, step: BackwardStep) -> Change | None:
    """Return the last change that cleared a leaf's gradient before a step stored one."""
    at = next(i for i, visit in enumerate(facts.steps) if visit is step)
    changes = (
        c
        for c in reversed(facts.trace.changes)
        if c.of_grad and c.how in CLEARS and c.after_steps <= at
    )
    return next((c for c in changes if record.id in facts.held(c)), None)


def update_of_sum(facts: Facts, record: TensorRecord, summed: list[BackwardStep]) -> Change | None:
    """Return the first update after some passes if there is none between them: their sum is the
    gradient of a batch.
    """
    turns = set(map(id, summed))
    entries = ledger_of(facts).gradients.get(facts.flow.tensor(record.id), ())
    used = [entry for entry in entries if entry.fate == USED and id(entry.turn) in turns]
    is_batch = len(used) == len(summed) and not used[0].writes
    ends = {id(entry.end): entry.end for entry in used}
    return used[0].end if is_batch and len(ends) == 1 and summed[0].grad_before is None else None


def turns(facts: Facts, visits: list[BackwardStep], name: str) -> list[Evidence]:
    """Explain the contribution of each pass; of many passes, only the first and the last."""
    if len(visits) <= SHOWN:
        return [item for step in visits for item in turn(facts, step, name)]
    before = visits[-2].grad_after
    grad = "None" if before is None else brief(before)
    between = Evidence(f"... {len(visits) - 2} more passes, to {name}.grad = {grad}")
    return [*turn(facts, visits[0], name), between, *turn(facts, visits[-1], name)]


def turn(facts: Facts, step: BackwardStep, name: str) -> list[Evidence]:
    """Explain one pass's contribution to a gradient: the summands, the hooks, the sum."""
    parts: dict[Evidence, int] = {}
    for sender, _, part in facts.arrivals.at(step):
        item = facts.at(
            f"{brief(part.value)} comes from {part.source}", facts.functions[sender.function].span
        )
        parts[item] = parts.get(item, 0) + 1
    evidence = [facts.backward(facts.passes[step.number])]
    for item, n in parts.items():
        evidence.append(
            item if n == 1 else item._replace(text=f"{item.text}, {TIMES.get(n, f'{n} times')}")
        )
    for hook in step.hooks:
        if hook.changed and hook.before is not None and hook.after is not None:
            evidence.append(
                Evidence(f"hook {hook.name} turns {brief(hook.before)} into {brief(hook.after)}")
            )
    if step.grad_before is not None and step.grad_after is not None:
        evidence.append(
            Evidence(
                f"{name}.grad was {brief(step.grad_before)} and becomes {brief(step.grad_after)}"
            )
        )
    return evidence


def cut_off(facts: Facts, record: TensorRecord, last: PassRecord) -> Cause | None:
    """Return the first cut of another path from a tensor to where its last pass began, which the
    program may mean.
    """
    for cut in facts.cuts_on_the_way(record, last.roots):
        cause = history.describe(facts, cut)
        if cause.code in ("detach", ".data", "no_grad"):
            roots = facts.labels(last.roots) or "the result"
            text = f"this cuts off another way on which {roots} depends on {record.label}"
            return cause._replace(evidence=[cause.evidence[-1]._replace(text=text)])
    return None


def of_its_own(facts: Facts, record: TensorRecord) -> list[Evidence]:
    """Note that a Parameter was made of another leaf's numbers, and that the two are
    independent.
    """
    at = record.first
    creation = None
    while (
        escape := facts.flow.origin_of_data.get(facts.flow.tensor(at))
    ) is not None and escape.tensor is not None:
        creation = creation or escape
        at = escape.tensor
    source = facts.tensors[facts.flow.tensor(at)]
    if (
        creation is None
        or creation.how != "parameter"
        or not (source.is_leaf and source.requires_grad and source.name)
    ):
        return []
    text = (
        f"{record.label} is a leaf of its own, made of {source.label}'s numbers: they do not "
        "share a gradient"
    )
    return [facts.at(text, creation.span)]


def unseen_evidence(facts: Facts, change: Change) -> Evidence:
    name = facts.called(change.tensors)
    text = (
        f"{name} is changed without autograd seeing it, after its value had been saved for backward"
    )
    return facts.at(text, change.span)


def unseen_changes(facts: Facts, visits: list[BackwardStep] | None = None) -> list[Change]:
    """Return the changes of saved values, before backward used them, that no version counter shows;
    with `visits` only those of values that the gradients there were computed with.
    """
    escapes = facts.trace.escapes
    taken = {e.out for e in escapes if e.how in ("data", "numpy") and e.out is not None}
    through = {e.span.line for e in escapes if e.how == "data" and e.span is not None}
    used = leading_to(facts.trace, {step.function for step in visits or ()})
    passes = {step.number for step in visits or ()}
    hidden = [
        (change, held)
        for change, held in ((c, facts.held(c)) for c in facts.trace.changes if not c.of_grad)
        if change.how == "data"
        or (change.span is not None and change.span.line in through)
        or not held.isdisjoint(taken)
    ]
    uses: dict[TensorId, Uses] = defaultdict(Uses)
    for position in reversed(range(len(facts.steps) if hidden else 0)):
        step = facts.steps[position]
        operation = facts.arrivals.operations.get(step.function)
        if operation is not None and (
            visits is None or (step.number in passes and step.function in used)
        ):
            for saved in facts.functions[step.function].saved:
                if saved.tensor is not None:
                    uses[saved.tensor].add(position, operation.id)
    return [
        change
        for change, held in hidden
        if any(uses[tensor].has(change) for tensor in held if tensor in uses)
    ]


class Uses:
    """The steps of backward that use a saved tensor, the last one first, each with the earliest
    operation of those from it on.
    """

    def __init__(self) -> None:
        self.positions: list[int] = []  # negative, so that they rise
        self.earliest: list[int] = []

    def add(self, position: int, operation: int) -> None:
        self.positions.append(-position)
        self.earliest.append(min((operation, *self.earliest[-1:])))

    def has(self, change: Change) -> bool:
        """Whether a step after the change backpropagates an operation before it."""
        count = bisect_right(self.positions, -change.after_steps)
        return count > 0 and self.earliest[count - 1] < change.after


def zero_share(value: Value) -> str:
    """Return " (2 of 5 elements are 0)", or "" if no element is 0."""
    return (
        f" ({value.zeros} of {value.numel} elements are 0)" if value.shape and value.zeros else ""
    )
