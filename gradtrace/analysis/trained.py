"""What the run of a changed program shows: whether a change that `why` advises is a fix.

With a fix the cause is gone, and no new one came. A leaf that got a gradient still gets one, and so
does one whose lack the cause explains; none becomes 0 or infinite, and what required grad still
does. No gradient and no update is LARGER times its neighbours. In a training loop leaves are
updated, the loss changes, and one of the last MORE losses is below the first, or the end is as in a
run without the trouble.
"""

from __future__ import annotations

from itertools import pairwise
from math import inf, isfinite

from gradtrace.analysis.cause import Cause
from gradtrace.analysis.causes.table import about
from gradtrace.analysis.facts import Facts, is_finite, is_zero, loss_of
from gradtrace.annotations import Any, Callable, NamedTuple, Sequence
from gradtrace.trace.array_summary import norm_of
from gradtrace.trace.record import LEAF

LARGER = 1e4
BESIDE = 3  # steps before one that are its neighbours
MORE = 3  # steps after that of the trouble, from which a loop shows that it trains
NEAR = 1e-2  # how far a loss may be above that of a run without the trouble, relative
# kinds of errors that show that the tried change is wrong
MISTAKES = ("RuntimeError", "TypeError", "ValueError", "NameError", "AttributeError", "IndexError")


class Outcome(NamedTuple):
    """The facts of a run, the cause that ended it, and the causes in it."""

    facts: Facts
    failure: Cause | None
    causes: Sequence[Cause]


class Verdict(NamedTuple):
    """Whether a change is a fix, and in a clause what its run shows: what is better, or what a fix
    must not do; "" if the trouble remains.
    """

    is_fix: bool
    clause: str


def verdict(
    before: Outcome,
    after: Outcome,
    cause: Cause,
    lacking: set[str],
    reference: Callable[[], list[float]],
) -> Verdict:
    """Return what the run with a change shows.

    `lacking` are the names of the tensors that lack a gradient because of the cause; `reference`
    returns the losses of a run without the trouble.
    """
    if remains(after, cause):
        return Verdict(False, "")
    usual = outliers(before.facts)
    earlier = {earlier.code for earlier in before.causes} - {cause.code}
    lacks = (
        "" if after.failure is None else after.failure.sentence,
        lost(before.facts, after.facts, lacking),
        *(
            f"{name} is {times:.0e} times its neighbours'"
            for name, times in outliers(after.facts).items()
            if name not in usual
        ),
        untrained(before, after.facts, reference),
        *(later.because for later in after.causes if later.code not in earlier),
    )
    lack = next(filter(None, lacks), "")
    return Verdict(not lack, lack or gain(before, after))


def remains(outcome: Outcome, cause: Cause) -> bool:
    """Whether a cause is still there, or the changed program fails by a mistake."""
    failure = outcome.facts.trace.failure
    same = outcome.causes if outcome.failure is None else (outcome.failure,)
    if failure is not None and cause.status != "failed":
        return failure.kind in MISTAKES
    if cause.name and cause.status != "failed":
        records = [t for t in outcome.facts.trace.named if t.label == cause.name]
        same = [about(outcome.facts, t, list(outcome.causes)) for t in records]
        return any(answer.code == cause.code for answer in same)
    return any(later.code == cause.code and lines(later) & lines(cause) for later in same)


def lines(cause: Cause) -> set[int]:
    """Return the lines that a cause's evidence shows."""
    return {item.span.line for item in cause.evidence if item.span is not None}


# ---- gradients and updates


def gradients(facts: Facts) -> dict[str, list[Any]]:
    """Return the gradients that backward stored in each leaf with a name."""
    return {
        facts.label(leaf): [visit.grad_after for visit in visits]
        for leaf, visits in facts.stored.items()
        if facts.tensors[leaf].name
    }


def updates(facts: Facts) -> dict[str, list[float]]:
    """Return the norms of the updates of each leaf with a name whose values are kept whole."""
    versions: dict[int, list[Any]] = {}
    for t in facts.tensors:
        if t.value is not None and t.value.is_whole:
            versions.setdefault(t.first, []).append(t)
    return {
        own[-1].label: [norm_of(b.value.data - a.value.data) for a, b in pairwise(own)]
        for own in versions.values()
        if own[-1].name and own[-1].kind == LEAF
    }


