"""An index of the gradients that arrived at each function in a trace's passes. It is fast for runs of 100,000 steps."""

from __future__ import annotations

from gradtrace.analysis.steps import Contribution, EdgeTable, label_of
from gradtrace.annotations import NamedTuple
from gradtrace.trace.record import BackwardStep, Operation, Trace


class Arrival(NamedTuple):
    """A gradient that arrived: `sender` is the step that sent it, `edge` the number of the edge, `part` its value and
    source.
    """

    sender: BackwardStep
    edge: int
    part: Contribution


class Arrivals:
    """An index of the gradients by the step that received them, and of the operations by the function that they
    made.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.graph = EdgeTable(trace)
        self.operations: dict[int, Operation] = {}
        for operation in trace.operations:
            if operation.function is not None:
                self.operations.setdefault(operation.function, operation)
        self._sent: dict[tuple[int, int], list[tuple[BackwardStep, int]]] = {}
        for step in trace.steps:
            for index, value in enumerate(step.downstream):
                target = None if value is None else self.graph.targets.get((step.function, index))
                if target is not None:
                    self._sent.setdefault((step.number, target[0]), []).append((step, index))

    def at(self, step: BackwardStep) -> list[Arrival]:
        """Return the gradients that a step's function received in that pass: sender, edge and value of each."""
        return [
            Arrival(sender, index, Contribution(self.source(sender), sender.downstream[index]))  # type: ignore[arg-type]
            for sender, index in self._sent.get((step.number, step.function), ())
        ]

    def source(self, sender: BackwardStep) -> str:
        """Return the label of the tensor that the sender's function made."""
        return label_of(self.trace, self.trace.functions[sender.function])
