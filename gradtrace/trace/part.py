"""Make a Trace of one step of a training loop, or of one backward pass.

    step_of_trace(trace, 3)      what ran in the third step, with values and gradients as they were then
    pass_of_trace(trace, 7)      what the seventh backward pass went through

A tensor that was made before the part has no operation in it. Names and labels are those that the whole trace gives to
the tensors made at the same places in the last step: the loss of every step is "loss".
"""

from __future__ import annotations

import re
from bisect import bisect_left

from gradtrace.annotations import Any, Iterable, NamedTuple
from gradtrace.errors import UsageError
from gradtrace.trace.record import (
    Failure,
    FunctionRecord,
    Group,
    Operation,
    SavedRecord,
    ScopeRecord,
    TensorRecord,
    Trace,
    TrainingStep,
    Value,
)

SUFFIX = re.compile(r" (#\d+|\(version \d+\))")  # of a label that stands for one of several tensors


def step_of_trace(trace: Trace, number: int, everything: bool = True) -> Trace:
    """Return the step with this number, from 1; without `everything`, only what its passes' roots were computed
    from.
    """
    if not trace.training:
        raise UsageError("the program has no training loop: no two updates or passes from one line", "leave out --step")
    if not 1 <= number <= len(trace.training):
        raise UsageError(f"no step {number}", f"the loop has the steps 1 to {len(trace.training)}")
    step = trace.training[number - 1]
    return cut(trace, range(*step.operations), range(*step.passes), step.roots, everything, step)


def pass_of_trace(trace: Trace, number: int) -> Trace:
    """Return the backward pass with this number, from 1, and what its roots were computed from."""
    if not 1 <= number <= len(trace.passes):
        hint = f"the program has the passes 1 to {len(trace.passes)}" if trace.passes else "the program has none"
        raise UsageError(f"no backward pass {number}", hint)
    backward = trace.passes[number - 1]
    step = next((step for step in trace.training if step.passes[0] < number <= step.passes[1]), None)
    first = 0 if step is None else step.operations[0]
    return cut(trace, range(first, backward.until), range(number - 1, number), backward.roots, False, step)


def cut(
    trace: Trace,
    operations: range,
    passes: range,
    roots: tuple[int, ...],
    everything: bool,
    step: TrainingStep | None,
) -> Trace:
    """Return the trace of the part that has these operations and passes."""
    kept = [trace.operations[i] for i in operations]
    if not everything and roots:
        needed = before(trace, roots, operations)
        kept = [o for o in kept if not needed.isdisjoint(o.outputs)]
    tensors = {i for o in kept for i in o.outputs}
    tensors |= {o.tensor for operation in kept for o in operation.inputs if o.tensor is not None}
    tensors |= set(roots)
    return Part(trace, sorted(tensors), kept, passes, roots, step).trace()


def before(trace: Trace, roots: Iterable[int], operations: range) -> set[int]:
    """Return the tensors that the roots were computed from by these operations."""
    waiting = list(roots)
    seen = set(waiting)
    while waiting:
        operation = trace.tensors[waiting.pop()].operation
        if operation is None or operation not in operations:
            continue
        for operand in trace.operations[operation].inputs:
            if operand.tensor is not None and operand.tensor not in seen:
                seen.add(operand.tensor)
                waiting.append(operand.tensor)
    return seen


class Part(NamedTuple):
    """The operations, tensors and passes of a trace to keep, by their ids in the whole trace."""

    whole: Trace
    tensors: list[int]
    operations: list[Operation]
    passes: range
    roots: tuple[int, ...]
    step: TrainingStep | None

    def trace(self) -> Trace:
        return Renumbered(self).trace()