def lost(before: Facts, after: Facts, lacking: set[str]) -> str:
    """Say which leaf lacks a gradient that it had, or that one of these names should have."""
    old = gradients(before)
    new = gradients(after)
    named = after.trace.named
    for name in (t.label for t in named if t.kind == LEAF and t.label in {*old, *lacking}):
        if name not in new:
            return f"{name}.grad is None"
        last = new[name][-1]
        earlier = old.get(name, [None])[-1]
        if is_zero(last) and not is_zero(earlier):
            return f"{name}.grad is 0"
        if not is_finite(last) and (name in lacking or is_finite(earlier)):
            return f"{name}.grad is not finite"
    cut = {t.label for t in named if not t.requires_grad}
    cuts = (t.label for t in before.trace.named if t.requires_grad and t.label in cut)
    return next((f"{name} does not require grad" for name in cuts), "")


def outliers(facts: Facts) -> dict[str, float]:
    """Return by how much the largest gradient or update of a leaf is larger than the median of its
    neighbours: the steps before it, or the largest of the others.
    """
    norms = {
        f"the norm of {name}.grad": [value.norm for value in values if value.is_measured]
        for name, values in gradients(facts).items()
    }
    moves = {f"the update of {name}": sizes for name, sizes in updates(facts).items()}
    large = {}
    for rows in (norms, moves):
        most = {name: max(row) for name, row in rows.items() if row}
        for name, size in most.items():
            step = rows[name].index(size)
            others = [most[leaf] for leaf in most if leaf != name]
            for neighbours in (rows[name][max(step - BESIDE, 0) : step], others):
                nonzero = sorted(filter(None, neighbours))
                usual = nonzero[len(nonzero) // 2] if nonzero else size
                if size > LARGER * usual:
                    large[name] = size / usual
    return large


# ---- training


def losses(facts: Facts) -> list[float]:
    """Return the losses of a training loop: of its steps, else of the passes from its line."""
    passes = [p for p in facts.storing if p.span == facts.storing[-1].span]
    numbers = (loss_of(facts.trace, step) for step in facts.trace.training or passes)
    return [number for number in numbers if number is not None]


def untrained(before: Outcome, after: Facts, reference: Callable[[], list[float]]) -> str:
    """Say in which way a training loop does not train its parameters; "" without a loop."""
    numbers = losses(after)
    changes = [c for c in after.trace.changes if c.after_steps and not c.of_grad]
    is_updated = any(map(after.leaves_of, changes))
    if len(numbers) < 2 or not (is_updated or after.optimised):
        return ""
    if not is_updated:
        return "no parameter changes"
    first = numbers[0]
    last = numbers[-1]
    if len(set(numbers)) == 1:
        return f"the loss stays {first:.4g}"
    if isfinite(last) and (is_short(before, numbers) or min(numbers[-MORE:]) < first):
        return ""
    if any(last <= usual + NEAR * abs(usual) < inf for usual in reference()[-1:]):
        return ""
    return f"the loss goes from {first:.4g} to {last:.4g}"


def is_short(before: Outcome, numbers: list[float]) -> bool:
    """Whether a loop with these losses has too few steps after that of the trouble to show that it
    trains.
    """
    bad = (i for i, loss in enumerate(losses(before.facts), 1) if not isfinite(loss))
    trouble = next(bad, 1) if before.failure is None else len(before.facts.trace.training)
    return len(numbers) < trouble + MORE


def gain(before: Outcome, after: Outcome) -> str:
    """Say what a fix changes: the loss of a loop with enough steps, else a gradient."""
    numbers = losses(after.facts)
    if not is_short(before, numbers) and numbers[-1] < numbers[0]:
        return f"the loss falls from {numbers[0]:.4g} to {numbers[-1]:.4g}"
    old = gradients(before.facts)
    for name in gradients(after.facts):
        if name not in old:
            return f"{name}.grad is there"
        if not is_finite(old[name][-1]):
            return f"{name}.grad is finite"
        if is_zero(old[name][-1]):
            return f"{name}.grad is not 0"
    return "the cause is gone" if before.failure is None else "it runs to its end"
