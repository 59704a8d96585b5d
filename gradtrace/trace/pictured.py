"""Select the part of a trace that a picture shows: what the loss was computed from, from leaves and
inputs on.

How a leaf got its values (an initialisation, an optimiser's update) and how data was prepared are
not drawn: the leaf or the prepared tensor is where the graph begins. Of a program that called
backward, what no pass began at or depends on (a metric, an evaluation) is not drawn either.
"""

from __future__ import annotations

from gradtrace.annotations import Iterable, Mapping
from gradtrace.engine.operators.op import lazy
from gradtrace.trace.functions import reachable_functions
from gradtrace.trace.record import CONSTANT, DATA, RESULT, TensorRecord, Trace
from gradtrace.trace.relevant import RelevantWindow, variables_of

# operations that prepare data, from which on they are left out also where no module is called
FEW = 3


def pictured(trace: Trace) -> Trace:
    """Return the part of `trace` that a picture shows."""
    selection = Selection(trace)
    cut = any(t.kind == RESULT and t.operation is None for t in trace.tensors)
    if len(selection.tensors) == len(trace.tensors) and not selection.starts and not cut:
        return trace
    operations = [trace.operations[i] for i in sorted(selection.operations)]
    return PictureWindow(
        trace, selection.tensors, operations, range(len(trace.passes)), trace.roots
    ).trace()


def unrelated(trace: Trace, shown: Trace) -> list[str]:
    """Return the names of the results, and of the leaves with a gradient, that `shown`, the part
    that a picture shows, leaves out; prepared data aside.
    """
    there = {name for name, _ in shown.names}
    data = Preparations(trace).steps
    hidden = [(name, trace.tensors[i]) for name, i in trace.names if name not in there]
    return [
        name
        for name, t in hidden
        if (t.is_leaf and t.grad is not None)
        or (t.operation is not None and t.id not in data and not is_set(t, data))
    ]


def is_set(tensor: TensorRecord, data: Mapping[int, int]) -> bool:
    """Whether an operation only set the values of a leaf, which backward does not go beyond."""
    if not tensor.is_leaf or not (tensor.requires_grad or tensor.is_parameter):
        return False
    return tensor.version > 0 or tensor.id in data


class Selection:
    """The tensors and operations of a trace that a picture shows.

    `starts` are those of the tensors whose operation only initialised a leaf or prepared data.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.ends = set(ends_of(trace))
        self.data = Preparations(trace)
        differentiated = any(trace.tensors[i].requires_grad for i in self.ends)
        network = any(scope.kind == "module" for scope in trace.scopes)
        self.least = 1 if network else FEW
        self.starts: set[int] = set()
        self.operations: set[int] = set()
        self.tensors: set[int] = set()
        self.walk(differentiated)
        self.tensors |= {i for o in self.operations for i in trace.operations[o].outputs}
        self.leave_out_idle_data()

    def walk(self, differentiated: bool) -> None:
        """Collect the ends and what they were computed from, up to leaves and prepared data."""
        trace = self.trace
        waiting = list(self.ends)
        while waiting:
            i = waiting.pop()
            if i in self.tensors:
                continue
            self.tensors.add(i)
            made_by = trace.tensors[i].operation
            if made_by is None:
                continue
            if is_set(trace.tensors[i], self.data.steps) or (
                differentiated and self.is_prepared(i)
            ):
                self.starts.add(i)
                continue
            self.operations.add(made_by)
            waiting += trace.operations[made_by].tensors

    def is_prepared(self, tensor: int) -> bool:
        """Whether a tensor is data whose preparation took so many operations that it is not
        drawn.
        """
        return self.data.count(tensor, self.least) >= self.least

    def leave_out_idle_data(self) -> None:
        """Leave out the named data of which only the preparation of other data made use."""
        read = {i for o in self.operations for i in self.trace.operations[o].tensors}
        used = {i for o in self.trace.operations for i in o.tensors}
        roots = {*self.trace.roots, *self.trace.outputs}
        idle = {
            i
            for i in self.tensors - read - roots
            if (i in self.starts or self.trace.tensors[i].operation is None)
            and (i in used or i in self.starts)
        }
        self.tensors -= idle
        self.starts -= idle


class Preparations:
    """The data of a trace: tensors computed without a parameter, outside modules, from nothing that
    requires grad.

    `steps` has, by data tensor that an operation made, this operation.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.steps: dict[int, int] = {}
        in_module = set(inside_modules(trace))
        failed = None if trace.failure is None else trace.failure.operation
        for operation in trace.operations:
            if operation.id == failed or operation.scope in in_module:
                continue
            if all(map(self.is_data, operation.tensors)):
                self.steps.update(dict.fromkeys(operation.outputs, operation.id))

    def is_data(self, tensor: int) -> bool:
        record = self.trace.tensors[tensor]
        if record.requires_grad or record.is_parameter:
            return False
        return record.operation is None or tensor in self.steps

    def count(self, tensor: int, most: int) -> int:
        """Return how many operations prepared a tensor; `most` if they are more."""
        counted: set[int] = set()
        waiting = [tensor]
        while waiting and len(counted) < most:
            operation = self.steps.get(waiting.pop())
            if operation is not None and operation not in counted:
                counted.add(operation)
                waiting += self.trace.operations[operation].tensors
        return len(counted)


