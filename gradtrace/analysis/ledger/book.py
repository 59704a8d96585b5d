"""The ledger of a run: its books, each made when it is first asked for."""

from __future__ import annotations

from gradtrace.analysis.facts import Facts
from gradtrace.analysis.ledger.gradients import GradientEntry, gradients
from gradtrace.analysis.ledger.parameters import ParameterEntry, parameters
from gradtrace.engine.operators.op import lazy
from gradtrace.trace.record import PassRecord, TensorId


class Ledger:
    """The books of a run. They are linear in its events."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    @lazy
    def gradients(self) -> dict[TensorId, list[GradientEntry]]:
        """The gradients of each leaf (its last version), in the order in which they ended."""
        return gradients(self.facts)

    @lazy
    def parameters(self) -> dict[TensorId, ParameterEntry]:
        """The parameters, by leaf."""
        return parameters(self.facts, self.gradients)

    @lazy
    def trained(self) -> list[ParameterEntry]:
        """The parameters that optimisers which took steps hold."""
        optimisers = self.facts.trace.optimisers
        return [
            entry
            for entry in self.parameters.values()
            if any(optimisers[number].steps for number in entry.holders)
        ]

    @lazy
    def leaves(self) -> frozenset[TensorId]:
        """The leaves of these parameters."""
        return frozenset(entry.leaf for entry in self.trained)

    def pass_of(self, entry: GradientEntry) -> PassRecord:
        return self.facts.passes[entry.turn.number]


def ledger_of(facts: Facts) -> Ledger:
    """Return the ledger of a run, which is made once for its facts."""
    if facts.ledger is None:
        facts.ledger = Ledger(facts)
    return facts.ledger
