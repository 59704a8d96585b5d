"""The builder of a Trace from a recorder's events, and the rules that all recorders share."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Iterable, Iterator, Sequence
from gradtrace.trace.record import (
    CONSTANT,
    DATA,
    LEAF,
    NONLEAF,
    OVERWRITTEN,
    RESULT,
    BackwardStep,
    Begun,
    Change,
    Escape,
    FunctionCheck,
    FunctionEdge,
    FunctionRecord,
    Group,
    HookRun,
    Operand,
    Operation,
    OptimiserRecord,
    PassRecord,
    Span,
    TensorRecord,
    Trace,
    TrainingStep,
    Value,
)

if TYPE_CHECKING:
    from gradtrace.trace.events import Call, ChangeEvent, Entry, EventStream, PassEvent, Turn
    from gradtrace.trace.precision import Precision
    from gradtrace.trace.scopes import Scopes
    from gradtrace.trace.training import StepCalls


class Builder:
    """The builder of one trace's records. A subclass for each recorder says what its events refer
    to.

    `entries` and `calls` are those that the trace has, in the order of their ids; `roots` and
    `outputs` have the ids of those tensors in the order of the trace.
    """

    def __init__(
        self,
        source: Any,
        scopes: Scopes,
        events: EventStream,
        entries: Sequence[Entry],
        calls: Sequence[Call],
    ) -> None:
        self.source = source  # has the span and the text of each origin
        self.scopes = scopes
        self.events = events
        self.entries = entries
        self.calls = calls
        self.backward_runs = 0
        self.backward_ran = False  # a pass that stores gradients
        self.roots: dict[int, None] = {}
        self.outputs: dict[int, None] = {}
        self.earliest: dict[int, int] = {}  # the first version of each tensor that is in the trace

    def build(self) -> Trace:
        """Return the Trace."""
        return Trace(
            self.source.name,
            self.source.text,
            tuple(map(self.tensor, self.entries, self.labels())),
            tuple(map(self.operation, self.calls)),
            tuple(self.functions()),
            tuple(self.edges()),
            tuple(self.roots),
            tuple(self.outputs),
            self.backward_runs,
            tuple((name, entry.id) for entry in self.entries for name in entry.names),
            scopes=tuple(self.scopes.records),
            steps=tuple(self.step(number, turn) for number, turn in self.turns()),
            passes=tuple(map(self.pass_record, range(len(self.events.passes)), self.events.passes)),
            escapes=tuple(self.escapes()),
            changes=tuple(self.changes()),
            begun=tuple(self.begun()),
            training=tuple(self.training()),
            files=tuple(self.source.files),
            optimisers=tuple(self.optimisers()),
            checks=tuple(self.checks()),
            precision=self.precision(),
        )

    # ---- what the events refer to

    def labels(self) -> list[str]:
        """Return the label of each entry."""
        raise NotImplementedError

    def value(self, noted: Any) -> Value | None:
        """Return the Value of noted contents."""
        raise NotImplementedError

    def contents(self, entry: Entry) -> tuple[Value | None, Value | None, str | None]:
        """Return the value of an entry, its gradient, and the name of the gradient's own node."""
        raise NotImplementedError

    def made_by(self, entry: Entry) -> Call | None:
        """Return the call that made a tensor."""
        return entry.call

    def is_current(self, entry: Entry) -> bool:
        """Whether the tensor held this version when the run ended."""
        return entry.last

    def update(self, entry: Entry) -> float | None:
        """Return how far an update moved a leaf, if that was noted."""
        return None

    def tensor_id(self, tensor: Any) -> int | None:
        """Return the id of a tensor that an event refers to."""
        raise NotImplementedError

    def ends(self, roots: Sequence[Any]) -> tuple[int, ...]:
        """Return the ids of the tensors at which a pass begins or ends."""
        raise NotImplementedError

    def vectors(self, event: PassEvent) -> tuple[Value, ...]:
        """Return the vectors of a pass, one for each root."""
        raise NotImplementedError

    def function_of(self, entry: Entry) -> int | None:
        """Return the id of an entry's node; of a leaf, that of its AccumulateGrad."""
        raise NotImplementedError

    def function_id(self, node: Any) -> int:
        """Return the id of a node's FunctionRecord."""
        raise NotImplementedError

    def function_name(self, node: Any) -> str:
        raise NotImplementedError

    def functions(self) -> Iterable[FunctionRecord]:
        raise NotImplementedError

    def edges(self) -> Iterable[FunctionEdge]:
        raise NotImplementedError

    def node_of(self, call: Call) -> Any:
        """Return the node that a call made, or None."""
        return call.fn

    def operator(self, call: Call) -> str:
        """Return the name of a call's operator."""
        return call.name

    def operands(self, call: Call, node: Any) -> tuple[Operand, ...]:
        raise NotImplementedError

    def grad_enabled(self, call: Call) -> bool:
        """Return the grad mode of a call."""
        return call.grad_enabled

    def before(self, at: int) -> int:
        """Return how many of the trace's operations ran before the recorded call with index
        `at`.
        """
        return at

    def turns(self) -> list[tuple[int, Turn]]:
        """Return the turns to show, each with the number of its pass."""
        return [
            (number, turn)
            for number, event in enumerate(self.events.passes)
            for turn in event.turns
        ]

    def written(self, event: ChangeEvent) -> tuple[Group, bool]:
        """Return the ids of the tensors that a change wrote to, and whether it wrote to their
        gradients.
        """
        raise NotImplementedError

    def operation_of(self, event: ChangeEvent) -> int | None:
        """Return the id of the operation that made a change."""
        return event.call.id if event.call is not None and event.call.outputs else None

    def steps_before(self, turns: int) -> int:
        """Return how many of the trace's backward steps ran before a number of turns were over."""
        return turns

    def step_calls(self) -> Sequence[StepCalls]:
        """Return the calls and passes of each step of a training loop."""
        raise NotImplementedError

    def roots_of(self, passes: Sequence[int]) -> tuple[int, ...]:
        """Return the ids of the tensors at which these passes began."""
        return tuple(
            dict.fromkeys(
                i for number in passes for i in self.ends(self.events.passes[number].roots)
            )
        )

    def checks(self) -> Iterable[FunctionCheck]:
        """Return the results of comparing the program's Functions with finite differences."""
        return ()

    def precision(self) -> Precision | None:
        """Return the measured rounding errors."""
        return None

    # ---- tensors and operations

    def tensor(self, entry: Entry, label: str) -> TensorRecord:
        call = entry.call
        node = entry.fn
        value, grad, grad_fn_of_grad = self.contents(entry)
        # by position, in the order of the fields: there may be 100,000 of them
        return TensorRecord(
            entry.id,
            entry.names[0] if entry.names else None,
            label,
            self.kind_of(entry),
            None if call is None else self.operator(call),
            None if node is None else self.function_name(node),
            self.function_of(entry),
            entry.is_leaf,
            entry.requires_grad,
            entry.retains,
            entry.id in self.outputs,
            entry.is_parameter,
            value,
            grad,
            grad_fn_of_grad,
            "" if grad is not None else why_none(entry, self.backward_ran),
            None if call is None else self.source.span(call.origin),
            tuple(entry.names),
            None if call is None else call.id,
            entry.version,
            entry.id in self.roots,
            self.earliest.setdefault(id(entry.tensor), entry.id),
            entry.last,
            self.is_current(entry),
            self.update(entry),
            entry.device,
        )

    def kind_of(self, entry: Entry) -> str:
        if not entry.is_leaf:
            return NONLEAF
        if entry.requires_grad:
            return LEAF
        if self.made_by(entry) is not None:
            return RESULT
        return DATA if entry.names else CONSTANT

    def operation(self, call: Call) -> Operation:
        name = self.operator(call)
        node = self.node_of(call)
        operands = self.operands(call, node)
        return Operation(
            call.id,
            name,
            " ".join([name, *[operand.text for operand in operands if operand.tensor is None]]),
            operands,
            tuple([out.id for out in call.outputs if out.id >= 0]),
            None if node is None else self.function_name(node),
            None if node is None else self.function_id(node),
            *self.place(call.origin),
            self.scopes.number(call.scope),
            self.grad_enabled(call),
        )

    def place(self, origin: int) -> tuple[Span | None, str]:
        return self.source.span(origin), self.source.excerpt(origin)

    # ---- backward passes

    def pass_record(self, number: int, event: PassEvent) -> PassRecord:
        return PassRecord(
            number,
            self.ends(event.roots),
            self.vectors(event),
            self.before(event.at),
            event.keep,
            event.create_graph,
            None if event.wanted is None else self.ends(event.wanted),
            event.stores,
            event.error,
            self.source.span(event.origin),
            self.before(event.until),
        )

    def values(self, noted: Sequence[Any]) -> tuple[Value | None, ...]:
        return tuple(map(self.value, noted))

    def step(self, number: int, turn: Turn) -> BackwardStep:
        hooks = [
            HookRun(kind, hook_name(hook), self.value(before), self.value(after), changed)
            for kind, hook, before, after, changed in turn.hooks
        ]
        return BackwardStep(
            number,
            self.function_id(turn.node),
            self.values(turn.upstream),
            self.values(turn.sent),
            self.locals_of(turn),
            turn.freed,
            self.values(turn.arrived),
            tuple(hooks),
            self.value(turn.before),
            self.value(turn.after),
            turn.ran,
            self.before(turn.at),
            tuple(turn.matrices),
        )

    def locals_of(self, turn: Turn) -> tuple[Value | None, ...]:
        """Return the local derivatives noted in a turn, one for each edge."""
        return tuple(turn.locals) or (None,) * len(turn.sent)

    # ---- what else happened

    def escapes(self) -> Iterator[Escape]:
        """Yield the values that left the graph; of a Parameter that was made, both tensors are in
        the trace.
        """
        for event in self.events.escaped:
            tensor = self.tensor_id(event.tensor)
            out = None if event.out is None else self.tensor_id(event.out)
            if event.how != "parameter" or (tensor is not None and out is not None):
                yield Escape(
                    event.how, tensor, self.before(event.at), *self.place(event.origin), out
                )

    def changes(self) -> Iterator[Change]:
        """Yield the writes in place to tensors of the trace."""
        at_call = -1
        before = 0
        for event in self.events.changed:
            tensors, of_grad = self.written(event)
            if event.at != at_call:  # an optimiser's step changes many tensors at once
                at_call = event.at
                before = self.before(event.at)
            if tensors:
                steps = self.steps_before(event.turns)
                operation = self.operation_of(event)
                place = self.place(event.origin)
                yield Change(
                    event.how,
                    tensors,
                    of_grad,
                    before,
                    steps,
                    operation,
                    event.grad_enabled,
                    *place,
                )

    def begun(self) -> Iterator[Begun]:
        """Yield the places where tensors of the trace began to require grad."""
        for event in self.events.begun:
            tensor = self.tensor_id(event.tensor)
            if tensor is not None:
                yield Begun(tensor, self.before(event.at), self.source.span(event.origin))

    def training(self) -> Iterator[TrainingStep]:
        """Yield the steps of a training loop."""
        for number, step in enumerate(self.step_calls(), 1):
            first, last = map(self.before, step.calls)
            roots = self.roots_of(range(*step.passes))
            yield TrainingStep(
                number, (first, last), step.passes, roots, self.source.span(step.origin)
            )

    def optimisers(self) -> Iterator[OptimiserRecord]:
        """Yield the records of the optimisers, with the ids of their tensors' last versions."""
        span = self.source.span
        for held in self.events.optimisers.values():
            yield OptimiserRecord(
                held.kind,
                tuple(i for tensor in held.tensors if (i := self.tensor_id(tensor)) is not None),
                held.count,
                held.lr,
                span(held.origin),
                held.steps,
                held.idle,
                span(held.step_origin) if held.steps else None,
                tuple(held.rates),
                held.options,
            )


def why_none(entry: Entry, backward_ran: bool) -> str:
    """Return the text that explains why a tensor has no gradient."""
    if not entry.last:
        return OVERWRITTEN
    if not entry.requires_grad:
        return "requires_grad is False"
    if not entry.is_leaf and not entry.retains:
        return "non-leaf: not retained (--retain-grad)"
    return "not reached by backward" if backward_ran else "backward was not run"


def hook_name(hook: Any) -> str:
    """Return a hook's name as the program has it; "partial(name)" for a partial."""
    if isinstance(hook, str):
        return hook
    inner = getattr(hook, "func", None)
    if inner is not None:
        return f"partial({hook_name(inner)})"
    return str(getattr(hook, "__name__", type(hook).__name__))