def inside_modules(trace: Trace) -> Iterable[int]:
    """Yield the scopes that are calls of modules or lie inside one."""
    inside: set[int] = set()
    for scope in trace.scopes:  # a parent's id is always lower
        if scope.kind == "module" or scope.parent in inside:
            inside.add(scope.id)
            yield scope.id


# ---- the ends


def ends_of(trace: Trace) -> Iterable[int]:
    """Yield the tensors that a picture is of: those at which passes began; where the program called
    none, or it is not known at what they began, also variables; where it failed, also what no
    operation read.
    """
    yield from trace.roots
    yield from trace.outputs
    for backward in trace.passes:
        yield from backward.roots
    if trace.failure is not None:  # what the failed operation read may have no name
        read = {i for o in trace.operations for i in o.tensors}
        yield from (t.id for t in trace.tensors if t.operation is not None and t.id not in read)
    if trace.failure is not None or not called_backward(trace):
        yield from variables_of(trace)
        yield from (f.variable for f in trace.functions if f.variable is not None)
    elif trace.passes:
        yield from (i for _, i in trace.names if is_derived(trace, i))
    else:
        yield from (
            i
            for _, i in trace.names
            if trace.tensors[i].function is not None and not trace.tensors[i].is_leaf
        )


def called_backward(trace: Trace) -> bool:
    """Whether the program itself stored gradients; of gradtrace's own call no place is known."""
    if trace.passes:
        return any(
            backward.stores and (backward.span is not None or trace.engine != "")
            for backward in trace.passes
        )
    return trace.backward_runs == 0 and any(t.is_leaf and t.grad is not None for t in trace.tensors)


def is_derived(trace: Trace, tensor: int) -> bool:
    """Whether a tensor is part of a derivative's own graph (create_graph)."""
    made_by = trace.tensors[tensor].operation
    scope = None if made_by is None else trace.operations[made_by].scope
    return scope is not None and trace.scopes[scope].kind == "backward"


class PictureWindow(RelevantWindow):
    """The window on what a run's picture shows: gradients and ends are those of the whole run."""

    def find_functions(self) -> set[int]:
        """Return the functions of the window's tensors, and those that they lead to."""
        return reachable_functions(self.whole, self.tensors)

    @lazy
    def buffer_names(self) -> dict[int, str]:
        """The names of the modules' buffers, by their first versions."""
        return {self.whole.tensors[b.tensor].first: b.name for b in self.whole.buffers}

    def find_labels(self) -> dict[int, tuple[str, tuple[str, ...]]]:
        """Return the whole trace's labels; a leaf that was updated later has those of its last
        version.
        """
        tensors = self.whole.tensors
        named = {t.first: (t.label, t.names) for t in tensors if t.names and t.is_leaf}
        last = {tensors[i].first: i for i in self.tensors if tensors[i].is_leaf}
        updated = {
            i: named[first] for first, i in last.items() if first in named and not tensors[i].names
        }
        return super().find_labels() | updated

    def selected(self) -> Trace:
        return (
            super()
            .selected()
            ._replace(outputs=self.whole.outputs, optimisers=self.whole.optimisers)
        )

    def as_in_window(self, record: TensorRecord, new: TensorRecord) -> TensorRecord:
        new = (
            super()
            .as_in_window(record, new)
            ._replace(is_root=record.is_root, is_output=record.is_output)
        )
        if record.kind != RESULT or new.operation is not None:
            return new
        # data is the program's own, and not a buffer or a constant of a module
        is_program = record.span is None or not record.span.file
        is_data = bool(record.names) or (is_program and record.first not in self.buffer_names)
        label = record.label if record.names else self.buffer_names.get(record.first, record.label)
        return new._replace(kind=DATA if is_data else CONSTANT, op=None, label=label)
