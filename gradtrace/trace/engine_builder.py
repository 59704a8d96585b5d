"""The builder of a Trace from the live tensors and nodes of a run of gradtrace's own engine."""

from __future__ import annotations

from bisect import bisect_left

from gradtrace.annotations import TYPE_CHECKING, Any, Iterator, Mapping, Sequence
from gradtrace.engine import Tensor
from gradtrace.engine.data.node import AccumulateGrad, Node
from gradtrace.engine.operators.op import lazy
from gradtrace.trace import functions, labels, operands
from gradtrace.trace.builder import Builder
from gradtrace.trace.events import Call, ChangeEvent, Entry, EventStream, PassEvent, Turn
from gradtrace.trace.finite import check_record
from gradtrace.trace.history import former_names, in_trace, is_current
from gradtrace.trace.keeper import storage_of
from gradtrace.trace.record import (
    FunctionCheck,
    FunctionEdge,
    FunctionRecord,
    Group,
    Operand,
    Value,
)
from gradtrace.trace.scopes import Scopes
from gradtrace.trace.values import Contents, frozen

if TYPE_CHECKING:
    from gradtrace.trace.precision import Precision
    from gradtrace.trace.steps import Watch
    from gradtrace.trace.training import StepCalls


class EngineBuilder(Builder):
    """The builder of one trace's records from live tensors and nodes."""

    source: labels.SourceText

    def __init__(
        self,
        run: Any,
        graph: functions.FunctionGraph,
        entries: list[Entry],
        calls: list[Call],
        contents: Contents,
        watch: Watch | None,
    ) -> None:
        source = labels.SourceText(run)
        self.run_functions = getattr(run, "functions", ())
        scopes = Scopes(source, getattr(run, "modules", run.env), self.run_functions)
        super().__init__(source, scopes, EventStream() if watch is None else watch, entries, calls)
        self.env = run.env
        self.run_scopes = getattr(run, "scopes", ())
        self.graph = graph
        self.indices = [call.index for call in calls]
        self.kept_contents = contents
        self.marks = [] if contents.keeper is None else contents.keeper.passes
        self.watch = watch
        self.version_values: dict[int, Value | None] = {}
        self.tensors: dict[int, int] = {}  # by id(tensor): its last version
        self.results: dict[int, list[Entry]] = {}  # by id(node)
        self.accumulators = {
            id(node.variable): i
            for i, node in enumerate(graph.nodes)
            if isinstance(node, AccumulateGrad)
        }
        self.read_values(entries)
        changed = bool(self.events.changed)
        self.owners = Owners(entries if changed else (), self.events.changed)
        self.operation_ids = {index: i for i, index in enumerate(self.indices)} if changed else {}

    @lazy
    def shown(self) -> list[int]:
        """The numbers of the turns that the trace has."""
        return sorted(turn.number for _, turn in self.turns())

    def labels(self) -> list[str]:
        gradients = self.gradient_names()
        return labels.label_all(
            self.entries,
            self.calls,
            self.source,
            self.env,
            gradients,
            self.scopes,
            former_names(self.run_functions),
        )

    def gradient_names(self) -> dict[int, str]:
        """Return the names ("w.grad") of the gradients of named tensors, present ones and those
        used by updates, by id(tensor).
        """
        named = {id(entry.tensor): entry.names[0] for entry in self.entries if entry.names}
        present = [(grad_of(entry.tensor), entry.names[0]) for entry in self.entries if entry.names]
        names = {id(grad): f"{name}.grad" for grad, name in present if grad is not None}
        keeper = self.kept_contents.keeper
        for grad, tensor in keeper.gradients.items() if keeper is not None else ():
            if id(tensor) in named:
                names[grad] = f"{named[id(tensor)]}.grad"
        return names

    def read_values(self, kept: list[Entry]) -> None:
        """Set the Value of each version. Named tensors are kept whole; of the others the earliest
        are summarized first.
        """
        for entry in sorted(kept, key=lambda entry: (not entry.names, -entry.id)):
            if is_current(entry):
                self.version_values[entry.id] = self.kept_contents.of_tensor(
                    entry.tensor, whole=bool(entry.names)
                )
            elif entry.value is not None:
                self.version_values[entry.id] = self.kept_contents.of_version(entry.value)
        for entry in kept:
            self.tensors[id(entry.tensor)] = entry.id
            if entry.fn is not None:
                self.results.setdefault(id(entry.fn), []).append(entry)
        for outputs in self.results.values():
            outputs.sort(key=lambda entry: entry.tensor._nr)

    def value(self, noted: Any) -> Value | None:
        return self.kept_contents.of(noted)

    def contents(self, entry: Entry) -> tuple[Value | None, Value | None, str | None]:
        value = self.version_values.get(entry.id)
        if not entry.last:
            return value, None if entry.value is None else self.value(entry.value.grad), None
        grad = grad_of(entry.tensor)
        if grad is None:
            return value, None, None
        name = None if grad.grad_fn is None else functions.display_name(grad.grad_fn)
        return value, self.kept_contents.of_tensor(grad, whole=bool(entry.names)), name

    def update(self, entry: Entry) -> float | None:
        """Return how far an update moved a leaf, which the keeper noted because it could not keep
        both versions.
        """
        keeper = self.kept_contents.keeper
        if not entry.version or keeper is None or entry.fn is not None:
            return None
        if entry.last:
            return keeper.update_of(entry.tensor)
        return None if entry.value is None else entry.value.update

    def tensor_id(self, tensor: Tensor) -> int | None:
        return self.tensors.get(id(in_trace(tensor)))

    def ends(self, roots: Sequence[tuple[Node, int]]) -> tuple[int, ...]:
        ids = [self.output_of(node, number) for node, number in roots]
        return tuple(i for i in ids if i is not None)

    def output_of(self, node: Node, number: int = 0) -> int | None:
        """Return the id of the tensor that is output `number` of a node; for an AccumulateGrad, of
        its leaf.
        """
        if isinstance(node, AccumulateGrad):
            return self.tensor_id(node.variable)
        outputs = self.results.get(id(node))
        return outputs[min(number, len(outputs) - 1)].id if outputs else None

    def vectors(self, event: PassEvent) -> tuple[Value, ...]:
        return tuple(value for value in map(self.value, event.vectors) if value is not None)

    def function_of(self, entry: Entry) -> int | None:
        if entry.fn is not None:
            return self.function_id(entry.fn)
        leaf = entry.last or (entry.value is not None and entry.value.requires_grad)
        return self.accumulators.get(id(entry.tensor)) if leaf else None

    def function_id(self, node: Node) -> int:
        return self.graph.ids[id(node)]

    def function_name(self, node: Node) -> str:
        return functions.display_name(node)

    def node_of(self, call: Call) -> Node | None:
        return next((out.fn for out in call.outputs if out.id >= 0 and out.fn is not None), None)

    def operator(self, call: Call) -> str:
        return operands.public_name(call.name)

    def operands(self, call: Call, node: Node | None) -> tuple[Operand, ...]:
        return tuple(call_operands(call, edges_of(call, node)))

    def is_current(self, entry: Entry) -> bool:
        return is_current(entry)

    def grad_enabled(self, call: Call) -> bool:
        return self.watch is None or self.watch.grad_modes[call.index]

    def before(self, at: int) -> int:
        return bisect_left(self.indices, at)

    def functions(self) -> Iterator[FunctionRecord]:
        for i, node in enumerate(self.graph.nodes):
            outputs = self.results.get(id(node), [])
            args, ids = _call_of(node, outputs, self.tensors)
            numbers = tuple(out.id for out in outputs)
            span = None if isinstance(node, AccumulateGrad) else self.source.span(node.origin)
            custom = None if self.watch is None else self.watch.saved.get(id(node))
            record = functions.function_record(i, node, numbers, args, ids, span, custom)
            yield record._replace(saved=record.saved + functions.watched(node, self.tensors))

    def edges(self) -> tuple[FunctionEdge, ...]:
        return functions.edges(self.graph)

    # ---- what a watcher noted

    def turns(self) -> list[tuple[int, Turn]]:
        """Return the turns of nodes in the trace that ran, or whose gradient autograd.grad
        returned.
        """
        return [
            (number, turn)
            for number, turn in super().turns()
            if id(turn.node) in self.graph.ids and (turn.ran or self.is_wanted(number, turn))
        ]

    def is_wanted(self, number: int, turn: Turn) -> bool:
        return any(node is turn.node for node, _ in self.events.passes[number].wanted or ())

    def locals_of(self, turn: Turn) -> tuple[Value | None, ...]:
        if (
            turn.node.op is None
            and len(turn.upstream) == 1
            and not isinstance(turn.node, AccumulateGrad)
        ):
            received = self.value(turn.upstream[0])
            return tuple(quotient(received, self.value(sent)) for sent in turn.sent)
        return super().locals_of(turn)

    def written(self, event: ChangeEvent) -> tuple[Group, bool]:
        return self.owners.written(event)

    def operation_of(self, event: ChangeEvent) -> int | None:
        return self.operation_ids.get(event.at)

    def steps_before(self, turns: int) -> int:
        return bisect_left(self.shown, turns)

    def step_calls(self) -> Sequence[StepCalls]:
        keeper = self.kept_contents.keeper
        if len(self.marks) < 2 or keeper is None:
            return ()
        from gradtrace.trace.training import steps_of

        return steps_of(keeper, self.run_scopes)

    def roots_of(self, passes: Sequence[int]) -> tuple[int, ...]:
        nodes = [id(node) for number in passes for node, _ in self.marks[number].roots or ()]
        return tuple(self.results[node][0].id for node in nodes if node in self.results)

    def checks(self) -> Iterator[FunctionCheck]:
        for name, (origin, outcome) in self.watch.checks.items() if self.watch is not None else ():
            yield check_record(
                name,
                self.source.span(origin),
                outcome if isinstance(outcome, str) else outcome.wrong,
            )

    def precision(self) -> Precision | None:
        return None if self.watch is None else self.watch.precision(self)


