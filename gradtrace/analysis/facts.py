"""The facts that every explanation starts from: a trace with the lookups that explanations need."""

from __future__ import annotations

from bisect import bisect_right

from gradtrace.analysis import flow, places
from gradtrace.analysis.cause import Cause, Evidence
from gradtrace.analysis.steps import Arrivals
from gradtrace.annotations import Any, Callable, Iterable, Sequence
from gradtrace.engine.operators.op import lazy
from gradtrace.program import syntax as ast
from gradtrace.trace.labels import dotted
from gradtrace.trace.record import (
    BackwardStep,
    Change,
    Operation,
    OptimiserRecord,
    PassRecord,
    Span,
    TensorRecord,
    Trace,
    TrainingStep,
    Value,
)


class Facts:
    """A trace with the lookups that explanations need."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.tensors = trace.tensors
        self.operations = trace.operations
        self.functions = trace.functions
        self.passes = trace.passes
        self.steps = trace.steps
        self.text = places.Text(trace.source_text, trace.files)
        self.flow = flow.Flow(trace)
        self.names = dict(trace.names)
        self.begun = {b.tensor: b.span for b in reversed(trace.begun)}
        self.failed_pass = next((pass_ for pass_ in reversed(trace.passes) if pass_.error), None)
        storing = [pass_ for pass_ in trace.passes if pass_.stores]
        # one that failed left nothing
        self.storing = [pass_ for pass_ in storing if not pass_.error] or storing
        # the leaves that optimisers hold, in their order
        self.optimised = tuple(
            dict.fromkeys(self.flow.tensor(i) for o in trace.optimisers for i in o.tensors)
        )
        self._held: dict[int, frozenset[int]] = {}
        self._leaves: dict[int, tuple[int, ...]] = {}
        # what `history` found of each leaf that has no history
        self.lost: dict[int, Cause | None] = {}
        self.ledger: Any = None  # see `ledger.book.ledger_of`
        self.visits: dict[int, list[BackwardStep]] = {}
        for step in trace.steps:
            self.visits.setdefault(step.function, []).append(step)

    @lazy
    def arrivals(self) -> Arrivals:
        return Arrivals(self.trace)

    def held(self, change: Change) -> frozenset[int]:
        """Return the ids of the tensors that a change wrote to, as a set that is cached (it may
        have thousands of ids).
        """
        ids = self._held.get(id(change.tensors))
        if ids is None:
            ids = self._held[id(change.tensors)] = frozenset(change.tensors)
        return ids

    def leaves_of(self, change: Change) -> tuple[int, ...]:
        """Return the leaves that a change wrote to, as the ids of their last versions."""
        ids = self._leaves.get(id(change.tensors))
        if ids is None:
            leaves = [
                i
                for i in change.tensors
                if self.tensors[i].is_leaf and self.tensors[i].requires_grad
            ]
            ids = self._leaves[id(change.tensors)] = tuple(
                dict.fromkeys(map(self.flow.tensor, leaves))
            )
        return ids

    def held_by(self, optimiser: OptimiserRecord) -> frozenset[int]:
        """Return the leaves that an optimiser holds, as the ids of their last versions."""
        return frozenset(map(self.flow.tensor, optimiser.tensors))

    def calls_of(self, names: Iterable[str]) -> list[Operation]:
        """Return the operations of the operators with these names, in order."""
        return sorted(
            (o for name in names for o in self._by_name.get(name, ())), key=lambda o: o.id
        )

    @lazy
    def _by_name(self) -> dict[str, list[Operation]]:
        operations: dict[str, list[Operation]] = {}
        for operation in self.operations:
            operations.setdefault(operation.name, []).append(operation)
        return operations

    def maker(self, tensor: int | None) -> Operation | None:
        """Return the operation that made a tensor."""
        return None if tensor is None else maker_of(self.trace, self.tensors[tensor])

    def readers(self, tensor: int) -> list[Operation]:
        """Return the operations that read a tensor."""
        return [self.operations[i] for i in self.flow.readers.get(self.flow.tensor(tensor), ())]

    def reader_after(
        self, operation: Operation, wanted: Callable[[Operation], bool], depth: int, most: int
    ) -> Operation | None:
        """Return the first operation that is `wanted` among those that read a result, up to `depth`
        operations on. Of each tensor only `most` readers are considered.
        """
        waiting = list(operation.outputs)
        for _ in range(depth):
            readers = [o for tensor in waiting for o in self.readers(tensor)[:most]]
            reader = next(filter(wanted, readers), None)
            if reader is not None:
                return reader
            waiting = [i for o in readers for i in o.outputs]
        return None

    def operands(self, operation: Operation) -> list[tuple[TensorRecord, Value]]:
        """Return the tensors that an operation read, with their values at the time."""
        records = [self.tensors[i] for i in operation.tensors]
        return [(t, t.value) for t in records if t.value is not None]

    def variable(self, name: str) -> TensorRecord | None:
        """Return the tensor that a variable holds."""
        return self.tensors[self.names[name]] if name in self.names else None

    @lazy
    def stored(self) -> dict[int, list[BackwardStep]]:
        """The turns in which each leaf's AccumulateGrad stored a gradient, by the id of the leaf's
        last version.
        """
        stored: dict[int, list[BackwardStep]] = {}
        for step in self.steps:
            leaf = self.functions[step.function].variable
            if leaf is not None and step.grad_after is not None:
                stored.setdefault(self.flow.tensor(leaf), []).append(step)
        return stored

    @lazy
    def assigned(self) -> frozenset[int]:
        """The leaves whose gradient the program has set, by the ids of their last versions."""
        changes = (change for change in self.trace.changes if change.how == "assigned")
        return frozenset(leaf for change in changes for leaf in self.leaves_of(change))

    @lazy
    def changed_by_hooks(self) -> list[BackwardStep]:
        """The turns of functions whose gradient a hook changed."""
        return [s for s in self.steps if s.hooks and any(hook.changed for hook in s.hooks)]

    @lazy
    def stepped(self) -> frozenset[int]:
        """The passes right after which an optimiser took a step."""
        return frozenset(
            self.steps[change.after_steps - 1].number
            for change in self.trace.changes
            if change.how == "step" and change.after_steps
        )

    @lazy
    def last_of_each_line(self) -> list[Operation]:
        """The last operation of each place in the program's own text, in their order."""
        own = (o for o in self.operations if o.span is not None and not o.span.file)
        return sorted({o.span: o for o in own}.values(), key=lambda o: o.id)

    @lazy
    def begins(self) -> frozenset[int]:
        """The tensors at which passes began."""
        return frozenset(root for pass_ in self.passes for root in pass_.roots)

    @lazy
    def lines(self) -> frozenset[int]:
        """The lines of the main file that operations and passes are on."""
        spans = [record.span for record in self.passes] + [
            record.span for record in self.operations
        ]
        return frozenset(span.line for span in spans if span is not None and not span.file)

    @lazy
    def leads(self) -> dict[str, str]:
        """What to call lines of libraries, by their own places (see `own_lines`)."""
        return own_lines(self.trace)

    # ---- evidence

    def at(self, text: str, span: Span | None) -> Evidence:
        lead = "" if span is None else self.leads.get(span.where, "")
        return Evidence(text, span, self.text.line(span), lead)

    def statement(self, change: Change) -> str:
        """Return the text of a write: the call, or the assignment to `.data`."""
        if change.how == "data":
            return self.text.line(change.span) or change.text
        return change.text or change.how

    def at_line(self, span: Span | None) -> str:
        """Return " on line 3", " at layers.py:3", or "" without a place; a line of a library is
        named by the program's own.
        """
        where = "" if span is None else self.where(span)
        return where and f" {'on' if where.startswith('line ') else 'at'} {where}"

    def where(self, span: Span) -> str:
        """Return the place of a line in words: "line 3", "layers.py:3", or in a library "line 12,
        in BertModel (modeling_bert.py:130)".
        """
        return self.leads.get(span.where, span.where)

    def origin(self, record: TensorRecord) -> Evidence:
        """Return the evidence of where a tensor was made."""
        sentence = f"{record.label} is {self.kind(record)}"
        span = self.tensors[record.first].span if record.is_leaf else record.span
        if span is not None:
            return self.at(sentence, span)
        bound = self.text.assignments(record.name) if record.name else []
        if len(bound) > 1:
            bound = self.before_use(record, self.text.seen_from(self.lines, bound))
        return self.at(sentence, places.head_of(bound[0]) if bound else self.begun.get(record.id))

    def before_use(self, record: TensorRecord, bound: list[Any]) -> list[Any]:
        """Return the last of some statements above the first operation that reads a tensor, or else
        all of them.
        """
        span = next(
            (o.span for o in self.readers(record.id) if o.span is not None and not o.span.file),
            None,
        )
        above = [] if span is None else [s for s in bound if s.lineno < span.line]
        return above[-1:] or bound

    def kind(self, record: TensorRecord) -> str:
        if not record.is_leaf:
            return f"a non-leaf, made by {record.op or record.grad_fn}"
        return (
            "a leaf that requires grad"
            if record.requires_grad
            else "a leaf that does not require grad"
        )

    def backward(self, pass_: PassRecord) -> Evidence:
        """Return the evidence of where a pass was called."""
        called = "backward" if pass_.stores else "autograd.grad"
        where = "" if pass_.span is not None else " (called by this command)"
        return self.at(
            f"{called} runs from {self.labels(pass_.roots) or 'a tensor'}{where}", pass_.span
        )

    def uses(self, tensor: int) -> list[Evidence]:
        """Return the evidence of the operations that read a tensor."""
        name = self.label(tensor)
        return [
            self.at(f"{name} is used for {self.labels(o.outputs)}", o.span)
            for o in self.readers(tensor)
        ]

    # ---- names

    def label(self, tensor: int) -> str:
        return self.tensors[tensor].label

    def labels(self, tensors: Iterable[int]) -> str:
        return ", ".join(map(self.label, tensors))

    def called(self, versions: tuple[int, ...]) -> str:
        """Return the name of a tensor, given the ids of its versions and aliases: its variable if
        it has one, else its label.
        """
        return next((name for i in versions if (name := self.tensors[i].name)), "") or self.label(
            versions[-1]
        )

    def step(self, operation: Operation) -> str:
        """Return " in step 7", or "" outside of a training loop."""
        number = self.step_number(operation)
        return "" if number is None else f" in step {number}"

    def step_number(self, operation: Operation) -> int | None:
        """Return the number of the training step that an operation ran in."""
        number = bisect_right(self.step_starts, operation.id) - 1
        step = self.trace.training[number] if number >= 0 else None
        return step.number if step is not None and operation.id < step.operations[1] else None

    @lazy
    def step_starts(self) -> list[int]:
        """The first operation of each training step."""
        return [step.operations[0] for step in self.trace.training]

    def step_of_pass(self, number: int) -> int | None:
        """Return the number of the training step that a pass ran in."""
        return next((s.number for s in self.trace.training if number in range(*s.passes)), None)

    @property
    def roots(self) -> tuple[int, ...]:
        """The tensors at which the last pass that stores gradients began; without such a pass, the
        results.
        """
        return self.storing[-1].roots if self.storing else self.trace.roots

    def root_names(self) -> str:
        return self.labels(self.roots) or "the result"

    def visits_of(self, record: TensorRecord) -> list[BackwardStep]:
        """Return the turns of the function that receives a tensor's gradient."""
        return [] if record.function is None else self.visits.get(record.function, [])

    def pass_with(self, reached: set[int]) -> PassRecord:
        """Return the last pass that stores gradients and begins at one of the tensors; without such
        a pass, the last one that stores gradients.
        """
        passes = (
            pass_
            for pass_ in reversed(self.storing)
            if not reached.isdisjoint(map(self.flow.tensor, pass_.roots))
        )
        return next(passes, self.storing[-1])

    def cuts_on_the_way(
        self, record: TensorRecord, roots: Iterable[int] | None = None
    ) -> list[flow.Cut]:
        """Return what cuts gradients on the paths from a tensor to the roots, by default those of
        the last pass.
        """
        into = self.flow.before(self.roots if roots is None else roots)
        return [cut for cut in self.flow.cuts_after(record.id) if cut.result in into]

    def last_change(self, record: TensorRecord) -> Change | None:
        """Return the last change of a tensor's gradient."""
        changes = reversed(self.trace.changes)
        return next((c for c in changes if c.of_grad and record.id in self.held(c)), None)

    @lazy
    def _writes(self) -> dict[tuple[int | None, str], list[Change]]:
        writes: dict[tuple[int | None, str], list[Change]] = {}
        for change in self.trace.changes:
            writes.setdefault((change.operation, change.how), []).append(change)
        return writes

    def written(self, change: Change) -> tuple[Value | None, Value | None]:
        """Return what an operation's write to a tensor or its gradient found there, and what it
        left.
        """
        operation = None if change.operation is None else self.operations[change.operation]
        beside = self._writes[change.operation, change.how]
        if (
            operation is None
            or operation.name != change.how
            or len(beside) != len(operation.outputs)
        ):
            return None, None
        after = self.tensors[operation.outputs[beside.index(change)]]
        before = next(
            (t for i in operation.tensors if (t := self.tensors[i]).first == after.first), None
        )
        return None if before is None else before.value, after.value


