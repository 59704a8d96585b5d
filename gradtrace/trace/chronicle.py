"""Convert a recorder's events of passes, values and tensors to records, with the ids that a Builder gives them."""

from __future__ import annotations

from gradtrace.annotations import Any, Sequence
from gradtrace.trace.builder import Builder
from gradtrace.trace.events import BeginEvent, EscapeEvent, Held, PassEvent, Turn
from gradtrace.trace.record import BackwardStep, Begun, Escape, HookRun, OptimiserRecord, PassRecord, Value


class Chronicle:
    """The converter of a run's events; a recorder's own kind finds what was changed."""

    def __init__(self, builder: Builder, passes: Sequence[PassEvent]) -> None:
        self.builder = builder
        self.source = builder.source
        self.passes = passes

    def turns(self) -> list[tuple[int, Turn]]:
        """Return the turns to show, each with the number of its pass."""
        return [(number, turn) for number, event in enumerate(self.passes) for turn in event.turns]

    def values(self, noted: Sequence[Any]) -> tuple[Value | None, ...]:
        return tuple(map(self.builder.value, noted))

    def steps(self) -> tuple[BackwardStep, ...]:
        return tuple(self.step(number, turn) for number, turn in self.turns())

    def step(self, number: int, turn: Turn) -> BackwardStep:
        value = self.builder.value
        hooks = [
            HookRun(kind, "retain_grad" if kind == "retain" else hook_name(hook), value(before), value(after), changed)
            for kind, hook, before, after, changed in turn.hooks
        ]
        return BackwardStep(
            number,
            self.builder.function_id(turn.node),
            self.values(turn.upstream),
            self.values(turn.sent),
            self.locals_of(turn),
            turn.freed,
            self.values(turn.arrived),
            tuple(hooks),
            value(turn.before),
            value(turn.after),
            turn.ran,
            self.builder.before(turn.at),
            tuple(turn.matrices),
        )

    def locals_of(self, turn: Turn) -> tuple[Value | None, ...]:
        """Return the local derivatives noted in a turn, one for each edge."""
        return tuple(turn.locals) or (None,) * len(turn.sent)

    def pass_records(self) -> tuple[PassRecord, ...]:
        builder = self.builder
        return tuple(
            PassRecord(
                number,
                builder.ends(event.roots),
                builder.vectors(event),
                builder.before(event.at),
                event.keep,
                event.create_graph,
                None if event.wanted is None else builder.ends(event.wanted),
                event.stores,
                event.error,
                self.source.span(event.origin),
                builder.before(event.until),
            )
            for number, event in enumerate(self.passes)
        )

    def escapes(self, events: Sequence[EscapeEvent]) -> tuple[Escape, ...]:
        """Return the values that left the graph; of a Parameter that was made, both tensors are in the trace."""
        builder = self.builder
        escapes = [
            Escape(
                event.how,
                builder.tensor_id(event.tensor),
                builder.before(event.at),
                *builder.place(event.origin),
                None if event.out is None else builder.tensor_id(event.out),
            )
            for event in events
        ]
        return tuple(
            escape for escape in escapes if escape.how != "parameter" or None not in (escape.tensor, escape.out)
        )

    def begun(self, events: Sequence[BeginEvent]) -> tuple[Begun, ...]:
        builder = self.builder
        return tuple(
            Begun(i, builder.before(event.at), self.source.span(event.origin))
            for event in events
            if (i := builder.tensor_id(event.tensor)) is not None
        )

    def optimisers(self, held: Sequence[Held]) -> tuple[OptimiserRecord, ...]:
        """Return the records of the optimisers, with the ids of their tensors' last versions."""
        span = self.source.span
        return tuple(
            OptimiserRecord(
                optimiser.kind,
                tuple(i for tensor in optimiser.tensors if (i := self.builder.tensor_id(tensor)) is not None),
                optimiser.count,
                optimiser.lr,
                span(optimiser.origin),
                optimiser.steps,
                optimiser.idle,
                span(optimiser.step_origin) if optimiser.steps else None,
                tuple(optimiser.rates),
                optimiser.options,
            )
            for optimiser in held
        )


def hook_name(hook: Any) -> str:
    """Return a hook's name as the program has it; "partial(name)" for a partial."""
    if isinstance(hook, str):
        return hook
    inner = getattr(hook, "func", None)
    if inner is not None:
        return f"partial({hook_name(inner)})"
    return str(getattr(hook, "__name__", type(hook).__name__))
