"""The builder of a Trace from a recorder's events, and the rules that all recorders share."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Iterable, Iterator, Sequence
from gradtrace.trace.events import hook_name
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
    ClipRecord,
    Escape,
    FunctionCheck,
    FunctionEdge,
    FunctionRecord,
    Group,
    GroupRecord,
    HookRecord,
    HookRun,
    Operand,
    Operation,
    OptimiserRecord,
    PassRecord,
    ScalingRecord,
    ScheduleRecord,
    Span,
    StepMark,
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
        self.retained_by = "--retain-grad"  # what keeps the gradient of a non-leaf
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
            clips=tuple(self.clips()),
            hooks=tuple(self.hooks()),
            schedules=tuple(self.schedules()),
            scalings=tuple(self.scalings()),
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
            "" if grad is not None else why_none(entry, self.backward_ran, self.retained_by),
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
        numbers = self.optimiser_numbers()
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
                    numbers.get(id(event.optimiser)),
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
            span = self.source.span(step.origin)
            yield TrainingStep(number, (first, last), step.passes, roots, span, step.variables)

    def optimisers(self) -> Iterator[OptimiserRecord]:
        """Yield the records of the optimisers, with the ids of their tensors' last versions."""
        span = self.source.span
        for held in self.events.optimisers.values():
            groups = [
                GroupRecord(self.ids(group.tensors), group.lr, tuple(group.rates), group.options)
                for group in held.groups
            ]
            yield OptimiserRecord(
                held.kind,
                tuple(i for group in groups for i in group.tensors),
                held.count,
                held.lr,
                span(held.origin),
                len(held.marks),
                sum(is_idle for _, _, is_idle, _ in held.marks),
                span(held.marks[0][3]) if held.marks else None,
                tuple(held.rates),
                held.options,
                tuple(groups),
                tuple(
                    StepMark(*self.moment(at, turns), is_idle, span(origin))
                    for at, turns, is_idle, origin in held.marks
                ),
            )

    def optimiser_numbers(self) -> dict[int, int]:
        """Return the index of each optimiser, by id() of what was noted of it."""
        return {id(held): i for i, held in enumerate(self.events.optimisers.values())}

    def moment(self, at: int, turns: int) -> tuple[int, int]:
        """Return how many of the trace's operations and backward steps ran before."""
        return self.before(at), self.steps_before(turns)

    def ids(self, tensors: Iterable[Any]) -> Group:
        """Return the ids of tensors that events refer to, of those that are in the trace."""
        return tuple(i for tensor in tensors if (i := self.tensor_id(tensor)) is not None)

    def clips(self) -> Iterator[ClipRecord]:
        """Yield the calls that clipped gradients; events that share their tensors share the ids."""
        groups: dict[int, Group] = {}
        for event in self.events.clips:
            key = id(event.tensors)
            if key not in groups:
                groups[key] = self.ids(event.tensors)
            norm = self.value(event.norm)
            yield ClipRecord(
                event.how,
                groups[key],
                len(event.tensors),
                event.limit,
                None if norm is None or norm.shape or norm.elements is None else float(norm.data),
                *self.moment(event.at, event.turns),
                self.source.span(event.origin),
            )

    def hooks(self) -> Iterator[HookRecord]:
        """Yield the hooks that were registered."""
        for event in self.events.hooks.values():
            yield HookRecord(
                event.kind,
                event.name,
                None if event.tensor is None else self.tensor_id(event.tensor),
                "" if event.subject is None else self.scopes.module_name(event),
                self.before(event.at),
                None if event.removed is None else self.before(event.removed),
                self.source.span(event.origin),
            )

    def schedules(self) -> Iterator[ScheduleRecord]:
        """Yield the schedules of learning rates, without those that only another one calls."""
        span = self.source.span
        numbers = self.optimiser_numbers()
        for schedule in self.events.schedules:
            if not schedule.is_inner:
                yield ScheduleRecord(
                    schedule.kind,
                    numbers.get(id(schedule.optimiser)),
                    span(schedule.origin),
                    tuple(self.moment(*step) for step in schedule.steps),
                    span(schedule.step_origin),
                )

    def scalings(self) -> Iterator[ScalingRecord]:
        """Yield the calls of a GradScaler's methods."""
        for how, at, turns, origin in self.events.scalings:
            yield ScalingRecord(how, *self.moment(at, turns), self.source.span(origin))


def why_none(entry: Entry, backward_ran: bool, retained_by: str) -> str:
    """Return the text that explains why a tensor has no gradient."""
    if not entry.last:
        return OVERWRITTEN
    if not entry.requires_grad:
        return "requires_grad is False"
    if not backward_ran:
        return "backward was not run"
    if not entry.is_leaf and not entry.retains:
        return f"non-leaf: not retained ({retained_by})"
    return "not reached by backward"
