"""Convert a watcher's notes to records, with the trace's ids for nodes and tensors."""

from __future__ import annotations

from bisect import bisect_left

from gradtrace.annotations import Any, Sequence
from gradtrace.engine.ident import ident
from gradtrace.engine.keeper import storage_of
from gradtrace.engine.node import AccumulateGrad, Node
from gradtrace.engine.tensor import Tensor
from gradtrace.trace import functions
from gradtrace.trace.history import Call, Entry
from gradtrace.trace.labels import SourceText
from gradtrace.trace.record import (
    BackwardStep,
    Begun,
    Change,
    Escape,
    FunctionCheck,
    FunctionRecord,
    HookRun,
    OptimiserRecord,
    PassRecord,
    Value,
)
from gradtrace.trace.steps import Event, Noted, Turn, Watch
from gradtrace.trace.values import Contents, frozen


class Chronicle:
    """The converter of a watcher's notes to records, with the tables of the trace's ids."""

    def __init__(
        self,
        watch: Watch,
        kept: Sequence[Entry],
        calls: Sequence[Call],
        found: functions.FunctionGraph,
        records: Sequence[FunctionRecord],
        source: SourceText,
        contents: Contents,
    ) -> None:
        self.watch = watch
        self.value = contents.of
        self.source = source
        self.kept = kept
        self.found = found
        self.records = records
        self.indices = [call.index for call in calls]
        self.tensors = {ident(entry.tensor): entry.id for entry in kept}

    def build(self) -> dict[str, Any]:
        """Return the fields of a Trace that only a watched run has."""
        turns = [
            (number, turn)
            for number, event in enumerate(self.watch.passes)
            for turn in event.turns
            if self.is_shown(event, turn)
        ]
        steps = tuple(self.step(number, turn) for number, turn in turns)
        self.shown = sorted(turn.number for _, turn in turns)
        passes = tuple(self.one_pass(number, event) for number, event in enumerate(self.watch.passes))
        noted = [self.escape(*item) for item in self.watch.escaped]
        escapes = tuple(one for one in noted if one.how != "parameter" or None not in (one.tensor, one.out))
        return {
            "steps": steps,
            "passes": passes,
            "escapes": escapes,
            "changes": self.changes(),
            "begun": self.begun(),
            "optimisers": self.optimisers(),
            "checks": self.checks(),
        }

    def before(self, at: int) -> int:
        """Return how many of the trace's operations ran before the recorded call with index `at`."""
        return bisect_left(self.indices, at)

    def tensor_of(self, node: Node, number: int) -> int | None:
        """Return the id of the tensor that is output `number` of a node; for an AccumulateGrad, of its leaf."""
        if isinstance(node, AccumulateGrad):
            return self.tensors.get(ident(node.variable))
        index = self.found.ids.get(ident(node))
        outputs = () if index is None else self.records[index].outputs
        return outputs[min(number, len(outputs) - 1)] if outputs else None

    def is_shown(self, event: Event, turn: Turn) -> bool:
        """Whether a turn is part of the trace: the node ran, or autograd.grad returned the gradient gathered for it."""
        if ident(turn.node) not in self.found.ids:
            return False
        return turn.ran or (event.wanted is not None and any(node is turn.node for node, _ in event.wanted))

    # ---- records

    def one_pass(self, number: int, event: Event) -> PassRecord:
        inputs = None if event.wanted is None else self.known(event.wanted)
        span, until = self.source.span(event.origin), self.before(event.until)
        return PassRecord(
            number,
            self.known(event.roots),
            tuple(value for value in map(self.value, event.vectors) if value is not None),
            self.before(event.at),
            event.keep,
            event.create_graph,
            inputs,
            event.stores,
            event.error,
            span,
            until,
        )

    def known(self, slots: Sequence[tuple[Node, int]]) -> tuple[int, ...]:
        found = [self.tensor_of(node, number) for node, number in slots]
        return tuple(i for i in found if i is not None)

    def step(self, number: int, turn: Turn) -> BackwardStep:
        return BackwardStep(
            number,
            self.found.ids[ident(turn.node)],
            self.values(turn.upstream),
            self.values(turn.sent),
            self.locals_of(turn),
            turn.released,
            self.values(turn.arrived),
            tuple(hook(*item) for item in turn.hooks),
            self.value(turn.before),
            self.value(turn.after),
            turn.ran,
            self.before(turn.at),
            tuple(turn.matrices),
        )

    def values(self, noted: Sequence[Noted]) -> tuple[Value | None, ...]:
        return tuple(map(self.value, noted))

    def locals_of(self, turn: Turn) -> tuple[Value | None, ...]:
        """Return the local derivatives noted in a turn, one for each edge."""
        if turn.node.op is None and len(turn.upstream) == 1 and not isinstance(turn.node, AccumulateGrad):
            got = self.value(turn.upstream[0])
            return tuple(quotient(got, self.value(sent)) for sent in turn.sent)
        return tuple(turn.locals) or (None,) * len(turn.sent)

    def escape(self, how: str, tensor: Tensor, out: Any, at: int, origin: int) -> Escape:
        result = None if out is None else self.tensors.get(ident(out))
        return Escape(
            how,
            self.tensors.get(ident(tensor)),
            self.before(at),
            self.source.span(origin),
            self.source.excerpt(origin),
            result,
        )

    def changes(self) -> tuple[Change, ...]:
        own: dict[int, list[int]] = {}
        storages: dict[int, list[int]] = {}
        grads: dict[int, list[int]] = {}
        for entry in self.kept:
            own.setdefault(ident(entry.tensor), []).append(entry.id)
            storages.setdefault(ident(storage_of(entry.tensor._data)), []).append(entry.id)
            grad = None if entry.tensor._x is None else entry.tensor._x.grad
            if grad is not None:
                grads.setdefault(ident(storage_of(grad._data)), []).append(entry.id)
                grads.setdefault(ident(grad), []).append(entry.id)
        by_call = {index: i for i, index in enumerate(self.indices)}
        tuples: dict[int, tuple[int, ...]] = {}  # one for each list: a long loop makes thousands of versions

        def together(held: list[int]) -> tuple[int, ...]:
            if ident(held) not in tuples:
                tuples[ident(held)] = tuple(held)
            return tuples[ident(held)]

        found = []
        at_call, before = -1, 0
        for how, tensor, storage, at, turns, grad_enabled, origin in self.watch.changed:
            known = grads.get(ident(tensor)) or (None if storage is None else grads.get(ident(storage)))
            of_grad = known is not None or how in ("cleared", "assigned")
            held = known or (None if storage is None else storages.get(ident(storage))) or own.get(ident(tensor), [])
            if at != at_call:  # an optimiser's step changes many at once
                at_call, before = at, self.before(at)
            if held:
                found.append(
                    Change(
                        how,
                        together(held),
                        of_grad,
                        before,
                        bisect_left(self.shown, turns),
                        by_call.get(at),
                        grad_enabled,
                        self.source.span(origin),
                        self.source.excerpt(origin),
                    )
                )
        return tuple(found)

    def optimisers(self) -> tuple[OptimiserRecord, ...]:
        """Return the records of the optimisers, with the ids of their tensors' last versions."""
        found = []
        for held in self.watch.optimisers.values():
            known = tuple(i for t in held.tensors if (i := self.tensors.get(ident(t))) is not None)
            spans = self.source.span(held.origin), self.source.span(held.step_origin) if held.steps else None
            count = len(held.tensors)
            found.append(OptimiserRecord(held.kind, known, count, held.lr, spans[0], held.steps, held.idle, spans[1]))
        return tuple(found)

    def checks(self) -> tuple[FunctionCheck, ...]:
        """Return the results of comparing the program's Functions with finite differences."""
        found = []
        for name, (origin, checked) in self.watch.checks.items():
            span = self.source.span(origin)
            if isinstance(checked, str):
                found.append(FunctionCheck(name, "not tried", checked, span))
            elif checked.wrong is None:
                found.append(FunctionCheck(name, "ok", "", span))
            else:
                edge, element, analytic, judged = checked.wrong
                found.append(FunctionCheck(name, "wrong", "", span, edge, element, analytic, judged.numeric))
        return tuple(found)

    def begun(self) -> tuple[Begun, ...]:
        found = [
            (self.tensors.get(ident(leaf)), self.before(at), self.source.span(origin))
            for leaf, at, origin in self.watch.leaves_begun
        ]
        return tuple(Begun(i, after, span) for i, after, span in found if i is not None)


def quotient(got: Value | None, sent: Value | None) -> Value | None:
    """Return the factor by which a Function of the program multiplied its gradient, elementwise; None if it is not
    known.

    The derivative of such a Function cannot be read from a rule, so it is measured: the gradient sent divided by the
    one received. Where that one has a zero, nothing can be measured.
    """
    if got is None or sent is None or got.shape != sent.shape or not got.is_float:
        return None
    if not got.is_whole or not sent.is_whole or got.zeros:
        return None
    return frozen(sent.data / got.data + 0.0)  # -0 is 0


def hook(kind: str, called: Any, before: Value | None, after: Value | None, changed: bool) -> HookRun:
    return HookRun(kind, "retain_grad" if kind == "retain" else hook_name(called), before, after, changed)


def hook_name(called: Any) -> str:
    """Return a hook's name as the program has it; "partial(name)" for a partial."""
    inner = getattr(called, "func", None)
    if inner is not None:
        return f"partial({hook_name(inner)})"
    return str(getattr(called, "__name__", type(called).__name__))