def loss_of(trace: Trace, step: TrainingStep | PassRecord) -> float | None:
    """Return the loss of a step (see `loss_in`) as a number."""
    return number_of(loss_in(trace, step))


def number_of(loss: TensorRecord | None) -> float | None:
    """Return the number that a loss is, also one in a tensor of one element."""
    value = None if loss is None else loss.value
    if value is None or value.numel != 1 or not value.is_whole:
        return None
    return float(value.data.flat[0] if value.shape else value.data)


def loss_in(trace: Trace, step: TrainingStep | PassRecord) -> TensorRecord | None:
    """Return the loss of the step's last pass that stores gradients, since one of autograd.grad may
    be of a probe; without such a pass, of the last one (see `loss_among`).
    """
    if isinstance(step, PassRecord):
        return loss_among(trace, step.roots)
    passes = trace.passes[slice(*step.passes)]
    roots = [i for pass_ in passes if pass_.stores for i in pass_.roots]
    return loss_among(trace, roots or step.roots)


def loss_among(trace: Trace, roots: Sequence[int]) -> TensorRecord | None:
    """Return the last single number among the tensors at which passes began; None if they are of
    several elements. Of a number that a GradScaler has scaled, or that the program has made from
    its loss by a factor, this is the number before it.
    """
    numbers = (
        t
        for i in reversed(roots)
        if (t := trace.tensors[i]).value is not None and t.value.numel == 1
    )
    number = next(numbers, None)
    maker = maker_of(trace, number)
    if (
        maker is not None
        and maker.name == "mul"
        and maker.tensors
        and is_scaling(maker.text)
        and names_scaler(trace)
    ):
        number = trace.tensors[maker.tensors[0]]
        maker = maker_of(trace, number)
    if maker is not None and maker.name in ("mul", "div") and is_multiple(maker):
        named = trace.tensors[maker.tensors[0]]
        return number if named.operation is None else named
    return number


