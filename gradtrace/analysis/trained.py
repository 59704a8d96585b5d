"""What the run of a changed program shows: whether a change that `why` advises is a fix.

With a fix the cause is gone, and no new one came. A leaf that got a gradient still gets one, so does
one whose lack the cause explains, and none is 0 that was not; what required grad still does. In a
training loop parameters change, and the loss is finite and changes, and falls or ends as in a run
without the trouble. No gradient and no update is LARGER times its neighbours.
"""

from __future__ import annotations

from math import isfinite
from statistics import median

from gradtrace.analysis.cause import Cause
from gradtrace.analysis.causes.table import about
from gradtrace.analysis.facts import Facts, is_finite, is_zero, loss_of
from gradtrace.analysis.updates import update_of
from gradtrace.annotations import Any, Callable, NamedTuple, Sequence
from gradtrace.trace.record import LEAF, TensorRecord

LARGER = 1e4  # times the median of its neighbours: an outlier
BESIDE = 2  # neighbours of a step on either side
MORE = 3  # steps after that of the trouble, from which a loop shows that it trains
NEAR = 1e-2  # how far a loss may be above that of a run without the trouble, relative
MISSING = ("none", "zero", "nan")  # statuses of a gradient that is not there as it should be
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
    names: set[str],
    reference: Callable[[], list[float]],
) -> Verdict | None:
    """Return what the run with a change shows; None if another trouble replaces the cause.

    `names` are of the tensors that the cause explains; `reference` returns the losses of a run
    without the trouble.
    """
    left = remains(after, cause)
    if left is not False:
        return None if left is None else Verdict(False, "")
    earlier = {earlier.code for earlier in before.causes}
    new = (later.because for later in after.causes if later.code not in earlier)
    lack = (
        lost(before.facts, after.facts, names if cause.status in MISSING else set())
        or outlier(before.facts, after.facts)
        or untrained(after.facts, reference)
        or next(new, "")
    )
    return Verdict(not lack, lack or gain(before, after))


# ---- the cause


def remains(outcome: Outcome, cause: Cause) -> bool | None:
    """Whether a cause is still there, or the changed program fails; None if something else is
    wrong.
    """
    failure = outcome.facts.trace.failure
    if cause.status == "failed":
        if failure is None or outcome.failure is None:
            return failure is not None
        is_same = (outcome.failure.code, first_line(outcome.failure)) == (
            cause.code,
            first_line(cause),
        )
        return True if is_same else None
    if failure is not None:
        return True if failure.kind in MISTAKES else None
    if not cause.name:  # a cause in the run
        same = [remaining for remaining in outcome.causes if remaining.code == cause.code]
        if same:
            return True if any(lines(remaining) & lines(cause) for remaining in same) else None
        return None if any(is_serious(remaining) for remaining in outcome.causes) else False
    records = [t for t in outcome.facts.trace.named if t.label == cause.name]
    if not records:
        return None
    answer = about(outcome.facts, records[0], list(outcome.causes))
    if answer.status == "gradient" or (cause.status == "nan" and answer.status == "zero"):
        return answer.code == cause.code
    return True if answer.code == cause.code else None


def is_serious(cause: Cause) -> bool:
    return cause.status in ("nan", "failed") or cause.code in ("not finite", "nan in data")


def first_line(cause: Cause) -> int | None:
    return next((item.span.line for item in cause.evidence if item.span is not None), None)


def lines(cause: Cause) -> set[int]:
    """Return the lines that a cause's evidence shows."""
    return {item.span.line for item in cause.evidence if item.span is not None}


# ---- gradients


def gradients(facts: Facts) -> dict[str, list[Any]]:
    """Return the gradients that backward stored in each leaf with a name."""
    return {
        facts.label(leaf): [visit.grad_after for visit in visits]
        for leaf, visits in facts.stored.items()
        if facts.tensors[leaf].name
    }


