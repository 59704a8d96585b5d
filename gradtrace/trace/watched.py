"""Convert a watcher's notes of a run to records: the fields of a Trace that only a watched run has."""

from __future__ import annotations

from bisect import bisect_left

from gradtrace.annotations import TYPE_CHECKING, Any, Sequence
from gradtrace.engine.data.node import AccumulateGrad
from gradtrace.trace.chronicle import Chronicle
from gradtrace.trace.events import Turn
from gradtrace.trace.finite import check_record
from gradtrace.trace.history import Entry
from gradtrace.trace.keeper import storage_of
from gradtrace.trace.record import Change, FunctionCheck, Value
from gradtrace.trace.steps import Watch
from gradtrace.trace.values import frozen

if TYPE_CHECKING:
    from gradtrace.trace.capture import RecordBuilder


def watched_fields(builder: RecordBuilder, watch: Watch, kept: Sequence[Entry]) -> dict[str, Any]:
    """Return the fields of a Trace that only a watched run has."""
    chronicle = WatchChronicle(builder, watch, kept)
    return {
        "steps": chronicle.steps(),
        "passes": chronicle.pass_records(),
        "escapes": chronicle.escapes(watch.escaped),
        "changes": chronicle.changes(),
        "begun": chronicle.begun(watch.leaves_begun),
        "optimisers": chronicle.optimisers(list(watch.optimisers.values())),
        "checks": chronicle.checks(),
        "precision": watch.precision(builder, kept),
    }


class WatchChronicle(Chronicle):
    """The converter of a watcher's notes."""

    builder: RecordBuilder

    def __init__(self, builder: RecordBuilder, watch: Watch, kept: Sequence[Entry]) -> None:
        super().__init__(builder, watch.passes)
        self.watch = watch
        self.kept = kept

    def turns(self) -> list[tuple[int, Turn]]:
        """Return the turns of nodes in the trace that ran, or whose gradient autograd.grad returned."""
        ids = self.builder.graph.ids
        return [
            (number, turn)
            for number, turn in super().turns()
            if id(turn.node) in ids and (turn.ran or self.is_wanted(number, turn))
        ]

    def is_wanted(self, number: int, turn: Turn) -> bool:
        return any(node is turn.node for node, _ in self.passes[number].wanted or ())

    def locals_of(self, turn: Turn) -> tuple[Value | None, ...]:
        if turn.node.op is None and len(turn.upstream) == 1 and not isinstance(turn.node, AccumulateGrad):
            got = self.builder.value(turn.upstream[0])
            return tuple(quotient(got, self.builder.value(sent)) for sent in turn.sent)
        return super().locals_of(turn)

    def changes(self) -> tuple[Change, ...]:
        own: dict[int, list[int]] = {}
        storages: dict[int, list[int]] = {}
        grads: dict[int, list[int]] = {}
        for entry in self.kept:
            own.setdefault(id(entry.tensor), []).append(entry.id)
            storages.setdefault(id(storage_of(entry.tensor._data)), []).append(entry.id)
            grad = None if entry.tensor._x is None else entry.tensor._x.grad
            if grad is not None:
                grads.setdefault(id(storage_of(grad._data)), []).append(entry.id)
                grads.setdefault(id(grad), []).append(entry.id)
        by_call = {index: i for i, index in enumerate(self.builder.indices)}
        shown = sorted(turn.number for _, turn in self.turns())
        tuples: dict[int, tuple[int, ...]] = {}  # one for each list: a long loop makes thousands of versions

        def together(held: list[int]) -> tuple[int, ...]:
            if id(held) not in tuples:
                tuples[id(held)] = tuple(held)
            return tuples[id(held)]

        changes = []
        at_call, before = -1, 0
        for how, tensor, storage, leaf, at, turns, grad_enabled, origin in self.watch.changed:
            owners = grads.get(id(tensor)) or (None if storage is None else grads.get(id(storage)))
            owners = owners or (None if leaf is None else own.get(id(leaf)))
            of_grad = owners is not None or how in ("cleared", "assigned")
            held = owners or (None if storage is None else storages.get(id(storage))) or own.get(id(tensor), [])
            if at != at_call:  # an optimiser's step changes many at once
                at_call, before = at, self.builder.before(at)
            if held:
                changes.append(
                    Change(
                        how,
                        together(held),
                        of_grad,
                        before,
                        bisect_left(shown, turns),
                        by_call.get(at),
                        grad_enabled,
                        *self.builder.place(origin),
                    )
                )
        return tuple(changes)

    def checks(self) -> tuple[FunctionCheck, ...]:
        """Return the results of comparing the program's Functions with finite differences."""
        return tuple(
            check_record(name, self.source.span(origin), outcome if isinstance(outcome, str) else outcome.wrong)
            for name, (origin, outcome) in self.watch.checks.items()
        )


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
