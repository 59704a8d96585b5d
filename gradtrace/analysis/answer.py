"""The parts of an explanation, and the facts that every explanation starts from."""

from __future__ import annotations

from gradtrace.analysis import flow, places
from gradtrace.analysis.arrivals import Arrivals
from gradtrace.annotations import Any, Iterable, NamedTuple
from gradtrace.trace.record import BackwardStep, Change, Operation, PassRecord, Span, TensorRecord, Trace, Value


class Evidence(NamedTuple):
    """One fact that an answer is based on, with the source line that shows it."""

    text: str
    span: Span | None = None
    source: str = ""


class Answer(NamedTuple):
    """The status of a gradient: `status` is "gradient", "zero", "nan", "none" or "failed".

    `cause` is a short word for the reason, `sentence` says it in one sentence, `advice` says what to change, best
    first.
    """

    name: str
    status: str
    cause: str
    sentence: str
    evidence: tuple[Evidence, ...]
    advice: tuple[str, ...]
    value: Value | None = None


class Facts:
    """A trace with the lookups that explanations need."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.text = places.Text(trace.source_text, trace.files)
        self.flow = flow.Flow(trace)
        storing = [one for one in trace.passes if one.stores]
        self.storing = [one for one in storing if not one.error] or storing  # one that failed left nothing
        self._arrivals: Arrivals | None = None
        self._held: dict[int, frozenset[int]] = {}
        self._leaves: dict[int, tuple[int, ...]] = {}
        self._stored: dict[int, list[BackwardStep]] | None = None
        self._lines: frozenset[int] | None = None
        self._by_name: dict[str, list[Operation]] = {}
        self.lost: dict[int, Any] = {}  # what `history` found of each leaf that has no history
        self.visits: dict[int, list[BackwardStep]] = {}
        for step in trace.steps:
            self.visits.setdefault(step.function, []).append(step)

    @property
    def arrivals(self) -> Arrivals:
        if self._arrivals is None:
            self._arrivals = Arrivals(self.trace)
        return self._arrivals

    def held(self, change: Change) -> frozenset[int]:
        """Return the ids of the tensors that a change wrote to, as a set that is cached (it may have thousands of
        ids).
        """
        known = self._held.get(id(change.tensors))
        if known is None:
            known = self._held[id(change.tensors)] = frozenset(change.tensors)
        return known

    def leaves_of(self, change: Change) -> tuple[int, ...]:
        """Return the leaves that a change wrote to, as the ids of their last versions."""
        known = self._leaves.get(id(change.tensors))
        if known is None:
            leaves = [
                i for i in change.tensors if self.trace.tensors[i].is_leaf and self.trace.tensors[i].requires_grad
            ]
            known = tuple(dict.fromkeys(map(self.flow.tensor, leaves)))
            self._leaves[id(change.tensors)] = known
        return known

    def operations(self, names: Iterable[str]) -> list[Operation]:
        """Return the operations of the operators with these names, in order."""
        if not self._by_name:
            for operation in self.trace.operations:
                self._by_name.setdefault(operation.name, []).append(operation)
        return sorted((o for name in names for o in self._by_name.get(name, ())), key=lambda o: o.id)

    @property
    def stored(self) -> dict[int, list[BackwardStep]]:
        """The turns in which each leaf's AccumulateGrad stored a gradient, by the id of the leaf's last version."""
        if self._stored is None:
            self._stored = {}
            for step in self.trace.steps:
                leaf = self.trace.functions[step.function].variable
                if leaf is not None and step.grad_after is not None:
                    self._stored.setdefault(self.flow.tensor(leaf), []).append(step)
        return self._stored

    @property
    def lines(self) -> frozenset[int]:
        """The lines of the main file that operations and passes are on."""
        if self._lines is None:
            spans = [one.span for one in self.trace.passes] + [one.span for one in self.trace.operations]
            self._lines = frozenset(span.line for span in spans if span is not None and not span.file)
        return self._lines

    # ---- evidence

    def at(self, text: str, span: Span | None) -> Evidence:
        return Evidence(text, span, self.text.line(span))

    def origin(self, record: TensorRecord) -> Evidence:
        """Return the evidence of where a tensor was made."""
        what = f"{record.label} is {self.kind(record)}"
        span = self.trace.tensors[record.first].span if record.is_leaf else record.span
        if span is not None:
            return self.at(what, span)
        bound = self.text.assignments(record.name) if record.name else []
        if len(bound) > 1:
            bound = self.text.seen_from(self.lines, bound)
        if bound:
            return self.at(what, places.head_of(bound[0]))
        begun = next((b for b in self.trace.begun if b.tensor == record.id), None)
        return self.at(what, None if begun is None else begun.span)

    def kind(self, record: TensorRecord) -> str:
        if not record.is_leaf:
            return f"a non-leaf, made by {record.op or record.grad_fn}"
        return "a leaf that requires grad" if record.requires_grad else "a leaf that does not require grad"

    def backward(self, one: PassRecord) -> Evidence:
        """Return the evidence of where a pass was called."""
        called = "backward" if one.stores else "autograd.grad"
        starts = ", ".join(self.label(i) for i in one.roots) or "a tensor"
        where = "" if one.span is not None else " (called by this command)"
        return self.at(f"{called} runs from {starts}{where}", one.span)

    def used(self, tensor: int) -> list[Evidence]:
        """Return the evidence of the operations that read a tensor."""
        found = []
        for index in self.flow.readers.get(self.flow.tensor(tensor), ()):
            operation = self.trace.operations[index]
            out = ", ".join(self.label(i) for i in operation.outputs)
            found.append(self.at(f"{self.label(tensor)} is used for {out}", operation.span))
        return found

    # ---- names

    def label(self, tensor: int) -> str:
        return self.trace.tensors[tensor].label

    def called(self, versions: tuple[int, ...]) -> str:
        """Return the name of a tensor, given the ids of its versions and aliases: its variable if it has one, else its
        label.
        """
        named = [self.trace.tensors[i].name for i in versions if self.trace.tensors[i].name]
        return named[0] or "" if named else self.label(versions[-1])

    def line(self, span: Span | None) -> str:
        """Return " on line 3", or "" without a place."""
        return f" on line {span.where}" if span is not None else ""

    def step(self, operation: Operation) -> str:
        """Return " in step 7", or "" outside of a training loop."""
        number = self.step_number(operation)
        return "" if number is None else f" in step {number}"

    def step_number(self, operation: Operation) -> int | None:
        """Return the number of the training step that an operation ran in."""
        for step in self.trace.training:
            if step.operations[0] <= operation.id < step.operations[1]:
                return step.number
        return None

    @property
    def roots(self) -> tuple[int, ...]:
        """The tensors at which the last pass that stores gradients began; without such a pass, the results."""
        return self.storing[-1].roots if self.storing else self.trace.roots

    def root_names(self) -> str:
        return ", ".join(self.label(i) for i in self.roots) or "the result"

    def visits_of(self, record: TensorRecord) -> list[BackwardStep]:
        """Return the turns of the function that receives a tensor's gradient."""
        return [] if record.function is None else self.visits.get(record.function, [])


def last_change(facts: Facts, record: TensorRecord, *hows: str) -> Change | None:
    """Return the last change of a tensor's gradient."""
    changes = [c for c in facts.trace.changes if c.of_grad and record.id in facts.held(c)]
    return changes[-1] if changes and (not hows or changes[-1].how in hows) else None


def is_zero(value: Value | None) -> bool:
    """Whether a value is zero everywhere (and not empty)."""
    return value is not None and value.all_zero


def is_finite(value: Value | None) -> bool:
    return value is None or value.all_finite
