"""Every step of a run in order: forward, then backward as the engine ran it.

    for step in steps(trace): ...      Forward | Started | Backward | Ended | Failed

The run must have been watched. Steps are generated one by one, so a run of 100,000 operations can
be written out as it is read.
"""

from __future__ import annotations

from gradtrace.annotations import Iterator, NamedTuple
from gradtrace.trace.record import (
    FAILED,
    BackwardStep,
    FunctionRecord,
    HookRun,
    Operation,
    PassRecord,
    Span,
    Trace,
    Value,
)

BYTES = {"float64": 8, "float32": 4, "int64": 8, "int32": 4, "int16": 2, "float16": 2}


class Kept(NamedTuple):
    """A value saved for backward. `size` is in bytes (0 if it is not a tensor)."""

    name: str  # the operator's argument: "self", "result"
    label: str
    size: int


class Made(NamedTuple):
    """A tensor that an operation made."""

    tensor: int
    label: str
    value: Value | None  # None: `missing` says why
    requires_grad: bool
    missing: str = ""


class Forward(NamedTuple):
    """The call of an operator. `number` counts all steps from 1."""

    number: int
    operation: int
    op: str
    label: str
    inputs: tuple[str, ...]
    outputs: tuple[Made, ...]
    grad_fn: str | None
    saved: tuple[Kept, ...]
    text: str
    span: Span | None
    grad_enabled: bool
    # in which it ran: code of a Function or a hook, or the derivative's own graph
    number_of_pass: int | None


class Started(NamedTuple):
    """The start of a backward pass: `roots` with the vector for each."""

    number: int
    number_of_pass: int
    roots: tuple[tuple[str, Value], ...]
    keep: bool
    create_graph: bool
    inputs: tuple[str, ...] | None
    stores: bool
    span: Span | None


class Contribution(NamedTuple):
    """One summand of a gradient. `source` is the tensor made by the function that sent it."""

    source: str
    value: Value


class Passed(NamedTuple):
    """A gradient that went along one edge: `value` is the downstream gradient, sent to `to`."""

    to: str
    tensor: int | None
    local: Value | None
    value: Value


class Backward(NamedTuple):
    """A function's turn in a pass."""

    number: int
    number_of_pass: int
    function: int
    name: str
    of: str  # the tensor whose gradient it is
    tensor: int | None
    named: bool  # a variable holds it
    upstream: Value | None
    contributions: tuple[Contribution, ...]  # that upstream is the sum of, if there are several
    sent: tuple[Passed, ...]
    hooks: tuple[HookRun, ...]
    freed: tuple[Kept, ...]
    dropped: bool  # the gradient is not kept: a non-leaf without retain_grad
    grad_before: Value | None
    grad_after: Value | None
    ran: bool  # False: autograd.grad took what had gathered here
    span: Span | None


class Ended(NamedTuple):
    """The end of a pass; `error` is its error, "" without one."""

    number: int
    number_of_pass: int
    error: str


class Failed(NamedTuple):
    """The end of a program that failed: the expression, the tensors in it, and the exception."""

    number: int
    text: str
    inputs: tuple[str, ...]
    kind: str
    message: str
    span: Span | None


RunStep = Forward | Started | Backward | Ended | Failed


def steps(trace: Trace) -> Iterator[RunStep]:
    """Yield the steps of a trace, in order."""
    number = done = 0
    graph = EdgeTable(trace)
    turns = iter(trace.steps)
    waiting = next(turns, None)
    for pass_ in trace.passes:
        for operation in trace.operations[done : pass_.after]:
            number += 1
            yield forward(trace, operation, number)
        done = max(done, pass_.after)
        number += 1
        yield started(trace, pass_, number)
        received: Received = {}
        while waiting is not None and waiting.number == pass_.number:
            number += 1
            yield backward(graph, pass_, waiting, received, number)
            waiting = next(turns, None)
            inside = (
                waiting.after
                if waiting is not None and waiting.number == pass_.number
                else pass_.until
            )
            for operation in trace.operations[done:inside]:
                number += 1
                yield forward(trace, operation, number, trace.earlier_passes + pass_.number + 1)
            done = max(done, inside)
        number += 1
        yield Ended(number, trace.earlier_passes + pass_.number + 1, pass_.error)
    for operation in trace.operations[done:]:
        if trace.failure is None or operation.name != FAILED:
            number += 1
            yield forward(trace, operation, number)
    if trace.failure is not None:
        yield failed(trace, number + 1)


def failed(trace: Trace, number: int) -> Failed:
    """Return the last step of a program that failed."""
    assert trace.failure is not None
    failure = trace.failure
    operation = None if failure.operation is None else trace.operations[failure.operation]
    labels = () if operation is None else tuple(trace.tensors[i].label for i in operation.tensors)
    text = "" if operation is None else operation.text
    if failure.forward is not None:
        text = f"the backward of {text}, line {failure.forward.line}"
    return Failed(number, text, labels, failure.kind, failure.message, failure.span)