def lost(before: Facts, after: Facts, names: set[str]) -> str:
    """Say which leaf lacks a gradient that it had, or that one of these names should have."""
    old = gradients(before)
    new = gradients(after)
    leaves = (t.label for t in after.trace.named if t.kind == LEAF)
    for name in (*old, *names.intersection(leaves)):
        if name not in new:
            return f"{name}.grad is None"
        if is_zero(new[name][-1]) and not (name in old and all(map(is_zero, old[name]))):
            return f"{name}.grad is 0"
    requiring = {t.label: t.requires_grad for t in after.trace.named}
    for t in before.trace.named:
        if t.requires_grad and not requiring.get(t.label, True):
            return f"{t.label} does not require grad"
    return ""


def outlier(before: Facts, after: Facts) -> str:
    """Say which gradient or update is far larger than its neighbours, if it was not so before."""
    usual = outliers(before)
    for name, times in outliers(after).items():
        if name not in usual:
            return f"{name} is {times:.0e} times its neighbours'"
    return ""


def outliers(facts: Facts) -> dict[str, float]:
    """Return by how much a gradient or update is larger than the median of its neighbours: the
    steps beside it, or the other leaves in its step.
    """
    grads = {
        f"the norm of {name}.grad": [value.norm for value in values if value.is_measured]
        for name, values in gradients(facts).items()
    }
    moves = {f"the update of {name}": sizes for name, sizes in updates(facts).items()}
    large = {}
    for rows in (grads, moves):
        for name, row in rows.items():
            for step, size in enumerate(row):
                beside = row[max(step - BESIDE, 0) : step] + row[step + 1 : step + 1 + BESIDE]
                others = [sizes[step] for sizes in rows.values() if step < len(sizes)]
                others.remove(size)
                for neighbours in (beside, others):
                    usual = median(filter(None, neighbours)) if any(neighbours) else size
                    if size > LARGER * usual:
                        large[name] = size / usual
    return large


def updates(facts: Facts) -> dict[str, list[float]]:
    """Return the relative updates of each leaf with a name."""
    versions: dict[int, list[TensorRecord]] = {}
    for t in facts.tensors:
        versions.setdefault(t.first, []).append(t)
    return {
        records[-1].label: [size for t in records if (size := update_of(t, records)) is not None]
        for records in versions.values()
        if records[-1].name and records[-1].kind == LEAF
    }


# ---- training


def losses(facts: Facts) -> list[float]:
    """Return the losses of a training loop: of its steps, else of the passes from its line."""
    last = facts.storing[-1:]
    passes = [p for p in facts.storing if last[0].span == p.span]
    numbers = (loss_of(facts.trace, step) for step in facts.trace.training or passes)
    return [number for number in numbers if number is not None]


def untrained(after: Facts, reference: Callable[[], list[float]]) -> str:
    """Say in which way a training loop does not train its parameters; "" without a loop."""
    numbers = losses(after)
    changes = [c for c in after.trace.changes if c.after_steps and not c.of_grad]
    is_updated = any(map(after.leaves_of, changes))
    if len(numbers) < 2 or not (is_updated or after.optimised):
        return ""
    first = numbers[0]
    last = numbers[-1]
    moves = [size for sizes in updates(after).values() for size in sizes]
    if not is_updated or (moves and not any(moves)):
        return "no parameter changes"
    if len(set(numbers)) == 1:
        return f"the loss stays {first:.4g}"
    if last < first or (
        isfinite(last) and any(last <= usual + NEAR * abs(usual) for usual in reference()[-1:])
    ):
        return ""
    return f"the loss goes from {first:.4g} to {last:.4g}"


def gain(before: Outcome, after: Outcome) -> str:
    """Say what a fix changes: the loss of a loop with enough steps, else a gradient."""
    bad = (i for i, loss in enumerate(losses(before.facts), 1) if not isfinite(loss))
    steps = len(before.facts.trace.training)
    trouble = next(bad, 1) if before.failure is None else steps
    numbers = losses(after.facts)
    if len(numbers) >= trouble + MORE and numbers[-1] < numbers[0]:
        return f"the loss falls from {numbers[0]:.4g} to {numbers[-1]:.4g}"
    old = gradients(before.facts)
    for name, values in gradients(after.facts).items():
        if name not in old:
            return f"{name}.grad is there"
        if not is_finite(old[name][-1]) and is_finite(values[-1]):
            return f"{name}.grad is finite"
        if is_zero(old[name][-1]):
            return f"{name}.grad is not 0"
    return "it runs to its end" if before.failure is not None else "the cause is gone"
