"""Convert a finished run's live tensors and nodes to a Trace.

    trace = capture(run, roots)

`history` reads what the run recorded and selects what is relevant; this module makes immutable records of it.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Iterator, Mapping, Sequence
from gradtrace.engine import Tensor
from gradtrace.engine.data.node import AccumulateGrad, Node
from gradtrace.trace import functions, labels, operands
from gradtrace.trace.builder import Builder
from gradtrace.trace.history import Call, Entry, History, bound_names, in_trace, relevant
from gradtrace.trace.keeper import Keeper
from gradtrace.trace.record import FunctionRecord, Operand, Trace, Value
from gradtrace.trace.scopes import Scopes
from gradtrace.trace.values import Contents

if TYPE_CHECKING:
    from gradtrace.trace.events import PassEvent
    from gradtrace.trace.steps import Watch


def capture(
    run: Any,
    roots: Sequence[Tensor] = (),
    backward_runs: int = 0,
    *,
    inputs: Mapping[str, Tensor] | None = None,
    everything: bool = False,
    watch: Watch | None = None,
    gradients: bool = False,
    final: bool = False,
) -> Trace:
    """Return the Trace of `run` (which ran with `record=Keeper`), after all its backward passes.

    `roots` are the tensors that backward started from; `inputs` the run's named input tensors, which come first.
    The trace has the tensors that the roots, the outputs and the variables were computed from; with `everything`, all.
    `watch` is the watcher of the run's backward passes, from which the trace's steps are made. With `gradients` the
    trace also has the leaves' gradients that have a history of their own (create_graph), as "w.grad". `final` says that
    the run's tensors will not be used any more, so that arrays need not be copied.
    """
    captured = Captured(run, roots, inputs, gradients)
    return captured.trace(backward_runs, everything=everything, watch=watch, final=final)


class Captured:
    """The history of a finished run, from which several traces are made, each with fewer tensors than the one
    before.
    """

    def __init__(
        self, run: Any, roots: Sequence[Tensor], inputs: Mapping[str, Tensor] | None, gradients: bool = False
    ) -> None:
        variables = inputs if inputs is not None else getattr(run, "inputs", None) or {}
        outputs = [tensor for _, tensor in run.outputs if isinstance(tensor, Tensor)]
        starts = roots or [run.root] if isinstance(run.root, Tensor) else roots
        self.run = run
        self.keeper = getattr(run, "keeper", None)
        history = self.history = History(run.records or (), getattr(run, "scopes", ()), self.keeper)
        history.add_inputs(variables)
        bound = list(bound_names(run.env))
        history.read(bound)
        history.add_names(bound)
        derived = derived_gradients([*variables.items(), *bound]) if gradients else []
        for name, gradient in derived:
            entry = history.entry(gradient)
            entry.names = entry.names or [name]
        for tensor in (*starts, *outputs):
            history.entry(tensor)
        history.find_functions()
        self.results = [history.entry(tensor) for tensor in starts]
        self.roots = called_on(self.keeper, history.entries) or self.results
        self.outputs = [history.entry(tensor) for tensor in outputs]

    def trace(
        self,
        backward_runs: int,
        *,
        everything: bool = False,
        watch: Watch | None = None,
        final: bool = True,
        whole: Trace | None = None,
    ) -> Trace:
        """Return a trace of the run; return `whole`, the trace with everything, if it would have the same tensors."""
        entries = self.history.entries
        ends = [*self.roots, *self.results, *self.outputs]
        if watch is not None:  # loss_fn(...).backward(): backward began at a tensor that has no name
            beginnings = watch.beginnings
            ends += [entry for entry in entries if entry.fn in beginnings]
        kept = entries if everything else relevant(self.history, ends)
        if whole is not None and len(kept) == len(entries):
            return whole
        for entry in entries:
            entry.id = -1
        shown = self.outputs or self.roots
        return freeze(self.run, self.history, kept, self.roots, shown, backward_runs, self.contents(final), watch)

    def contents(self, final: bool) -> Contents:
        """Return an object that makes the Values of a trace."""
        return Contents(self.keeper, final)


def called_on(keeper: Keeper | None, entries: list[Entry]) -> list[Entry]:
    """Return the tensors that the last backward which stores gradients was called on; [] without one."""
    mark = (
        next((candidate for candidate in reversed(keeper.passes) if candidate.stores), None)
        if keeper is not None
        else None
    )
    called = []
    for node, number in mark.roots or () if mark is not None else ():
        leaf = node.variable if isinstance(node, AccumulateGrad) else None
        same = (e for e in reversed(entries) if (e.fn is node if leaf is None else e.tensor is leaf))
        called += [e for e in same if leaf is not None or e.tensor._nr == number][:1]
    return called


def derived_gradients(named: Sequence[tuple[str, Any]]) -> list[tuple[str, Tensor]]:
    """Return the gradients that have a grad_fn, each once."""
    gradients: dict[int, tuple[str, Tensor]] = {}
    for name, tensor in named:
        grad = grad_of(tensor) if isinstance(tensor, Tensor) else None
        if grad is not None and grad.grad_fn is not None:
            gradients.setdefault(id(grad), (f"{name}.grad", grad))
    return list(gradients.values())


def freeze(
    run: Any,
    history: History,
    kept: list[Entry],
    roots: list[Entry],
    outputs: list[Entry],
    backward_runs: int,
    contents: Contents,
    watch: Watch | None = None,
) -> Trace:
    """Return the Trace with the records of the kept entries."""
    for i, entry in enumerate(kept):
        entry.id = i
    calls = [call for call in history.calls if is_kept(call)]
    for i, call in enumerate(calls):
        call.id = i
    leaves = [] if watch is None else watch.leaves_begun_at  # a pass that began at a leaf has no other node
    whole = kept is history.entries and not leaves
    graph = history.graph if whole else functions.walk([*(entry.fn for entry in kept), *leaves])
    builder = RecordBuilder(run, graph, calls, contents, watch)
    builder.roots, builder.outputs = {entry.id for entry in roots}, {entry.id for entry in outputs}
    builder.read_values(kept)
    builder.backward_ran = backward_runs > 0 or any(grad_of(entry.tensor) is not None for entry in kept)
    source, scopes, keeper = builder.source, builder.scopes, contents.keeper
    texts = labels.label_all(kept, calls, source, run.env, gradient_names(kept, history.keeper), scopes)
    trace = Trace(
        source.name,
        source.text,
        tuple(map(builder.tensor, kept, texts)),
        tuple(map(builder.operation, calls)),
        builder.functions(),
        functions.edges(graph),
        tuple(dict.fromkeys(entry.id for entry in roots)),
        tuple(dict.fromkeys(entry.id for entry in outputs)),
        backward_runs,
        tuple((name, entry.id) for entry in kept for name in entry.names),
        tuple(scopes.records),
        files=tuple(source.files),
    )
    if watch is not None:
        from gradtrace.trace.watched import watched_fields

        trace = trace._replace(**watched_fields(builder, watch, kept))
    if keeper is None or len(keeper.passes) < 2:
        return trace
    from gradtrace.trace.training import training_steps

    return trace._replace(training=training_steps(keeper, getattr(run, "scopes", ()), builder))


def gradient_names(kept: list[Entry], keeper: Keeper | None) -> dict[int, str]:
    """Return the names ("w.grad") of the gradients of named tensors, present ones and those used by updates, by
    id(tensor).
    """
    named = {id(entry.tensor): entry.names[0] for entry in kept if entry.names}
    of_now = [(grad_of(entry.tensor), entry.names[0]) for entry in kept if entry.names]
    names = {id(grad): f"{name}.grad" for grad, name in of_now if grad is not None}
    for grad, tensor in keeper.gradients.items() if keeper is not None else ():
        if id(tensor) in named:
            names[grad] = f"{named[id(tensor)]}.grad"
    return names


def is_kept(call: Call) -> bool:
    """Whether any result of a call is part of the trace."""
    return any(out.id >= 0 for out in call.outputs)


class RecordBuilder(Builder):
    """The builder of one trace's records from live tensors and nodes."""

    def __init__(
        self, run: Any, graph: functions.FunctionGraph, calls: Sequence[Call], contents: Contents, watch: Watch | None
    ) -> None:
        super().__init__()
        self.source = labels.SourceText(run)
        self.scopes = Scopes(self.source, getattr(run, "modules", run.env))
        self.graph = graph
        self.indices = [call.index for call in calls]
        self.kept_contents = contents
        self.watch = watch
        self.values: dict[int, Value | None] = {}
        self.tensors: dict[int, int] = {}  # by id(tensor): its last version
        self.results: dict[int, list[Entry]] = {}  # by id(node)
        self.accumulators = {
            id(node.variable): i for i, node in enumerate(graph.nodes) if isinstance(node, AccumulateGrad)
        }

    def read_values(self, kept: list[Entry]) -> None:
        """Set the Value of each version. Named tensors are kept whole; of the others the earliest are summarized
        first.
        """
        for entry in sorted(kept, key=lambda entry: (not entry.names, -entry.id)):
            if entry.is_current:
                self.values[entry.id] = self.kept_contents.of_tensor(entry.tensor, whole=bool(entry.names))
            elif entry.held is not None:
                self.values[entry.id] = self.kept_contents.of_version(entry.held)
        for entry in kept:
            self.tensors[id(entry.tensor)] = entry.id
            if entry.fn is not None:
                self.results.setdefault(id(entry.fn), []).append(entry)
        for outputs in self.results.values():
            outputs.sort(key=lambda entry: entry.tensor._nr)

    def value(self, noted: Any) -> Value | None:
        return self.kept_contents.of(noted)

    def contents(self, entry: Entry) -> tuple[Value | None, Value | None, str | None]:
        value, held = self.values.get(entry.id), entry.held
        if not entry.last:
            return value, None if held is None else self.value(held.grad), None
        grad = grad_of(entry.tensor)
        if grad is None:
            return value, None, None
        name = None if grad.grad_fn is None else functions.display_name(grad.grad_fn)
        return value, self.kept_contents.of_tensor(grad, whole=bool(entry.names)), name

    def update(self, entry: Entry) -> float | None:
        """Return how far an update moved a leaf, which the keeper noted because it could not keep both versions."""
        keeper = self.kept_contents.keeper
        if not entry.version or keeper is None or entry.fn is not None:
            return None
        if entry.last:
            return keeper.update_of(entry.tensor)
        return None if entry.held is None else entry.held.update

    def tensor_id(self, tensor: Tensor) -> int | None:
        return self.tensors.get(id(in_trace(tensor)))

    def ends(self, roots: Sequence[tuple[Node, int]]) -> tuple[int, ...]:
        ids = [self.output_of(node, number) for node, number in roots]
        return tuple(i for i in ids if i is not None)

    def output_of(self, node: Node, number: int = 0) -> int | None:
        """Return the id of the tensor that is output `number` of a node; for an AccumulateGrad, of its leaf."""
        if isinstance(node, AccumulateGrad):
            return self.tensor_id(node.variable)
        outputs = self.results.get(id(node))
        return outputs[min(number, len(outputs) - 1)].id if outputs else None

    def vectors(self, event: PassEvent) -> tuple[Value, ...]:
        return tuple(value for value in map(self.value, event.vectors) if value is not None)

    def function_of(self, entry: Entry) -> int | None:
        if entry.fn is not None:
            return self.function_id(entry.fn)
        leaf = entry.last or (entry.held is not None and entry.held.requires_grad)
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

    def scope(self, call: Call) -> int | None:
        return self.scopes.number(call.scope)

    def grad_enabled(self, call: Call) -> bool:
        return self.watch is None or self.watch.grad_modes[call.index]

    def before(self, at: int) -> int:
        from bisect import bisect_left

        return bisect_left(self.indices, at)

    def functions(self) -> tuple[FunctionRecord, ...]:
        records = []
        for i, node in enumerate(self.graph.nodes):
            outputs = self.results.get(id(node), [])
            args, ids = _call_of(node, outputs, self.tensors)
            numbers = tuple(out.id for out in outputs)
            span = None if isinstance(node, AccumulateGrad) else self.source.span(node.origin)
            custom = None if self.watch is None else self.watch.saved.get(id(node))
            record = functions.function_record(i, node, numbers, args, ids, span, custom)
            records.append(record._replace(saved=record.saved + functions.watched(node, self.tensors)))
        return tuple(records)


