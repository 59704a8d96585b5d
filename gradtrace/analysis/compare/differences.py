"""Two runs' differences as they are shown, and those of them that are shown as one."""

from __future__ import annotations

import re

from gradtrace.analysis.compare.reasons import BACKWARD, INPUT, PARAMETER, RANDOM, UPDATE
from gradtrace.annotations import Callable, NamedTuple
from gradtrace.trace.record import CONSTANT, Value

# a reason that names an option, or what only one run has
FACT = re.compile(r"\w=|\bonly [AB]\b|\b(eval|training) in\b")


class DifferencePlace(NamedTuple):
    """The place of a difference in one run: what the operation is ("" of an input), and where it
    stands.
    """

    file: str
    line: int | None
    module: str
    op: str
    label: str
    tensor: int | None = None
    operation: int | None = None
    made_on: int | None = None  # the line that made the module or the optimiser, if it is known


class Difference(NamedTuple):
    """One place where two runs part. `before` is the largest relative difference of what it was
    computed from, `relative` its own (infinity for another shape, or NaN against numbers; None if
    it cannot be measured).
    """

    kind: str
    step: int | None
    a: DifferencePlace | None
    b: DifferencePlace | None
    before: float
    relative: float | None
    reason: str
    values: tuple[Value | None, Value | None] = (None, None)
    is_partly_known: bool = False  # whether a value that it was computed from could not be compared
    is_gradient: bool = False  # whether it is one of a gradient
    only: str = ""  # of kind ONLY, the run that has it: "A" or "B"


def is_fact(difference: Difference) -> bool:
    """Whether the programs are known to differ at a place beside the first one, which may lead to
    it: by a named option, a tensor or an operation that one of them has, by what it begins with.
    """
    labels = [place.label for place in (difference.a, difference.b) if place is not None]
    if difference.kind == INPUT:
        return CONSTANT not in labels
    return difference.kind in (PARAMETER, RANDOM) or bool(FACT.search(difference.reason))


# ---- shown as one


def is_before_update(difference: Difference, step: int) -> bool:
    """Whether a difference comes before the update in a step: in an earlier step, or in this one's
    forward.
    """
    if difference.step is None or difference.step < step:
        return True
    return difference.step == step and difference.kind not in (BACKWARD, UPDATE)


def grouped(
    differences: list[Difference], key: Callable[[Difference], object]
) -> list[list[Difference]]:
    """Return the differences with equal keys together, in the order of the first of each."""
    groups: dict[object, list[Difference]] = {}
    for difference in differences:
        groups.setdefault(key(difference), []).append(difference)
    return list(groups.values())


def one_of_each_step(differences: list[Difference]) -> list[Difference]:
    """Return the differences, with the updates of one step as one, and its gradients that differ
    for one reason.

    The reason of updates is the one that most of them have: an optimiser does the same to all
    parameters.
    """
    return [member for group in grouped(differences, shown_together) for member in as_one(group)]


def shown_together(difference: Difference) -> object:
    """Return what the differences that are shown as one have in common."""
    if difference.kind == UPDATE:
        return UPDATE, difference.step
    if difference.kind == PARAMETER and difference.reason:
        return PARAMETER, difference.reason
    if difference.is_gradient and difference.reason:
        return difference.kind, difference.step, difference.reason
    return id(difference)


def as_one(group: list[Difference]) -> list[Difference]:
    reasons = [member.reason for member in group]
    reason = max(dict.fromkeys(reasons), key=reasons.count)
    chosen = group[reasons.index(reason)]
    if reasons.count(reason) == 1:
        return [chosen]
    kind = "gradients" if chosen.is_gradient else "parameters"
    alike = f"so for {reasons.count(reason)} {kind}"
    return [chosen._replace(reason=f"{reason}; {alike}" if reason else alike)]


def unrepeated(differences: list[Difference]) -> list[Difference]:
    """Return the differences without what later steps repeat: the same place for the same
    reason.
    """
    groups = grouped(
        differences,
        lambda shown: (
            shown.kind,
            shown.reason.partition(":")[0] if shown.kind == RANDOM else shown.reason,
            spot(shown.a, shown.reason),
            spot(shown.b, shown.reason),
        ),
    )
    return [group[0] for group in groups]


def spot(place: DifferencePlace | None, reason: str) -> tuple[object, ...]:
    """Return what places have in common that are shown as one; layers of one line are one."""
    if place is None:
        return ()
    op = "select" if is_fetch(place) else place.op
    return place.file, place.line, "" if reason else place.module, op


def is_fetch(place: DifferencePlace) -> bool:
    """Whether a place selects a row outside of a module, as reads of a data set do."""
    return place.op.startswith("select ") and not place.module