class Renumbered:
    """The writer of a part's records with new ids, so that an id is an index again."""

    def __init__(self, part: Part) -> None:
        whole = part.whole
        self.part = part
        self.whole = whole
        self.steps = [step for step in whole.steps if step.number in part.passes]
        self.tensors = {old: new for new, old in enumerate(part.tensors)}
        # a leaf's gradient is of the version that forward read, not of one that an initialisation made or wrote to
        read = (i for o in part.operations if o.function is not None for i in o.tensors)
        self.variables: dict[int, int] = {}
        for old in (*read, *part.tensors):
            self.variables.setdefault(whole.tensors[old].first, self.tensors[old])
        self.operations = {o.id: new for new, o in enumerate(part.operations)}
        self.order = list(self.operations)  # ascending
        self.steps_before = sum(step.number < part.passes.start for step in whole.steps)
        self.groups: dict[int, Group] = {}  # by id() of those of the whole trace
        own = {f for i in part.tensors if (f := whole.tensors[i].function) is not None}
        self.functions = {old: new for new, old in enumerate(sorted(own | {s.function for s in self.steps}))}
        self.outer = common_scopes(whole.scopes, part.operations)
        used = {scope for o in part.operations for scope in chain(whole.scopes, o.scope)} - self.outer
        self.scopes = {old: new for new, old in enumerate(sorted(used))}
        self.labels = labels_of(part)

    def known(self, ids: Iterable[int]) -> tuple[int, ...]:
        """Return the new ids of those tensors that the part has; of a leaf, that of the version that it has."""
        new_ids = [self.tensor_id(i) for i in ids]
        return tuple(dict.fromkeys(i for i in new_ids if i is not None))

    def tensor_id(self, old: int | None) -> int | None:
        if old is None:
            return None
        record = self.whole.tensors[old]
        return self.tensors.get(old, self.variables.get(record.first) if record.is_leaf else None)

    def trace(self) -> Trace:
        whole, part = self.whole, self.part
        first = part.operations[0].id if part.operations else 0
        last = part.operations[-1].id + 1 if part.operations else 0
        start, end = self.window(first, last)
        tensors = tuple(self.tensor(whole.tensors[old], new) for old, new in self.tensors.items())
        roots = self.known(part.roots)
        return Trace(
            whole.source_name,
            whole.source_text,
            tensors,
            tuple(self.operation(o) for o in part.operations),
            tuple(self.function(whole.functions[old], new) for old, new in self.functions.items()),
            tuple(
                e._replace(source=self.functions[e.source], target=self.functions[e.target])
                for e in whole.function_edges
                if e.source in self.functions and e.target in self.functions
            ),
            roots,
            roots,
            whole.backward_runs,
            tuple((name, t.id) for t in tensors for name in t.names),
            tuple(self.scope(whole.scopes[old], new) for old, new in self.scopes.items()),
            tuple(
                s._replace(
                    number=s.number - part.passes.start,
                    function=self.functions[s.function],
                    after=self.count(s.after),
                )
                for s in self.steps
            ),
            tuple(self.one_pass(p) for p in whole.passes[part.passes.start : part.passes.stop]),
            tuple(self.at(e, "tensor", "out") for e in whole.escapes if start <= e.after <= end),
            tuple(self.change(c) for c in whole.changes if start <= c.after <= end),
            tuple(b._replace(tensor=i) for b in whole.begun if (i := self.tensor_id(b.tensor)) is not None),
            self.failure(),
            self.training(roots),
            whole.files,
            whole.earlier_passes + part.passes.start,
            engine=whole.engine,
            left_out=whole.left_out,
            rank=whole.rank,
            leads=whole.leads,
            shards=whole.shards,
            buffers=tuple(b._replace(tensor=i) for b in whole.buffers if (i := self.tensor_id(b.tensor)) is not None),
            processes=whole.processes,
            precision=self.precision(start, end),
        )

    def precision(self, start: int, end: int) -> Any:
        """Return the measured errors of the part's operations and passes; updates and scales from `start` to `end`."""
        whole = self.whole.precision
        if whole is None:
            return None
        rows = [self.measured(row) for row in whole.measured if self.is_measured_here(row)]
        return whole._replace(
            measured=tuple(row for row in rows if row.tensor is not None),
            updates=tuple(
                self.at(u, "tensor") for u in whole.updates if start <= u.after <= end and self.has(u.tensor)
            ),
            scales=tuple(
                s._replace(
                    after=self.count(s.after),
                    tensors=self.known(s.tensors),
                    operations=tuple(self.operations[o] for o in s.operations if o in self.operations),
                )
                for s in whole.scales
                if start <= s.after <= end
            ),
            unmeasured=tuple(
                u._replace(operation=self.operations[u.operation])
                for u in whole.unmeasured
                if u.operation in self.operations
            ),
        )

    def is_measured_here(self, row: Any) -> bool:
        if row.operation is not None and row.operation not in self.operations:
            return False
        return row.passed in self.part.passes if row.passed is not None else True

    def measured(self, row: Any) -> Any:
        sources = [s._replace(tensor=i) for s in row.sources if (i := self.tensor_id(s.tensor)) is not None]
        return row._replace(
            operation=None if row.operation is None else self.operations[row.operation],
            passed=None if row.passed is None else row.passed - self.part.passes.start,
            tensor=self.tensor_id(row.tensor),
            sources=tuple(sources),
        )

    def has(self, tensor: int) -> bool:
        return self.tensor_id(tensor) is not None

    def training(self, roots: tuple[int, ...]) -> tuple[TrainingStep, ...]:
        """Return the training step that the part is or belongs to, with its number in the whole run."""
        if self.part.step is None:
            return ()
        operations, passes = (0, len(self.part.operations)), (0, len(self.part.passes))
        return (self.part.step._replace(operations=operations, passes=passes, roots=roots),)

    def window(self, first: int, last: int) -> tuple[int, int]:
        """Return the range of operations (first, last) whose changes and escapes belong to this part."""
        if self.part.step is None:
            return first, last
        return self.part.step.operations

    def count(self, operation: int) -> int:
        """Return how many of the part's operations come before an operation of the whole trace."""
        return bisect_left(self.order, operation)

    def tensor(self, t: TensorRecord, new: int) -> TensorRecord:
        label, names = self.labels[t.id]
        grad = self.gradient(t)
        return t._replace(
            grad=grad,
            grad_note="" if grad is not None else t.grad_note,
            id=new,
            name=names[0] if names else None,
            label=label,
            names=names,
            function=None if t.function is None else self.functions.get(t.function),
            operation=None if t.operation is None else self.operations.get(t.operation),
            is_root=t.id in self.part.roots,
            is_output=t.id in self.part.roots,
            first=self.tensors.get(t.first, new),
        )

    def gradient(self, t: TensorRecord) -> Value | None:
        """Return the gradient of a tensor; of a leaf, that of the version that forward read."""
        if not t.is_leaf:
            return t.grad
        return self.whole.tensors[self.part.tensors[self.variables[t.first]]].grad

    def operation(self, o: Operation) -> Operation:
        return o._replace(
            id=self.operations[o.id],
            inputs=tuple(i if i.tensor is None else i._replace(tensor=self.tensors[i.tensor]) for i in o.inputs),
            outputs=tuple(self.tensors[i] for i in o.outputs),
            function=None if o.function is None else self.functions.get(o.function),
            scope=self.scope_id(o.scope),
        )

    def function(self, f: FunctionRecord, new: int) -> FunctionRecord:
        return f._replace(
            id=new,
            sequence=new,
            outputs=tuple(self.tensors[i] for i in f.outputs if i in self.tensors),
            variable=self.tensor_id(f.variable),
            saved=tuple(self.saved(s) for s in f.saved),
        )

    def saved(self, s: SavedRecord) -> SavedRecord:
        new_id = self.tensor_id(s.tensor)
        gone = s.tensor is not None and new_id is None
        return s._replace(tensor=new_id, text=self.whole.tensors[s.tensor or 0].label if gone else s.text)

    def scope_id(self, old: int | None) -> int | None:
        while old is not None and old not in self.scopes:
            old = self.whole.scopes[old].parent
        return None if old is None else self.scopes[old]

    def scope(self, s: ScopeRecord, new: int) -> ScopeRecord:
        return s._replace(id=new, parent=self.scope_id(s.parent))

    def failure(self) -> Failure | None:
        failed = self.whole.failure
        if failed is None or failed.operation is None:
            return failed
        return failed._replace(operation=self.operations.get(failed.operation))

    def one_pass(self, one: Any) -> Any:
        return one._replace(
            number=one.number - self.part.passes.start,
            roots=self.known(one.roots),
            after=self.count(one.after),
            until=self.count(one.until),
            inputs=None if one.inputs is None else self.known(one.inputs),
        )

    def at(self, event: Any, *fields: str) -> Any:
        """Return an event with new ids in the fields that hold a tensor's."""
        ids = {field: self.tensor_id(getattr(event, field)) for field in fields}
        return event._replace(after=self.count(event.after), **ids)

    def change(self, change: Any) -> Any:
        return change._replace(
            tensors=self.written(change.tensors),
            after=self.count(change.after),
            after_steps=min(max(change.after_steps - self.steps_before, 0), len(self.steps)),
            operation=None if change.operation is None else self.operations.get(change.operation),
        )

    def written(self, tensors: Group) -> Group:
        """Return the new ids of the tensors that a change wrote to: one tuple for all changes that share theirs."""
        shared = id(tensors)
        if shared not in self.groups:
            self.groups[shared] = self.known(tensors)
        return self.groups[shared]


