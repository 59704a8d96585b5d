"""What a watcher noted, as records: nodes and tensors as the ids of a trace."""

from __future__ import annotations

from bisect import bisect_left

from gradtrace.annotations import Any, Sequence
from gradtrace.engine.node import AccumulateGrad, Node
from gradtrace.engine.tensor import Tensor
from gradtrace.trace import functions
from gradtrace.trace.history import Call, Entry
from gradtrace.trace.labels import SourceText
from gradtrace.trace.local import frozen
from gradtrace.trace.record import BackwardStep, Escape, FunctionRecord, HookRun, Pass, Value
from gradtrace.trace.steps import Event, Turn, Values, Watch


class Chronicle:
    """What is needed to tell the notes in ids."""

    def __init__(
        self,
        watch: Watch,
        kept: Sequence[Entry],
        calls: Sequence[Call],
        found: functions.Graph,
        records: Sequence[FunctionRecord],
        source: SourceText,
    ) -> None:
        self.watch = watch
        self.source = source
        self.found = found
        self.records = records
        self.indices = [call.index for call in calls]
        self.tensors = {id(entry.tensor): entry.id for entry in kept}

    def told(self) -> tuple[tuple[BackwardStep, ...], tuple[Pass, ...], tuple[Escape, ...]]:
        """The steps, passes and escapes of a Trace."""
        steps = tuple(
            self.step(number, turn)
            for number, event in enumerate(self.watch.passes)
            for turn in event.turns
            if id(turn.node) in self.found.ids and (turn.ran or is_wanted(event, turn))
        )
        passes = tuple(self.one_pass(number, event) for number, event in enumerate(self.watch.passes))
        return steps, passes, tuple(self.escape(*item) for item in self.watch.escaped)

    def before(self, at: int) -> int:
        """How many operations of the trace had run before the recorded call `at`."""
        return bisect_left(self.indices, at)

    def tensor_of(self, node: Node, number: int) -> int | None:
        """The tensor that is output `number` of a node; an accumulator's leaf."""
        if isinstance(node, AccumulateGrad):
            return self.tensors.get(id(node.variable))
        index = self.found.ids.get(id(node))
        outputs = () if index is None else self.records[index].outputs
        return outputs[min(number, len(outputs) - 1)] if outputs else None

    # ---- records

    def one_pass(self, number: int, event: Event) -> Pass:
        inputs = None if event.wanted is None else self.known(event.wanted)
        span, until = self.source.span(event.origin), self.before(event.until)
        return Pass(number, self.known(event.roots), tuple(event.vectors), self.before(event.at), event.keep,
                    event.create_graph, inputs, event.stores, event.error, span, until)

    def known(self, slots: Sequence[tuple[Node, int]]) -> tuple[int, ...]:
        found = [self.tensor_of(node, number) for node, number in slots]
        return tuple(i for i in found if i is not None)

    def step(self, number: int, turn: Turn) -> BackwardStep:
        return BackwardStep(
            number,
            self.found.ids[id(turn.node)],
            turn.upstream,
            tuple(turn.sent),
            locals_of(turn),
            turn.released,
            turn.arrived,
            tuple(hook(*item) for item in turn.hooks),
            turn.before,
            turn.after,
            turn.ran,
            self.before(turn.at),
        )

    def escape(self, how: str, tensor: Tensor, out: Any, at: int, origin: int) -> Escape:
        result = None if out is None else self.tensors.get(id(out))
        return Escape(how, self.tensors.get(id(tensor)), self.before(at), self.source.span(origin),
                      self.source.excerpt(origin), result)


def is_wanted(event: Event, turn: Turn) -> bool:
    """Whether autograd.grad asked for what gathers at a node."""
    return event.wanted is not None and any(node is turn.node for node, _ in event.wanted)


def locals_of(turn: Turn) -> Values:
    """The local derivatives, one for each edge."""
    if turn.node.op is None and len(turn.upstream) == 1 and not isinstance(turn.node, AccumulateGrad):
        return tuple(quotient(turn.upstream[0], sent) for sent in turn.sent)
    return tuple(turn.locals) or (None,) * len(turn.sent)


def quotient(got: Value | None, sent: Value | None) -> Value | None:
    """What a Function of the program multiplied its gradient by, element by element; None where that is no number.

    Its own derivative is known to nobody: this is what it did. A gradient of zero tells nothing.
    """
    if got is None or sent is None or got.shape != sent.shape or not got.is_float:
        return None
    told = got.data != 0 if not got.shape else (got.data != 0).all()
    return frozen(sent.data / got.data + 0.0) if told else None  # -0 is 0


def hook(kind: str, called: Any, before: Value | None, after: Value | None, changed: bool) -> HookRun:
    return HookRun(kind, "retain_grad" if kind == "retain" else hook_name(called), before, after, changed)


def hook_name(called: Any) -> str:
    """A hook's name as the program has it; a partial's function."""
    inner = getattr(called, "func", None)
    if inner is not None:
        return f"partial({hook_name(inner)})"
    return str(getattr(called, "__name__", type(called).__name__))