def _call_of(node: Node, outputs: list[Entry], ids: dict[int, int]) -> tuple[tuple[Any, ...] | None, dict[int, int]]:
    """The arguments of the call that made a node, and the ids of tensors as that call saw them."""
    for entry in outputs:
        call = entry.call
        if call is not None and node.op is not None and call.name.removesuffix("_") == node.op.name:
            return call.args, {key: used.id for key, used in call.inputs.items()}
    return None, ids


def edges_of(call: Call, fn: Node | None) -> dict[int, int]:
    """Return the index in next_functions of each argument by its position; of a sequence of tensors, that of its first
    one.
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
    """Yield the operands as the source shows them: tensors (x twice for x*x), then the constants worth showing."""
    names, arity = operands.parameters(call.name, len(call.args))
    place = 0
    for position in operands.reading_order(call.name, call.args):
        value, name = call.args[position], names[position]
        if type(value) is Tensor:  # by far the most of them
            yield Operand(call.inputs[id(value)].id, "", place, name, None if edges is None else edges.get(position))
            place += 1
            continue
        tensors = operands.tensors_in(value)
        first = None if edges is None else edges.get(position)
        for i, tensor in enumerate(tensors):
            yield Operand(call.inputs[id(tensor)].id, "", place, name, None if first is None else first + i)
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
