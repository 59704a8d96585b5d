"""What became of each gradient: from the pass that left it on a leaf to the step that used it, or
the line that cleared it.
"""

from __future__ import annotations

from gradtrace.analysis.facts import Facts
from gradtrace.annotations import Final, NamedTuple, Sequence
from gradtrace.trace.record import BackwardStep, Change, TensorId

CLEARS = ("cleared", "zero_")
USED: Final = "used"  # by an optimiser's step, or by the program's own write to the leaf
CLEARED: Final = "cleared"  # before anything used it
LEFT: Final = "left"  # on the leaf when the run ended, unused


class GradientEntry(NamedTuple):
    """What one pass added to the gradient of a leaf, and what became of it."""

    leaf: TensorId  # its last version
    turn: BackwardStep  # of the leaf's AccumulateGrad
    fate: str
    end: Change | None  # what used or cleared it
    edits: tuple[Change, ...]  # writes to the gradient before that: clipping, scaling
    writes: tuple[Change, ...]  # writes to the leaf itself before that
    stale: int  # how many entries lay there that a step had used before


class Waiting:
    """An entry that is neither used nor cleared yet."""

    def __init__(self, turn: BackwardStep, stale: int) -> None:
        self.turn = turn
        self.stale = stale
        self.edits: list[Change] = []
        self.writes: list[Change] = []

    def closed(self, leaf: TensorId, fate: str, end: Change | None) -> GradientEntry:
        edits = tuple(self.edits)
        return GradientEntry(leaf, self.turn, fate, end, edits, tuple(self.writes), self.stale)


def gradients(facts: Facts) -> dict[TensorId, list[GradientEntry]]:
    """Return the entries of each leaf, in the order in which they ended."""
    order = {id(turn): at for at, turn in enumerate(facts.steps)}
    changes: dict[TensorId, list[Change]] = {}
    for change in facts.trace.changes:
        for leaf in facts.leaves_of(change):
            changes.setdefault(leaf, []).append(change)
    held = frozenset(facts.optimised)
    return {
        leaf: entries(leaf, turns, [order[id(turn)] for turn in turns], changes.get(leaf, ()), held)
        for leaf, turns in facts.stored.items()
    }


def entries(
    leaf: TensorId,
    turns: Sequence[BackwardStep],
    places: Sequence[int],
    changes: Sequence[Change],
    held: frozenset[TensorId],
) -> list[GradientEntry]:
    """Return the entries of one leaf. `places` has the index of each turn among all turns."""
    closed: list[GradientEntry] = []
    waiting: list[Waiting] = []
    used = 0  # entries on the leaf that a step has used already
    at = 0
    for change in changes:
        while at < len(turns) and places[at] < change.after_steps:
            waiting.append(Waiting(turns[at], used))
            at += 1
        if change.of_grad and change.how in CLEARS:
            closed += [entry.closed(leaf, CLEARED, change) for entry in waiting]
            waiting = []
            used = 0
        elif change.of_grad:
            for entry in waiting:
                entry.edits.append(change)
        elif change.how == "step" or leaf not in held:
            closed += [entry.closed(leaf, USED, change) for entry in waiting]
            used += len(waiting)
            waiting = []
        else:
            for entry in waiting:
                entry.writes.append(change)
    waiting += [Waiting(turn, used) for turn in turns[at:]]
    return closed + [entry.closed(leaf, LEFT, None) for entry in waiting]


def sums(entries: Sequence[GradientEntry]) -> list[list[GradientEntry]]:
    """Return the gradients of a leaf that each update of it used, in the order of the updates."""
    updates: dict[int, list[GradientEntry]] = {}
    for entry in entries:
        if entry.fate == USED:
            updates.setdefault(id(entry.end), []).append(entry)
    return list(updates.values())