class Owners:
    """The versions of tensors by what a change may have written to: a tensor, a storage, or a
    gradient's storage.
    """

    def __init__(self, entries: Sequence[Entry], changes: Sequence[ChangeEvent]) -> None:
        self.tensors: dict[int, list[int]] = {}
        self.storages: dict[int, list[int]] = {}
        self.grads: dict[int, list[int]] = {}
        # one for each list: a long loop makes thousands of versions
        self.groups: dict[int, Group] = {}
        for entry in entries:
            tensor = entry.tensor
            self.tensors.setdefault(id(tensor), []).append(entry.id)
            self.storages.setdefault(id(storage_of(tensor._data)), []).append(entry.id)
            grad = grad_of(tensor)
            if grad is not None:
                self.grads.setdefault(id(storage_of(grad._data)), []).append(entry.id)
                self.grads.setdefault(id(grad), []).append(entry.id)
        # a tensor and a storage that it had until `.data` was set, and has not again
        self.former = {
            (id(tensor), id(storage))
            for tensor, storage, _ in (event.tensors for event in changes if event.how == "data")
            if storage_of(tensor._data) is not storage
        }

    def written(self, event: ChangeEvent) -> tuple[Group, bool]:
        """Return the ids of the tensors that a change wrote to, and whether it wrote to their
        gradients.
        """
        tensor, storage, leaf = event.tensors
        of_storage: list[int] = []
        owners = self.grads.get(id(tensor), [])
        if storage is not None:
            owners = owners or self.grads.get(id(storage), [])
            if (id(tensor), id(storage)) not in self.former:
                of_storage = self.storages.get(id(storage), [])
        if leaf is not None:
            owners = owners or self.tensors.get(id(leaf), [])
        ids = owners or of_storage or self.tensors.get(id(tensor), [])
        if id(ids) not in self.groups:
            self.groups[id(ids)] = tuple(ids)
        return self.groups[id(ids)], bool(owners) or event.of_grad