def maker_of(trace: Trace, record: TensorRecord | None) -> Operation | None:
    """Return the operation that made a tensor; None for a leaf."""
    return (
        None if record is None or record.operation is None else trace.operations[record.operation]
    )


def names_scaler(trace: Trace) -> bool:
    """Whether the recorded text names a GradScaler; other objects have a method scale() too."""
    return any("GradScaler" in text for text in (trace.source_text, *dict(trace.files).values()))


def is_scaling(text: str) -> bool:
    """Whether this is a call of GradScaler.scale(), which is the text of the multiplication that
    runs in it.
    """
    call = parsed(text)
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "scale"
    )


def is_multiple(operation: Operation) -> bool:
    """Whether this divides or multiplies a tensor that the program has a name for by a number:
    `loss / steps`.
    """
    whole = parsed(operation.text)
    positions = [operand.position for operand in operation.inputs if operand.tensor is not None]
    if not isinstance(whole, ast.BinOp) or len(positions) != 1:
        return False
    return bool(dotted((whole.left, whole.right)[positions[0]]))


def parsed(text: str) -> ast.expr | None:
    """Return the syntax tree of an expression; None if the text is not one."""
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def goes_bad(step: BackwardStep) -> bool:
    """Whether a function received finite gradients and sent one that is not finite."""
    return all(map(is_finite, step.upstream)) and not all(map(is_finite, step.downstream))


