"""Build a Trace from a recorder's notes: ids in the order of creation, edges, labels, steps of a training loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch

from gradtrace.torch import contents, names, optimizers, private
from gradtrace.torch.contents import value_of
from gradtrace.torch.events import Call, Entry, Known, Node
from gradtrace.torch.iterations import iterations
from gradtrace.torch.operands import call_label, call_operands
from gradtrace.trace import labels
from gradtrace.trace.record import (
    CONSTANT,
    DATA,
    LEAF,
    NONLEAF,
    RESULT,
    BackwardStep,
    Begun,
    Change,
    Escape,
    Failure,
    FunctionEdge,
    FunctionRecord,
    HookRun,
    Operation,
    PassRecord,
    SavedRecord,
    ScopeRecord,
    TensorRecord,
    Trace,
    TrainingStep,
)

if TYPE_CHECKING:
    from gradtrace.torch.places import SpanTable
    from gradtrace.torch.recorder import Recorder

ENGINE = f"torch {torch.__version__.partition('+')[0]}"


class Ending:
    """The facts about the live program at the end of its recording. `Builder` reads the program only through these."""

    def __init__(self, rec: Recorder, env: Mapping[str, Any], failure: tuple[str, str, int] | None) -> None:
        self.rec = rec
        self.failure = failure
        for known in list(rec.known.values()):
            tensor = known.ref()
            if tensor is not None:
                rec.entry(tensor)
                rec.check_contents(tensor, known)
        self.paths = names.bind(rec, env)
        self.modules = {key for key, value in env.items() if isinstance(value, ModuleType)}
        self.grads: dict[int, Any] = {}
        self.grad_fns: dict[int, str] = {}
        self.last_of_all()
        self.gradients = self.gradient_names()
        self.scope_paths = [self.path_of(scope.what) for scope in rec.scopes]
        optimizers.end(rec)
        rec.known.clear()
        rec.storages.clear()

    def path_of(self, what: Any) -> str:
        module = None if what is None else what()
        return "" if module is None else self.paths.get(id(module), "")

    def last_of_all(self) -> None:
        """Note the last version of every tensor that still exists, and its gradient."""
        rec = self.rec
        for known in list(rec.known.values()):
            tensor = known.ref()
            if tensor is None:
                continue
            entry = rec.entry(tensor)
            entry.retains = private.retains_grad(tensor)
            gradient = private.kept_gradient(tensor)
            if gradient is not None:
                self.grads[entry.number] = rec.note_of_gradient(known, gradient)
                if gradient.grad_fn is not None:
                    self.grad_fns[entry.number] = gradient.grad_fn.name().rpartition("::")[2]

    def gradient_names(self) -> dict[Known, str]:
        """Return the names ("w.grad") of gradients that operations used."""
        found = names.gradients(self.rec.entries)
        tensors = ((known, known.ref()) for known in self.rec.known.values())
        return {known: found[id(t)] for known, t in tensors if t is not None and id(t) in found}


class Builder:
    """The builder of a Trace from the recorder's notes."""

    def __init__(self, ending: Ending, main: str, rank: int | None = None) -> None:
        self.ending = ending
        self.rec = ending.rec
        self.rank = rank
        self.start: Entry | None = None  # where the graph begins, if nothing was recorded but that
        self.spans: SpanTable = self.rec.places.spans(main)

    def build(self) -> Trace:
        rec, spans = self.rec, self.spans
        self.fetch()
        for i, entry in enumerate(rec.entries):
            entry.id = i
        self.roots = {entry.id for one in rec.passes[-1:] for entry in one.roots} or self.last_result()
        if self.start is not None:
            self.roots = {self.start.id}
        self.order_nodes()
        texts = self.labels()
        tensors = tuple(self.tensor(entry, text) for entry, text in zip(rec.entries, texts, strict=True))
        operations = tuple(map(self.operation, rec.calls))
        functions = tuple(self.function(i) for i in self.order)
        roots = tuple(sorted(self.roots))
        turns = sorted(rec.turns, key=lambda turn: turn.number)
        fields: dict[str, Any] = {
            "scopes": tuple(self.scope(i) for i in range(len(rec.scopes))),
            "steps": tuple(map(self.step, turns)),
            "passes": tuple(map(self.one_pass, rec.passes)),
            "escapes": tuple(map(self.escape, rec.escapes)),
            "changes": tuple(map(self.change, rec.changes)),
            "begun": tuple(Begun(entry.id, after, spans.span(place)) for entry, after, place in rec.begun),
            "failure": self.failure(),
            "training": self.training(),
            "optimisers": optimizers.records(rec, spans),
        }
        named = tuple((name, entry.id) for entry in rec.entries for name in entry.names)
        edges = self.edges()
        return Trace(
            spans.name,
            spans.text,
            tensors,
            operations,
            functions,
            edges,
            roots,
            roots,
            len(rec.passes),
            named,
            **fields,
            files=spans.files,
            engine=ENGINE,
            left_out=self.left_out(),
            rank=self.rank,
        )

    def fetch(self) -> None:
        """Copy everything from other devices to the CPU at once."""
        rec = self.rec
        noted = [e.value for e in rec.entries] + [e.grad for e in rec.entries] + list(self.ending.grads.values())
        for turn in rec.turns:
            noted += [*turn.upstream, *turn.sent, turn.before, turn.after]
            noted += [value for run in turn.hooks for value in run[2:4]]
        noted += [v for one in rec.passes for v in one.vectors]
        contents.fetch([one for one in noted if one is not None])

    def last_result(self) -> set[int]:
        """Return the last result, as the root of a program without backward."""
        made = [entry for call in self.rec.calls for entry in call.outputs if entry.last]
        named = [entry for entry in made if entry.names and entry.requires_grad]
        return {(named or made)[-1].id} if made else set()

    # ---- labels

    def labels(self) -> list[str]:
        rec, spans = self.rec, self.spans
        texts = labels.expression_texts(rec.calls, spans, self)  # type: ignore[arg-type]
        env = dict.fromkeys(self.ending.modules, torch)
        constants = labels.constant_texts(rec.entries, rec.calls, texts, spans, env)  # type: ignore[arg-type]
        for file in list({rec.places.instruction(call.origin)[0].co_filename for call in rec.calls if call.origin}):
            spans.file(file)
        variables = names.assigned(spans)
        for call in rec.calls:
            code = rec.places.instruction(call.origin)[0]
            if code is None or code.co_name == "<module>" or texts.get(id_of(call)) != spans.excerpt(call.origin):
                continue
            span = spans.span(call.origin)
            name = None if span is None else variables.get((span.file, *span[:4]))
            if name is not None:
                texts[id_of(call)] = name
        gradients = {id_of(known): name for known, name in self.ending.gradients.items()}
        return labels.numbered_labels(rec.entries, texts, constants, gradients)

    def called_modules(self, call: Any) -> list[tuple[int, str]]:
        """Return the modules that the call's expression called and that contain the call: numbers and names, innermost
        first.
        """
        found = []
        at = call.scope
        while at is not None and self.rec.scopes[at].origin == call.origin:
            scope = self.rec.scopes[at]
            if scope.kind == "module":
                found.append((at, self.ending.scope_paths[at] or scope.name or scope.detail))
            at = scope.parent
        return found

    # ---- tensors

    def tensor(self, entry: Entry, label: str) -> TensorRecord:
        call = entry.call
        requires = entry.requires_grad
        is_leaf = entry.is_leaf
        grad = value_of(self.ending.grads.get(entry.number) if entry.last else entry.grad)
        made = call or entry.tensor.first.call  # of a version that was written unseen, what made the first one
        kind = LEAF if requires else RESULT if made is not None else DATA if entry.names else CONSTANT
        function = entry.fn if not is_leaf else self.rec.accumulators.get(entry.tensor)
        return TensorRecord(
            entry.id,
            entry.names[0] if entry.names else None,
            label,
            kind if is_leaf else NONLEAF,
            None if call is None else call.name,
            entry.fn_name or None,
            None if function is None else self.new[function],
            is_leaf,
            requires,
            entry.retains,
            entry.id in self.roots,
            entry.is_parameter,
            value_of(entry.value),
            grad,
            self.ending.grad_fns.get(entry.number),
            "" if grad is not None else self.note(entry),
            None if call is None else self.spans.span(call.origin),
            entry.names,
            None if call is None else call.index,
            entry.version,
            entry.id in self.roots,
            entry.tensor.first.id,
            entry.last,
            entry.last,
            None,
            entry.device,
        )

    def note(self, entry: Entry) -> str:
        """Return why a gradient is None."""
        if not entry.last:
            return "overwritten in place"
        if not entry.requires_grad:
            return "requires_grad is False"
        if not entry.is_leaf and not entry.retains:
            return "non-leaf: not retained (--retain-grad)"
        stored = any(one.stores for one in self.rec.passes)
        return "not reached by backward" if stored else "backward was not run"

    # ---- operations

    def operation(self, call: Call) -> Operation:
        operands = call_operands(call, self.edge_of)
        fn = None if call.fn is None else self.rec.nodes[call.fn].name
        return Operation(
            call.index,
            call.name,
            call_label(call, operands),
            operands,
            tuple(entry.id for entry in call.outputs),
            fn,
            None if call.fn is None else self.new[call.fn],
            self.spans.span(call.origin),
            self.spans.excerpt(call.origin),
            call.scope,
            call.grad_enabled,
        )

    def edge_of(self, call: Call, entry: Entry, taken: set[int]) -> int | None:
        """Return the edge that carries an operand's gradient from a call's node, maybe through helper nodes
        (TBackward0).
        """
        if call.fn is None or not entry.requires_grad:
            return None
        target = entry.fn if not entry.is_leaf else self.rec.accumulators.get(entry.tensor)
        if target is None:
            return None
        for number, edge in enumerate(self.rec.nodes[call.fn].edges):
            if edge is not None and number not in taken and self.leads(edge[0], target, call, 0):
                taken.add(number)
                return number
        return None

    def leads(self, index: int, target: int, call: Call, depth: int) -> bool:
        if index == target:
            return True
        node = self.rec.nodes[index]
        helper = node.call is call and not node.outputs and depth < 8
        return helper and any(e is not None and self.leads(e[0], target, call, depth + 1) for e in node.edges)

    # ---- functions

    def order_nodes(self) -> None:
        nodes = self.rec.nodes
        own = [i for i, node in enumerate(nodes) if node.variable is None]
        self.order = sorted(own, key=lambda i: (nodes[i].sequence, i))
        self.order += [i for i, node in enumerate(nodes) if node.variable is not None]
        self.new = {old: new for new, old in enumerate(self.order)}

    def function(self, index: int) -> FunctionRecord:
        node = self.rec.nodes[index]
        new = self.new[index]
        saved = tuple(SavedRecord(name, *self.saved(node, name, held, text)) for name, held, text in node.saved)
        variable = None if node.variable is None else node.variable.last.id
        freed = any(turn.freed for turn in self.turns_of(index))
        outputs = tuple(entry.id for entry in node.outputs)
        return FunctionRecord(new, node.name, new, outputs, variable, saved, freed, self.spans.span(node.origin))

    def turns_of(self, index: int) -> Sequence[Any]:
        if not hasattr(self, "_turns"):
            self._turns: dict[int, list[Any]] = {}
            for turn in self.rec.turns:
                self._turns.setdefault(turn.node, []).append(turn)
        return self._turns.get(index, ())

    def saved(self, node: Node, name: str, held: Any, text: str) -> tuple[int | None, str]:
        """Return the id of a saved tensor: the node's own result, or the operand that it is a view of (a transposed
        weight).
        """
        if isinstance(held, Entry):
            return held.id, ""
        if held is not None:
            operands = () if node.call is None else node.call.inputs.values()
            for entry in (*node.outputs, *operands):
                if entry.tensor.storage == held:
                    return entry.id, ""
        return None, text

    def edges(self) -> tuple[FunctionEdge, ...]:
        found = []
        for old in self.order:
            for number, edge in enumerate(self.rec.nodes[old].edges):
                if edge is not None:
                    found.append(FunctionEdge(self.new[old], self.new[edge[0]], number, edge[1]))
        return tuple(found)

    def scope(self, index: int) -> ScopeRecord:
        scope = self.rec.scopes[index]
        name = self.ending.scope_paths[index] or scope.name or scope.detail
        return ScopeRecord(index, scope.parent, scope.kind, name, scope.detail, None, self.spans.span(scope.origin))

    # ---- what happened

    def step(self, turn: Any) -> BackwardStep:
        upstream = tuple(map(value_of, turn.upstream))
        sent = tuple(map(value_of, turn.sent))
        hooks = tuple(HookRun(k, n, value_of(a), value_of(b), changed) for k, n, a, b, changed in turn.hooks)
        first = next((run.before for run in hooks if run.kind == "tensor"), None)
        arrived = upstream if first is None else (first, *upstream[1:])
        return BackwardStep(
            turn.number,
            self.new[turn.node],
            upstream,
            sent,
            (None,) * len(sent),
            turn.freed,
            arrived,
            hooks,
            value_of(turn.before),
            value_of(turn.after),
            turn.ran,
            turn.at,
        )

    def one_pass(self, one: Any) -> PassRecord:
        vectors = [value_of(v) or contents.unknown(v) for v in one.vectors]  # one for each root
        ones = [self.one_like(entry) for entry in one.roots[len(vectors) :]]
        inputs = None if one.inputs is None else tuple(entry.id for entry in one.inputs)
        return PassRecord(
            one.number,
            tuple(entry.id for entry in one.roots),
            (*vectors, *ones),
            one.after,
            one.keep,
            one.create_graph,
            inputs,
            one.stores,
            one.error,
            self.spans.span(one.origin),
            one.until,
        )

    def one_like(self, entry: Entry) -> Any:
        """Return the vector that backward begins with if none is given: 1."""
        from gradtrace.trace.values import Value

        return Value((), entry.value.dtype if entry.value is not None else "float32", 1.0)

    def escape(self, item: Any) -> Escape:
        how, entry, after, place, out = item
        where = self.spans.span(place), self.spans.excerpt(place)
        return Escape(how, entry.id, after, *where, None if out is None else out.id)

    def change(self, one: Any) -> Change:
        tensors = tuple(dict.fromkeys(e.id for known in one.tensors for e in self.versions.get(known, ())))
        operation = None if one.call is None or not one.call.outputs else one.call.index
        where = self.spans.span(one.origin), self.spans.excerpt(one.origin)
        return Change(one.how, tensors, one.of_grad, one.after, one.after_steps, operation, one.grad_enabled, *where)

    @property
    def versions(self) -> dict[Known, list[Entry]]:
        if not hasattr(self, "_versions"):
            self._versions: dict[Known, list[Entry]] = {}
            for entry in self.rec.entries:
                self._versions.setdefault(entry.tensor, []).append(entry)
        return self._versions

    def failure(self) -> Failure | None:
        if self.ending.failure is None:
            return None
        kind, message, place = self.ending.failure
        failed = [one for one in self.rec.passes if one.error]
        forward = None
        if failed and failed[-1].error == f"{kind}: {message}":
            turns = [turn for turn in self.rec.turns if turn.number == failed[-1].number]
            if turns:
                forward = self.spans.span(self.rec.nodes[turns[-1].node].origin)
        return Failure(kind, message, self.spans.span(place), forward)

    def left_out(self) -> tuple[str, ...]:
        found = []
        for what, places in sorted(self.rec.left_out.items()):
            spans = [span for place in places if (span := self.spans.span(place)) is not None]
            where = f", first on line {spans[0].where}" if spans else ""
            found.append(f"left out: {what}{where}" + (f", {len(places)} times" if len(places) > 1 else ""))
        kinds = ", ".join(sorted(self.rec.contents.unmeasured))
        return (*found, f"left out: the elements of tensors of these kinds: {kinds}") if kinds else tuple(found)

    def training(self) -> tuple[TrainingStep, ...]:
        roots_of = [[entry.id for entry in one.roots] for one in self.rec.passes]
        found = []
        for number, one in enumerate(iterations(self.rec), 1):
            roots = tuple(dict.fromkeys(i for ids in roots_of[slice(*one.passes)] for i in ids))
            found.append(TrainingStep(number, one.calls, one.passes, roots, self.spans.span(one.place)))
        return tuple(found)


id_of = object.__hash__