def _call_of(
    node: Node, outputs: list[Entry], ids: dict[int, int]
) -> tuple[tuple[Any, ...] | None, dict[int, int]]:
    """The arguments of the call that made a node, and the ids of tensors as that call saw them."""
    for entry in outputs:
        call = entry.call
        if call is not None and node.op is not None and call.name.removesuffix("_") == node.op.name:
            return call.args, {key: used.id for key, used in call.inputs.items()}
    return None, ids


def edges_of(call: Call, fn: Node | None) -> dict[int, int]:
    """Return the index in next_functions of each argument by its position; of a sequence of
    tensors, that of its first one.
    """
    if fn is None:
        return {}
    if fn.op is None:  # a custom Function has an edge for each tensor
        tensors = [i for i, value in enumerate(call.args) if isinstance(value, Tensor)]
        return {position: place for place, position in enumerate(tensors)}
    if fn.op.name != call.name.removesuffix("_"):
        return {}
    return FIRST if fn.op.variadic else places(fn.op.arity)


FIRST = {0: 0}
_places: dict[int, dict[int, int]] = {}


def places(count: int) -> dict[int, int]:
    """Return {0: 0, 1: 1, ...}: each of `count` operands has the edge with its own position."""
    edges = _places.get(count)
    if edges is None:
        edges = _places[count] = {position: position for position in range(count)}
    return edges


def call_operands(call: Call, edges: Mapping[int, int] | None = None) -> Iterator[Operand]:
    """Yield the operands as the source shows them: tensors (x twice for x*x), then the constants
    worth showing.
    """
    names, arity = operands.parameters(call.name, len(call.args))
    place = 0
    for position in operands.reading_order(call.name, call.args):
        value = call.args[position]
        name = names[position]
        if type(value) is Tensor:  # by far the most of them
            yield Operand(
                call.inputs[id(value)].id,
                "",
                place,
                name,
                None if edges is None else edges.get(position),
            )
            place += 1
            continue
        tensors = operands.tensors_in(value)
        first = None if edges is None else edges.get(position)
        for i, tensor in enumerate(tensors):
            yield Operand(
                call.inputs[id(tensor)].id, "", place, name, None if first is None else first + i
            )
            place += 1
        if tensors and operands.all_tensors(value):
            continue
        if operands.is_option(name, position, arity):
            if not operands.is_silent(name, value):
                yield Operand(None, operands.option_text(name, value), place, name)
                place += 1
        elif not tensors and value is not None:
            yield Operand(None, operands.constant_text(value), place, name)
            place += 1


def grad_of(tensor: Tensor) -> Tensor | None:
    """`.grad` without the warning that reading it on a non-leaf gives."""
    return None if tensor._x is None else tensor._x.grad


def quotient(got: Value | None, sent: Value | None) -> Value | None:
    """Return the factor by which a Function of the program multiplied its gradient, elementwise;
    None if it is not known.

    The derivative of such a Function cannot be read from a rule, so it is measured: the gradient
    sent divided by the one received. Where that one has a zero, nothing can be measured.
    """
    if got is None or sent is None or got.shape != sent.shape or not got.is_float:
        return None
    if not got.is_whole or not sent.is_whole or got.zeros:
        return None
    return frozen(sent.data / got.data + 0.0)  # -0 is 0
