"""Build a Trace from a recorder's notes: ids in the order of creation, edges, labels, steps of a
training loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch

from gradtrace.torch import contents, escapes, names, optimizers, private, sharded, training
from gradtrace.torch.contents import value_of
from gradtrace.torch.iterations import iterations
from gradtrace.torch.operands import call_operands
from gradtrace.torch.references import Known, Node, Scope
from gradtrace.trace import labels
from gradtrace.trace.builder import Builder
from gradtrace.trace.events import Call, ChangeEvent, Entry, PassEvent
from gradtrace.trace.record import (
    Failure,
    FunctionEdge,
    FunctionRecord,
    Group,
    Operand,
    SavedRecord,
    Span,
    Trace,
    Value,
)
from gradtrace.trace.scopes import Scopes

if TYPE_CHECKING:
    from gradtrace.torch.places import SpanTable
    from gradtrace.torch.recorder import Recorder
    from gradtrace.trace.precision import Precision
    from gradtrace.trace.training import StepCalls

PARTS = (
    "rank {} holds a part of each of {} parameters; gradients are this rank's own, before they "
    "are reduced"
)
FREED = "left out: whole parameters after the last update, which FSDP2 has freed"
WHOLE = "gradtrace stats of all ranks' records has the norms of whole parameters"
ENGINE = f"torch {torch.__version__.partition('+')[0]}"


class Ending:
    """The facts about the live program at the end of its recording. `Builder` reads the program
    only through these.
    """

    def __init__(
        self, rec: Recorder, env: Mapping[str, Any], failure: tuple[str, str, int] | None
    ) -> None:
        self.rec = rec
        self.failure = failure
        for identity in list(rec.identities.values()):
            tensor = identity.ref()
            if tensor is not None:
                rec.entry(tensor)
                rec.check_contents(tensor, identity)
        self.paths = names.bind(rec, env)
        self.fates = {
            id(tensor): change.how
            for change in rec.changed
            if change.of_grad
            for tensor in change.tensors
        }
        self.former_names = names.give_local(rec, self.is_known)
        self.modules = {key for key, value in env.items() if isinstance(value, ModuleType)}
        self.grads: dict[int, Any] = {}
        self.grad_fns: dict[int, str] = {}
        self.last_of_all()
        self.last_of_gone()
        self.gradients = self.gradient_names()
        holders: list[Any] = [*rec.scopes, *(hook for hook in rec.hooks.values() if hook.subject)]
        self.scope_paths = {id(holder): self.path_of(holder.subject) for holder in holders}
        escapes.note_late(rec)
        optimizers.end(rec)
        training.end(rec)
        rec.identities.clear()
        rec.storages.clear()

    def path_of(self, reference: Any) -> str:
        module = reference()
        path = "" if module is None else self.paths.get(id(module), "")
        local = self.rec.local_paths.get(id(reference), (None, ""))[1]
        return local if local and (not path or names.is_private(path)) else path

    def last_of_all(self) -> None:
        """Note the last version of every tensor that still exists, and its gradient."""
        rec = self.rec
        reduced = {
            id(sharded.whole(rec, shard.sharded_param)): shard.sharded_param
            for shard in rec.shards.values()
        }
        for identity in list(rec.identities.values()):
            tensor = identity.ref()
            if tensor is None:
                continue
            entry = rec.entry(tensor)
            entry.retains = not entry.is_leaf and private.retains_grad(tensor)
            gradient = private.kept_gradient(
                reduced.get(id(tensor), tensor), identity in rec.set_gradients
            )
            if gradient is not None:
                own = (
                    rec.grads.get(identity) if id(tensor) in reduced else None
                )  # as the pass left it, before it is reduced
                self.grads[entry.id] = (
                    rec.note_of_gradient(identity, gradient) if own is None else own[1]
                )
                if gradient.grad_fn is not None:
                    self.grad_fns[entry.id] = private.name_of(gradient.grad_fn).rpartition("::")[2]

    def last_of_gone(self) -> None:
        """Note the last known gradients of leaves that functions' variables held."""
        rec = self.rec
        for identity in rec.local_names:
            if identity.ref() is None:
                noted = rec.grads.get(identity)
                gradient = identity.last.grad if noted is None else noted[1]
                if gradient is not None and (noted or self.fates.get(id(identity)) != "cleared"):
                    self.grads[identity.last.id] = gradient

    def is_known(self, identity: Known) -> bool:
        """Whether a leaf still exists, or the last gradient that it had is known: not one that was
        changed in place.
        """
        rec = self.rec
        return (
            identity.ref() is not None
            or identity in rec.grads
            or identity.last.grad is not None
            or self.fates.get(id(identity), "cleared") == "cleared"
        )

    def gradient_names(self) -> dict[Known, str]:
        """Return the names ("w.grad") of gradients that operations used."""
        grad_names = names.gradients(self.rec.entries)
        tensors = ((identity, identity.ref()) for identity in self.rec.identities.values())
        return {
            identity: grad_names[id(t)]
            for identity, t in tensors
            if t is not None and id(t) in grad_names
        }