def is_zero(value: Value | None) -> bool:
    """Whether a value is zero everywhere (and not empty)."""
    return value is not None and value.all_zero


def is_nonzero(value: Value | None) -> bool:
    """Whether a value is known to have an element other than 0."""
    return value is not None and value.is_measured and not value.all_zero


def is_finite(value: Value | None) -> bool:
    return value is None or value.all_finite


# ---- lines of libraries


def own_lines(trace: Trace) -> dict[str, str]:
    """Return, by the place of a library's line in words ("modeling_bert.py:130"), the place to
    show for it. A line that several lines of the program lead to has none.
    """
    if not trace.files:
        return {}
    by_line: dict[str, set[str]] = {}
    by_file: dict[str, set[str]] = {}
    spans: dict[str, Span] = {}
    own = dict(trace.leads)
    for operation in trace.operations:
        span = operation.span
        lead = lead_of(trace, operation, own) if span is not None and span.file else ""
        if span is not None and lead:
            spans[span.where] = span
            by_line.setdefault(span.where, set()).add(lead)
            by_file.setdefault(span.file, set()).add(lead)
    for span, caller in trace.leads:
        spans[span.where] = span
        texts = by_line.setdefault(span.where, set())
        if not any(lead.partition(",")[0] == caller.where for lead in texts):
            texts.add(caller.where)
    failed = None if trace.failure is None else trace.failure.span
    if failed is not None and failed.where not in by_line and failed.file in by_file:
        spans[failed.where] = failed
        by_line[failed.where] = by_file[failed.file]
    return {
        where: library_place(spans[where], *leads)
        for where, leads in by_line.items()
        if len(leads) == 1
    }


def library_place(span: Span, lead: str) -> str:
    return f"{lead} ({span.file.rpartition('/')[2]}:{span.line})"


def lead_of(trace: Trace, operation: Operation, own: dict[Span, Span]) -> str:
    """Return the program's line that called the module around an operation, or the trainer that
    calls it (`own`, by its place), and the module's class; "" without one.
    """
    for record in trace.scopes_around(operation.scope):
        span = record.span if record.kind == "module" else None
        span = own.get(span, span) if span is not None else None
        if span is not None and not span.file:
            is_call = record.span == operation.span  # of a module of PyTorch
            return span.where if is_call else f"{span.where}, in {record.detail}"
    return ""