# ---- scopes


def chain(scopes: tuple[ScopeRecord, ...], scope: int | None) -> list[int]:
    """Return the ids of a scope and of the scopes around it, innermost first."""
    ids = []
    while scope is not None:
        ids.append(scope)
        scope = scopes[scope].parent
    return ids


def common_scopes(scopes: tuple[ScopeRecord, ...], operations: list[Operation]) -> set[int]:
    """Return the loops, iterations and functions that contain the whole part; labels leave these out."""
    chains = [set(chain(scopes, o.scope)) for o in operations]
    return set.intersection(*chains) if chains else set()


# ---- labels


def labels_of(part: Part) -> dict[int, tuple[str, tuple[str, ...]]]:
    """Return each tensor's label and names in this part."""
    trace = part.whole
    places: dict[Any, tuple[str, ...]] = {}
    # what a function made outside the loop may have the place of another variable
    loop = range(trace.training[0].operations[0], trace.training[-1].operations[1]) if part.step else range(2**62)
    for t in trace.tensors:
        if t.names and t.operation is not None and t.operation in loop:
            places[place(trace, t)] = t.names
    leaves = {t.first: t.names for t in trace.tensors if t.names and t.is_last}
    here = {o.id for o in part.operations}
    names: dict[int, tuple[str, ...]] = {}
    taken: set[str] = set()
    for i in reversed(part.tensors):  # of several versions the last one has the name
        t = trace.tensors[i]
        own = t.names or leaves.get(t.first, ()) or (places.get(place(trace, t), ()) if t.operation in here else ())
        names[i] = tuple(name for name in own if name not in taken)
        taken.update(own)
    plain = {i: names[i][0] if names[i] else SUFFIX.sub("", trace.tensors[i].label) for i in part.tensors}
    return {i: (label, names[i]) for i, label in numbered(part, plain, names).items()}


def place(trace: Trace, t: TensorRecord) -> Any:
    """Return a key of where a tensor was made: its span, operation and text, and its index among the results."""
    operation = trace.operations[t.operation or 0]
    return t.span, operation.name, operation.text, operation.outputs.index(t.id)


def numbered(part: Part, plain: dict[int, str], names: dict[int, tuple[str, ...]]) -> dict[int, str]:
    """Make labels unique: earlier versions and repeated expressions get a number."""
    counts: dict[str, int] = {}
    for i in part.tensors:
        if not names[i]:
            counts[plain[i]] = counts.get(plain[i], 0) + 1
    numbers: dict[str, int] = {}
    named = {plain[i] for i in part.tensors if names[i]}
    labels = {}
    for i in part.tensors:
        text, t = plain[i], part.whole.tensors[i]
        if names[i]:
            labels[i] = text
        elif text in named:
            labels[i] = f"{text} (version {t.version})"
        elif counts[text] > 1:
            numbers[text] = numbers.get(text, 0) + 1
            labels[i] = f"{text} #{numbers[text]}"
        else:
            labels[i] = text
    return labels