class ModuleScopes(Scopes):
    """The table of a recording's scopes, all of them calls of modules."""

    def __init__(self, spans: SpanTable, scopes: Sequence[Scope], paths: dict[int, str]) -> None:
        super().__init__(spans, {})
        self.spans = spans
        self.paths = paths
        for scope in scopes:
            self.number(scope)

    def _named(self, scope: Any) -> tuple[str, str]:
        return self.module_name(scope), scope.detail

    def module_name(self, holder: Any) -> str:
        return self.paths[id(holder)] or str(holder.detail)

    def function_of(self, call: Call) -> str:
        code = self.spans.code(call.origin)
        if code is None or code.co_name == "<module>":
            return ""
        return str(getattr(code, "co_qualname", code.co_name)).replace(".<locals>", "")


class RecordingBuilder(Builder):
    """The builder of a Trace from the recorder's notes."""

    source: SpanTable

    def __init__(
        self, ending: Ending, main: str, rank: int | None = None, processes: int = 0
    ) -> None:
        self.ending = ending
        self.rec = rec = ending.rec
        source = rec.places.spans(main)
        super().__init__(
            source,
            ModuleScopes(source, rec.scopes, ending.scope_paths),
            rec,
            rec.entries,
            rec.calls,
        )
        self.rank = rank
        self.processes = processes
        self.start: Entry | None = None  # where the graph begins, if nothing was recorded but that
        self.backward_runs = len(rec.passes)
        self.backward_ran = any(event.stores for event in rec.passes)
        self.retained_by = "retain_grad()"
        nodes = rec.nodes
        own = [i for i, node in enumerate(nodes) if node.variable is None]
        self.order = sorted(own, key=lambda i: (nodes[i].sequence, i))
        self.order += [i for i, node in enumerate(nodes) if node.variable is not None]
        self.new = {old: new for new, old in enumerate(self.order)}
        self.freed = {turn.node for event in rec.passes for turn in event.turns if turn.freed}
        self.versions: dict[Known, list[int]] = {}
        for entry in rec.entries:
            self.versions.setdefault(entry.tensor, []).append(entry.id)
        self.groups: dict[int, Group] = {}

    def build(self) -> Trace:
        """Return the Trace, with what is known only of a recording of PyTorch."""
        rec = self.rec
        self.fetch()
        self.roots = self.outputs = dict.fromkeys(sorted(self.first_roots()))
        return (
            super()
            .build()
            ._replace(
                failure=self.failure(),
                engine=ENGINE,
                left_out=self.left_out(),
                rank=self.rank,
                leads=self.program_places(),
                shards=tuple(rec.parts),
                buffers=tuple(rec.buffers),
                processes=self.processes if self.rank is not None else 0,
            )
        )

    def precision(self) -> Precision | None:
        return None if self.rec.precision is None else self.rec.precision.record()

    def program_places(self) -> tuple[tuple[Span, Span], ...]:
        """Return the places in libraries of passes and steps, each with the one place of the
        program that led there.
        """
        leads = self.rec.places.leads
        spans = [
            (self.source.span(at), self.source.span(*own))
            for at, own in leads.items()
            if len(own) == 1
        ]
        return tuple(
            (at, own)
            for at, own in spans
            if at is not None and own is not None and at.file and not own.file
        )

    def fetch(self) -> None:
        """Copy everything from other devices to the CPU at once."""
        rec = self.rec
        noted = (
            [e.value for e in rec.entries]
            + [e.grad for e in rec.entries]
            + list(self.ending.grads.values())
            + [event.norm for event in rec.clips]
        )
        for event in rec.passes:
            noted += event.vectors
            for turn in event.turns:
                noted += [*turn.upstream, *turn.sent, turn.before, turn.after]
                noted += [value for run in turn.hooks for value in run[2:4]]
        contents.fetch([note for note in noted if note is not None])

    def first_roots(self) -> set[int]:
        """Return the tensors at which the last pass began; of a program without backward, the last
        result.
        """
        if self.start is not None:
            return {self.start.id}
        if self.rec.passes and self.rec.passes[-1].roots:
            return {entry.id for entry in self.rec.passes[-1].roots}
        outputs = [entry for call in self.rec.calls for entry in call.outputs if entry.last]
        named = [entry for entry in outputs if entry.names and entry.requires_grad]
        return {(named or outputs)[-1].id} if outputs else set()

    def labels(self) -> list[str]:
        rec = self.rec
        return labels.label_all(
            rec.entries,
            rec.calls,
            self.source,
            dict.fromkeys(self.ending.modules, torch),
            {id(identity): name for identity, name in self.ending.gradients.items()},
            self.scopes,
            self.ending.former_names,
            [entry for record in rec.passes for entry in record.roots],
        )

    # ---- what the events refer to

    def value(self, noted: Any) -> Value | None:
        return value_of(noted)

    def contents(self, entry: Entry) -> tuple[Value | None, Value | None, str | None]:
        grad = self.ending.grads.get(entry.id) if entry.last else entry.grad
        return value_of(entry.value), value_of(grad), self.ending.grad_fns.get(entry.id)

    def made_by(self, entry: Entry) -> Call | None:
        """Return the call that made a tensor; of a version that was written unseen, that of the
        first version.
        """
        return entry.call or entry.tensor.first.call

    def tensor_id(self, tensor: Entry | Known | None) -> int | None:
        entry = tensor.last if isinstance(tensor, Known) else tensor
        return None if entry is None else entry.id

    def ends(self, roots: Sequence[Entry]) -> tuple[int, ...]:
        return tuple(entry.id for entry in roots)

    def vectors(self, event: PassEvent) -> tuple[Value, ...]:
        """Return the vectors of a pass: 1 for each root if none was given."""
        vectors = [value_of(v) or contents.unknown(v) for v in event.vectors]
        for entry in event.roots[len(vectors) :]:
            vectors.append(
                Value((), entry.value.dtype if entry.value is not None else "float32", 1.0)
            )
        return tuple(vectors)

    def function_of(self, entry: Entry) -> int | None:
        node = self.node_at(entry)
        return None if node is None else self.new[node]

    def node_at(self, entry: Entry) -> int | None:
        """Return the number of an entry's node; of a leaf, that of its AccumulateGrad."""
        return entry.fn if not entry.is_leaf else self.rec.accumulators.get(entry.tensor)

    def function_id(self, node: int) -> int:
        return self.new[node]

    def function_name(self, node: int) -> str:
        return self.rec.nodes[node].name

    def operands(self, call: Call, node: int | None) -> tuple[Operand, ...]:
        return call_operands(call, self.edge_of)

    # ---- functions

    def edge_of(self, call: Call, entry: Entry, taken: set[int]) -> int | None:
        """Return the edge that carries an operand's gradient from a call's node, maybe through
        helper nodes (TBackward0).
        """
        target = self.node_at(entry) if call.fn is not None and entry.requires_grad else None
        if call.fn is None or target is None:
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
        return helper and any(
            e is not None and self.leads(e[0], target, call, depth + 1) for e in node.edges
        )

    def functions(self) -> Iterator[FunctionRecord]:
        return map(self.function, self.order)

    def function(self, index: int) -> FunctionRecord:
        node = self.rec.nodes[index]
        new = self.new[index]
        return FunctionRecord(
            new,
            node.name,
            new,
            tuple(entry.id for entry in node.outputs),
            None if node.variable is None else node.variable.last.id,
            tuple(
                SavedRecord(name, *self.saved(node, name, held, text))
                for name, held, text in node.saved
            ),
            index in self.freed,
            self.source.span(node.origin),
        )

    def saved(self, node: Node, name: str, held: Any, text: str) -> tuple[int | None, str]:
        """Return the id of a saved tensor: the node's own result, or the operand that it is a view
        of (a transposed weight).
        """
        if isinstance(held, Entry):
            return held.id, ""
        if held is not None:
            operands = () if node.call is None else node.call.inputs.values()
            for entry in (*node.outputs, *operands):
                if entry.tensor.storage == held:
                    return entry.id, ""
        return None, text

    def edges(self) -> Iterator[FunctionEdge]:
        for old in self.order:
            for number, edge in enumerate(self.rec.nodes[old].edges):
                if edge is not None:
                    yield FunctionEdge(self.new[old], self.new[edge[0]], number, edge[1])

    # ---- what happened

    def written(self, event: ChangeEvent) -> tuple[Group, bool]:
        """Return the ids of all versions of the tensors that were written to: one tuple for all
        writes to them, as there may be thousands of both.
        """
        tensors = event.tensors
        key = id(tensors if len(tensors) > 1 else tensors[0])
        if key not in self.groups:
            self.groups[key] = tuple(
                dict.fromkeys(i for identity in tensors for i in self.versions.get(identity, ()))
            )
        return self.groups[key], event.of_grad

    def failure(self) -> Failure | None:
        if self.ending.failure is None:
            return None
        kind, message, place = self.ending.failure
        failed = [event for event in self.rec.passes if event.error]
        forward = None
        if failed and failed[-1].error == f"{kind}: {message}" and failed[-1].turns:
            forward = self.source.span(self.rec.nodes[failed[-1].turns[-1].node].origin)
        call = self.rec.begun_call
        if call is None or call.outputs or self.source.span(call.origin) != self.source.span(place):
            return Failure(kind, message, self.source.span(place), forward)
        inputs = tuple(entry.id for entry in call.inputs.values())
        return Failure(kind, message, self.source.span(place), forward, None, call.name, inputs)

    def left_out(self) -> tuple[str, ...]:
        remarks = []
        for reason, places in sorted(self.rec.left_out.items()):
            spans = [span for place in places if (span := self.source.span(place)) is not None]
            where = f", first {spans[0].at}" if spans else ""
            remarks.append(
                f"left out: {reason}{where}" + (f", {len(places)} times" if len(places) > 1 else "")
            )
        unmeasured = self.rec.contents.unmeasured
        if self.rec.parts and self.rec.shards:
            remarks += [f"{PARTS.format(self.rank, len(self.rec.parts))}; {WHOLE}"] * (
                self.rank is not None
            )
            remarks += [FREED] if "freed" in unmeasured else []
            unmeasured = unmeasured - {"DTensor", "freed"}
        kinds = ", ".join(sorted(unmeasured))
        return (
            (*remarks, f"left out: the elements of tensors of these kinds: {kinds}")
            if kinds
            else tuple(remarks)
        )

    def step_calls(self) -> list[StepCalls]:
        return iterations(self.rec)
