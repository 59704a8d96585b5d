"""Who holds each parameter, which gradients it got, and every change of it by whom."""

from __future__ import annotations

from itertools import pairwise

from gradtrace.analysis.facts import Facts
from gradtrace.analysis.ledger.gradients import USED, GradientEntry
from gradtrace.annotations import Iterable, NamedTuple, Sequence
from gradtrace.trace.record import BackwardStep, Change, TensorId, TensorRecord, Value


class ParameterEntry(NamedTuple):
    """A parameter, or another leaf that gets gradients or that an optimiser holds."""

    leaf: TensorId  # its last version
    holders: tuple[int, ...]  # the optimisers that hold it, by their indices
    gradients: Sequence[GradientEntry]
    updates: tuple[Change, ...]  # by steps of optimisers
    writes: tuple[Change, ...]  # other changes of it, after the first pass
    versions: tuple[TensorRecord, ...]

    @property
    def values(self) -> list[Value]:
        """The values that it had, one for each version that was noted."""
        return [t.value for t in self.versions if t.value is not None and t.value.is_measured]

    @property
    def used(self) -> list[BackwardStep]:
        """The turns that left the gradients which updates used."""
        return [entry.turn for entry in self.gradients if entry.fate == USED]

    @property
    def others(self) -> tuple[Change, ...]:
        """The writes that changed it besides steps: none if steps alone explain its values."""
        if not self.writes:
            return ()
        values = self.values
        moves = sum(before != after for before, after in pairwise(values))
        if len(values) == len(self.versions) and moves <= len(self.updates):
            return ()
        return self.writes

    @property
    def has_moved(self) -> bool:
        """Whether a value that it had is known to differ from the first one."""
        values = self.values
        return any(value != values[0] for value in values)

    @property
    def is_still(self) -> bool:
        """Whether its first and its last value are known and equal."""
        values = self.values
        return len(values) == len(self.versions) > 1 and values[0] == values[-1]


def parameters(
    facts: Facts, gradients: dict[TensorId, list[GradientEntry]]
) -> dict[TensorId, ParameterEntry]:
    """Return the entries by leaf, in the order of the leaves."""
    holders: dict[TensorId, list[int]] = {}
    for number, optimiser in enumerate(facts.trace.optimisers):
        for leaf in dict.fromkeys(map(facts.flow.tensor, optimiser.tensors)):
            holders.setdefault(leaf, []).append(number)
    leaves = {facts.flow.tensor(t.id) for t in facts.tensors if t.is_parameter and t.is_leaf}.union(
        holders, gradients
    )
    versions: dict[TensorId, list[TensorRecord]] = {
        facts.tensors[leaf].first: [] for leaf in leaves
    }
    for t in facts.tensors:
        if t.first in versions:
            versions[t.first].append(t)
    changes = changes_of(facts, versions.keys())
    entries = {}
    for leaf in sorted(leaves):
        first = facts.tensors[leaf].first
        own = changes.get(first, ())
        passes = [facts.passes[entry.turn.number] for entry in gradients.get(leaf, ())]
        begin = passes[0].after if passes else 0
        entries[leaf] = ParameterEntry(
            leaf,
            tuple(holders.get(leaf, ())),
            gradients.get(leaf, ()),
            tuple(c for c in own if c.how == "step"),
            tuple(c for c in own if c.how != "step" and c.after_steps and c.after >= begin),
            tuple(versions[first]),
        )
    return entries


def changes_of(facts: Facts, firsts: Iterable[TensorId]) -> dict[TensorId, list[Change]]:
    """Return the writes to tensors themselves, by the first version of each tensor."""
    wanted = frozenset(firsts)
    groups: dict[int, list[TensorId]] = {}
    changes: dict[TensorId, list[Change]] = {}
    for change in facts.trace.changes:
        if change.of_grad or change.how == "frozen":
            continue
        group = groups.get(id(change.tensors))
        if group is None:
            own = dict.fromkeys(facts.tensors[i].first for i in change.tensors)
            group = groups[id(change.tensors)] = [first for first in own if first in wanted]
        for first in group:
            changes.setdefault(first, []).append(change)
    return changes