class EdgeTable:
    """A table of the functions' edges: the target of each, and the tensor that was its operand."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.targets = {
            (e.source, e.input_index): (e.target, e.output_nr) for e in trace.function_edges
        }
        self.operands: dict[tuple[int, int], int] = {}
        for operation in trace.operations:
            for operand in operation.inputs:
                if (
                    operation.function is not None
                    and operand.edge is not None
                    and operand.tensor is not None
                ):
                    self.operands[operation.function, operand.edge] = operand.tensor

    def operand(self, function: int, index: int) -> int | None:
        """Return the tensor whose gradient an edge carries."""
        tensor = self.operands.get((function, index))
        if tensor is not None:
            return tensor
        target = self.targets.get((function, index))
        return None if target is None else made_by(self.trace.functions[target[0]], target[1])


def forward(
    trace: Trace, operation: Operation, number: int, number_of_pass: int | None = None
) -> Forward:
    outputs = [trace.tensors[i] for i in operation.outputs]
    saved = () if operation.function is None else kept(trace, trace.functions[operation.function])
    return Forward(
        number,
        operation.id,
        operation.name,
        operation.label,
        tuple(
            o.text if o.tensor is None else trace.tensors[o.tensor].label for o in operation.inputs
        ),
        tuple(Made(t.id, t.label, t.value, t.requires_grad, t.missing) for t in outputs),
        operation.grad_fn,
        saved,
        operation.text,
        operation.span,
        operation.grad_enabled,
        number_of_pass,
    )


def kept(trace: Trace, function: FunctionRecord) -> tuple[Kept, ...]:
    """Return what a function keeps for backward; if it is freed, what it kept before."""
    saved = ((s, None if s.tensor is None else trace.tensors[s.tensor]) for s in function.saved)
    return tuple(
        Kept(s.name, t.label if t else s.text, size_of(t.value if t else None)) for s, t in saved
    )


def size_of(value: Value | None) -> int:
    """Return the bytes of a tensor's elements."""
    return 0 if value is None else value.numel * BYTES.get(value.dtype, 1)


def started(trace: Trace, pass_: PassRecord, number: int) -> Started:
    roots = tuple(
        (trace.tensors[i].label, vector)
        for i, vector in zip(pass_.roots, pass_.vectors, strict=False)
    )
    inputs = None if pass_.inputs is None else tuple(trace.tensors[i].label for i in pass_.inputs)
    return Started(
        number,
        trace.earlier_passes + pass_.number + 1,
        roots,
        pass_.keep,
        pass_.create_graph,
        inputs,
        pass_.stores,
        pass_.span,
    )


Received = dict[tuple[int, int], list[Contribution]]


def backward(
    graph: EdgeTable, pass_: PassRecord, step: BackwardStep, received: Received, number: int
) -> Backward:
    """Return the step of one turn; `received` collects the gradients by function and output
    number.
    """
    trace = graph.trace
    function = trace.functions[step.function]
    tensor = made_by(function)
    record = None if tensor is None else trace.tensors[tensor]
    of = label_of(trace, function)
    gathered = received.pop((function.id, 0), [])
    if tensor is not None and tensor in pass_.roots:
        gathered = [Contribution("backward", pass_.vectors[pass_.roots.index(tensor)]), *gathered]
    sent = []
    for index, value in enumerate(step.downstream):
        if value is None:
            continue
        target = graph.targets.get((function.id, index))
        if target is not None:
            received.setdefault(target, []).append(Contribution(of, value))
        to = graph.operand(function.id, index)
        local = step.local[index] if step.local else None
        sent.append(Passed("?" if to is None else trace.tensors[to].label, to, local, value))
    return Backward(
        number,
        graph.trace.earlier_passes + step.number + 1,
        function.id,
        function.name,
        of,
        tensor,
        record is not None and record.name is not None,
        step.gradient,
        tuple(gathered) if len(gathered) > 1 else (),
        tuple(sent),
        step.hooks,
        tuple(item for item in kept(trace, function) if item.size) if step.freed else (),
        record is not None
        and not record.is_leaf
        and not any(hook.kind == "retain" for hook in step.hooks),
        step.grad_before,
        step.grad_after,
        step.ran,
        function.span,
    )


def made_by(function: FunctionRecord, number: int = 0) -> int | None:
    """Return the tensor whose gradient a function receives: its result, or an accumulator's
    leaf.
    """
    if function.variable is not None:
        return function.variable
    return function.outputs[min(number, len(function.outputs) - 1)] if function.outputs else None


def label_of(trace: Trace, function: FunctionRecord) -> str:
    """Return the label of the tensor whose gradient a function receives; without one, the
    function's name.
    """
    tensor = made_by(function)
    return function.name if tensor is None else trace.tensors[tensor].label


def follow(trace: Trace, run_steps: Iterator[RunStep], tensors: set[int]) -> Iterator[RunStep]:
    """Yield the steps that made or read one of the tensors, or brought it a gradient; passes only
    if they have such steps.
    """
    operations = {
        o.id
        for o in trace.operations
        if not tensors.isdisjoint(o.outputs) or not tensors.isdisjoint(o.tensors)
    }
    begun: Started | None = None
    for step in run_steps:
        if isinstance(step, Forward):
            if step.operation in operations:
                yield step
        elif isinstance(step, Started):
            begun = step
        elif isinstance(step, Ended):
            if begun is None or step.error:
                yield step
        elif isinstance(step, Failed):
            yield step
        elif step.tensor in tensors or any(item.tensor in tensors for item in step.sent):
            if begun is not None:
                yield begun
                begun = None
            yield step


# ---- arrivals


class Arrival(NamedTuple):
    """A gradient that arrived: `sender` is the step that sent it, `edge` the number of the edge,
    `part` its value and source.
    """

    sender: BackwardStep
    edge: int
    part: Contribution


class Arrivals:
    """An index of the gradients by the step that received them, and of the operations by the
    function that they made.
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
        """Return the gradients that a step's function received in that pass: sender, edge and value
        of each.
        """
        return [
            Arrival(sender, index, Contribution(self.source(sender), sender.downstream[index]))  # type: ignore[arg-type]
            for sender, index in self._sent.get((step.number, step.function), ())
        ]

    def source(self, sender: BackwardStep) -> str:
        """Return the label of the tensor that the sender's function made."""
        return label_of(self.trace, self.trace.functions[sender.function])
