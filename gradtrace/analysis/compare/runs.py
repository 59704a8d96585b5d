"""One run as the comparison reads it: the step and place of each tensor, its uses, its gradient,
its versions.
"""

from __future__ import annotations

from itertools import pairwise
from math import prod

from gradtrace.analysis.stats import gradients
from gradtrace.annotations import Any
from gradtrace.trace.operands import record_of
from gradtrace.trace.record import BackwardStep, Operation, Span, TensorRecord, Trace

LATER = 1 << 60  # the position of what nothing uses


class RecordedRun:
    """The indices of one trace. `first` is the training step, from 1, that counts as the first one,
    `count` how many steps are compared; what runs outside of them has no part.
    """

    def __init__(self, trace: Trace, first: int = 1, count: int | None = None) -> None:
        self.trace = trace
        self.tensors = list(trace.tensors)
        self.operations = trace.operations
        steps = trace.training if count else ()
        self.first = first
        self.count = count or 1
        self.step_of_operation = [1] * len(self.operations)
        if steps:
            self.step_of_operation = [len(steps) + 1] * len(self.operations)
            for number, step in reversed(list(enumerate(steps, 1))):
                for i in range(0 if number == 1 else step.operations[0], step.operations[1]):
                    self.step_of_operation[i] = number
            self.step_of_operation = [step - first + 1 for step in self.step_of_operation]
        self.uses: dict[int, list[int]] = {}
        for operation in self.operations:
            for i in dict.fromkeys(operation.tensors):
                self.uses.setdefault(i, []).append(operation.id)
        self.versions: dict[int, list[int]] = {}
        self.before: dict[int, int | None] = {}
        for t in self.tensors:
            versions = self.versions.setdefault(t.first, [])
            self.before[t.id] = versions[-1] if versions else None
            versions.append(t.id)
        chains = [chain for chain in self.versions.values() if len(chain) > 1]
        self.cast = {
            i
            for chain in chains
            for i, j in pairwise(chain)
            if self.tensors[i].dtype != self.tensors[j].dtype
        }
        first_values = [
            (i, j) for chain in chains for i, j in pairwise(chain) if self.initialises(i, j)
        ]
        for i, j in first_values:
            self.cast.add(i)
            self.tensors[j] = self.tensors[j]._replace(operation=None)
        self.names = {t.first: t.name for t in self.tensors if t.name is not None}
        self.grads = gradients(trace)
        self.visits: dict[int, BackwardStep] = {step.function: step for step in trace.steps}

    def initialises(self, i: int, j: int) -> bool:
        """Whether the second version of a parameter was written over the first one, which nothing
        had read.

        Such a write is an operation in the record only of a parameter that does not require grad.
        """
        operation = self.tensors[j].operation
        if (
            operation is None
            or not self.tensors[j].is_parameter
            or self.uses.get(i, [operation]) != [operation]
        ):
            return False
        record = record_of(self.operations[operation].name)
        return record is not None and record.kind in ("random", "fill")

    def overwritten(self, tensor: int) -> int | None:
        """Return the version that a write in place made of a tensor, if nothing else reads it; else
        None.
        """
        uses = self.uses.get(tensor, ())
        versions = self.versions[self.tensors[tensor].first]
        later = next((i for i in versions if i > tensor), None)
        return (
            later
            if later is not None and len(uses) == 1 and later in self.operations[uses[0]].outputs
            else None
        )

    def maker(self, tensor: int) -> Operation | None:
        """Return the operation that made a tensor."""
        operation = self.tensors[tensor].operation
        return None if operation is None else self.operations[operation]

    def position(self, tensor: int) -> int:
        """Return the operation that made a tensor, or the first that uses it."""
        operation = self.tensors[tensor].operation
        return operation if operation is not None else self.uses.get(tensor, (LATER,))[0]

    def step(self, tensor: int) -> int:
        """Return the step in which a tensor was made or is first used; for what comes after the
        last one, that + 1.
        """
        position = self.position(tensor)
        return self.step_of_operation[position] if position != LATER else self.count + 1

    def has(self, tensor: int) -> bool:
        """Whether a tensor belongs to the compared steps; a leaf's version after the last of them
        does, and a parameter before it was cast to another dtype does not.
        """
        if tensor in self.cast:
            return False
        step = self.step(tensor)
        return 1 <= step <= self.count or (
            step == self.count + 1 and self.tensors[tensor].operation is None
        )

    def earlier(self, tensor: int) -> int | None:
        """Return the version before this one; None for the first of the compared steps."""
        version = self.before[tensor]
        return version if version is not None and self.has(version) else None

    def compared(self, operation: Operation) -> bool:
        return 1 <= self.step_of_operation[operation.id] <= self.count

    def modules(self, operation: Operation) -> str:
        """Return the path of the module that an operation ran in; "" without one."""
        scope = operation.scope
        while scope is not None:
            record = self.trace.scopes[scope]
            if record.kind == "module":
                return record.name
            scope = record.parent
        return ""

    def label(self, tensor: int) -> str:
        """Return a tensor's name; without one, its label without the number of its version."""
        record = self.tensors[tensor]
        return self.names.get(record.first) or record.label.partition(" (version")[0]

    def shape(self, tensor: int) -> tuple[int, ...]:
        return self.tensors[tensor].shape

    def length(self, operation: Operation) -> int:
        """Return how many terms the sums of an operation have, by the shapes: 1 if it has none."""
        if not operation.outputs or not operation.tensors:
            return 1
        out = self.shape(operation.outputs[0])
        shapes = [self.shape(i) for i in operation.tensors]
        if max(map(prod, shapes)) <= prod(out) and all(shape in (out, ()) for shape in shapes):
            return 1
        return max((n for shape in shapes for n in shape), default=1)

    def span(self, tensor: int) -> Span | None:
        """Return the place of a tensor: of its operation, or of the first that uses it."""
        record: TensorRecord = self.tensors[tensor]
        position = self.position(tensor)
        if record.operation is not None or record.span is None:
            return (
                record.span if position == LATER else self.operations[position].span or record.span
            )
        return record.span


def base_name(operation: Operation) -> str:
    """Return an operator's name without what tells its variants apart: "native_layer_norm" is
    layer_norm.
    """
    return operation.name.removeprefix("native_").removesuffix("_fixed")


def shapes_of(run: RecordedRun, operation: Operation) -> Any:
    return tuple(run.shape(i) for i in operation.outputs)
