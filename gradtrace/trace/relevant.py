"""Select the part of a trace that its result and its variables were computed from, as pictures and
tables show it.
"""

from __future__ import annotations

from gradtrace.annotations import Iterator
from gradtrace.trace.functions import closure
from gradtrace.trace.record import TensorRecord, Trace, TrainingStep, Value
from gradtrace.trace.window import Window


def relevant(trace: Trace) -> Trace:
    """Return the trace without the operations and tensors that no named tensor, root or backward
    pass depends on.
    """
    kept = needed(trace)
    if len(kept) == len(trace.tensors):
        return trace
    operations = [o for o in trace.operations if not kept.isdisjoint(o.outputs)]
    tensors = kept | {i for o in operations for i in o.outputs}
    return RelevantWindow(trace, tensors, operations, range(len(trace.passes)), trace.roots).trace()


def needed(trace: Trace) -> set[int]:
    """Return the tensors that the ends were computed from, with all versions of each."""
    waiting = [*trace.roots, *trace.outputs, *variables_of(trace)]
    waiting += [i for backward in trace.passes for i in backward.roots]
    waiting += [f.variable for f in trace.functions if f.variable is not None]

    def sources(tensor: int) -> Iterator[int]:
        t = trace.tensors[tensor]
        yield t.first
        if t.operation is not None:
            yield from trace.operations[t.operation].tensors

    return closure(waiting, sources)


def variables_of(trace: Trace) -> list[int]:
    """Return the tensors that variables hold.

    A recorded block of a PyTorch program knows the names of the whole program's tensors. Those that
    the block neither made nor used are left out, except the parameters of a model of which it used
    another part.
    """
    if not trace.engine:
        return [i for _, i in trace.names]
    used = {o.tensor for operation in trace.operations for o in operation.inputs}
    used |= {i for operation in trace.operations for i in operation.outputs}
    used |= {trace.tensors[i].first for i in used if i is not None}
    touched = {trace.tensors[i].first for _, i in trace.names} & used
    models = {owner(name) for name, i in trace.names if trace.tensors[i].first in touched}
    return [
        i
        for name, i in trace.names
        if trace.tensors[i].first in touched
        or (trace.tensors[i].is_parameter and owner(name) in models)
    ]


def owner(name: str) -> str:
    """Return the variable at the start of a path: "model" for "model.0.weight"."""
    return name.partition(".")[0].partition("[")[0]


class RelevantWindow(Window):
    """The window on what is relevant in a whole run; names, labels and the ids of functions and
    scopes stay.
    """

    def find_functions(self) -> set[int]:
        return set(range(len(self.whole.functions)))

    def find_scopes(self) -> set[int]:
        return set(range(len(self.whole.scopes)))

    def find_labels(self) -> dict[int, tuple[str, tuple[str, ...]]]:
        return {t.id: (t.label, t.names) for t in self.whole.tensors}

    def extent(self) -> tuple[int, int]:
        return 0, len(self.whole.operations)

    def gradient(self, record: TensorRecord) -> Value | None:
        return record.grad

    def training(self, roots: tuple[int, ...]) -> tuple[TrainingStep, ...]:
        return tuple(map(self.renumbered, self.whole.training))
