"""Windows on a trace: one step of a training loop, one backward pass, or what a picture shows.

    step_window(trace, 3)      what ran in the third step, with values and gradients as they were
                               then
    pass_window(trace, 7)      what the seventh backward pass went through

A window is a Trace, so every view and analysis takes one. Its records are the whole trace's:
`Window` selects them, and changes the numbers in those fields whose annotations say what they count
(`trace/record.py`), so that an id is an index again. A record of something outside of the window is
left out.

A tensor that was made before the window has no operation in it. Names and labels are those that the
whole trace gives to the tensors made at the same places in the last step: the loss of every step is
"loss".
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter

from gradtrace.annotations import Any, Callable, Iterable, Sequence
from gradtrace.errors import UsageError
from gradtrace.trace.fields import (
    FUNCTION,
    GROUP,
    NUMBERED_FIELDS,
    OPERATION,
    OPTIMISER,
    PASS,
    SCOPE,
    TENSOR,
    Many,
    Maybe,
)
from gradtrace.trace.precision import Measured, Precision
from gradtrace.trace.record import (
    Group,
    Operation,
    SavedRecord,
    TensorRecord,
    Trace,
    TrainingStep,
    Value,
)

SUFFIX = re.compile(r" (#\d+|\(version \d+\))")  # of a label that stands for one of several tensors


def step_window(trace: Trace, number: int, everything: bool = True) -> Trace:
    """Return the step with this number, from 1; without `everything`, only what its passes' roots
    were computed from.
    """
    if not trace.training:
        raise UsageError(
            "the program has no training loop: no two updates or passes from one line",
            "leave out --step",
        )
    if not 1 <= number <= len(trace.training):
        raise UsageError(f"no step {number}", f"the loop has the steps 1 to {len(trace.training)}")
    step = trace.training[number - 1]
    return window(trace, range(*step.operations), range(*step.passes), step.roots, everything, step)


def pass_window(trace: Trace, number: int) -> Trace:
    """Return the backward pass with this number, from 1, and what its roots were computed from."""
    if not 1 <= number <= len(trace.passes):
        hint = (
            f"the program has the passes 1 to {len(trace.passes)}"
            if trace.passes
            else "the program has none"
        )
        raise UsageError(f"no backward pass {number}", hint)
    backward = trace.passes[number - 1]
    step = next(
        (step for step in trace.training if step.passes[0] < number <= step.passes[1]), None
    )
    first = 0 if step is None else step.operations[0]
    return window(
        trace, range(first, backward.until), range(number - 1, number), backward.roots, False, step
    )


def window(
    trace: Trace,
    operations: range,
    passes: range,
    roots: tuple[int, ...],
    everything: bool,
    step: TrainingStep | None,
) -> Trace:
    """Return the window on these operations and passes."""
    kept = [trace.operations[i] for i in operations]
    if not everything and roots:
        needed = before(trace, roots, operations)
        kept = [o for o in kept if not needed.isdisjoint(o.outputs)]
    tensors = {i for o in kept for i in (*o.outputs, *o.tensors)}
    return Window(trace, tensors | set(roots), kept, passes, roots, step).trace()


def before(trace: Trace, roots: Iterable[int], operations: range) -> set[int]:
    """Return the tensors that the roots were computed from by these operations."""
    waiting = list(roots)
    seen = set(waiting)
    while waiting:
        operation = trace.tensors[waiting.pop()].operation
        if operation is None or operation not in operations:
            continue
        for i in trace.operations[operation].tensors:
            if i not in seen:
                seen.add(i)
                waiting.append(i)
    return seen


class Window:
    """The selection of a trace's records that a window shows, and their numbers there.

    `tensors`, `functions`, `operations` and `scopes` have the new number of each record that is
    selected.
    """

    def __init__(
        self,
        whole: Trace,
        tensors: Iterable[int],
        operations: Sequence[Operation],
        passes: range,
        roots: tuple[int, ...],
        step: TrainingStep | None = None,
    ) -> None:
        self.whole = whole
        self.kept = operations
        self.passes = passes
        self.roots = roots
        self.step = step
        self.tensors = numbers(tensors)
        # a leaf's gradient is of the version that forward read, not of one that an initialisation
        # made or wrote to
        read = (i for o in operations if o.function is not None for i in o.tensors)
        self.variables: dict[int, int] = {}
        for i in (*read, *self.tensors):
            self.variables.setdefault(whole.tensors[i].first, i)
        self.operations = numbers(o.id for o in operations)
        self.order = list(self.operations)
        self.steps = [visit for visit in whole.steps if visit.number in passes]
        self.functions = numbers(self.find_functions())
        self.scopes = numbers(self.find_scopes())
        self.labels = self.find_labels()
        self.steps_before = sum(visit.number < passes.start for visit in whole.steps)
        self.groups: dict[int, Group] = {}  # by id() of those of the whole trace
        # of each class of records: the fields that have numbers
        self.fields: dict[Any, list[tuple[int, Callable[[Any], Any], bool]]] = {}
        self.number_of: dict[str, Callable[[Any], Any]] = {
            TENSOR: self.tensor_id,
            OPERATION: self.operations.get,
            FUNCTION: self.functions.get,
            SCOPE: self.scope_id,
            PASS: lambda old: old - passes.start if old in passes else None,
            "OperationCount": self.count,
            "StepCount": self.count_steps,
            GROUP: self.group,
        }

    def trace(self) -> Trace:
        """Return the window as a Trace."""
        selected = self.selected()
        count = len(selected.optimisers)
        self.number_of[OPTIMISER] = lambda old: old if old < count else None
        trace: Trace = self.renumbered(selected)
        return trace._replace(
            names=tuple((name, t.id) for t in trace.tensors for name in t.names),
            training=self.training(trace.roots),
            earlier_passes=self.whole.earlier_passes + self.passes.start,
        )

    def selected(self) -> Trace:
        """Return the records that the window shows, with the numbers of the whole trace."""
        whole = self.whole
        start, end = self.extent()
        return whole._replace(
            tensors=tuple(whole.tensors[i] for i in self.tensors),
            operations=tuple(self.kept),
            functions=tuple(whole.functions[i] for i in self.functions),
            function_edges=tuple(
                edge for edge in whole.function_edges if edge.source in self.functions
            ),
            steps=tuple(self.steps),
            scopes=tuple(whole.scopes[i] for i in self.scopes),
            roots=self.roots,
            outputs=self.roots,
            names=(),
            escapes=between(whole.escapes, start, end),
            changes=between(whole.changes, start, end),
            clips=between(whole.clips, start, end),
            hooks=tuple(
                hook
                for hook in whole.hooks
                if hook.after <= end and (hook.removed is None or hook.removed > start)
            ),
            scalings=between(whole.scalings, start, end),
            schedules=(),
            training=(),
            optimisers=(),
            checks=(),
            precision=self.precision(start, end),
        )

    def extent(self) -> tuple[int, int]:
        """Return the range of operations (first, last) whose changes and escapes belong to this
        window.
        """
        if self.step is not None:
            return self.step.operations
        return (self.order[0], self.order[-1] + 1) if self.order else (0, 0)

    def training(self, roots: tuple[int, ...]) -> tuple[TrainingStep, ...]:
        """Return the training step that the window is or belongs to, with its number in the whole
        run.
        """
        if self.step is None:
            return ()
        operations = (0, len(self.order))
        passes = (0, len(self.passes))
        return (self.step._replace(operations=operations, passes=passes, roots=roots),)

    def precision(self, start: int, end: int) -> Precision | None:
        """Return the measured errors of the window's operations and passes; updates and scales from
        `start` to `end`.
        """
        whole = self.whole.precision
        if whole is None:
            return None
        return whole._replace(
            measured=tuple(filter(self.is_measured_here, whole.measured)),
            updates=between(whole.updates, start, end),
            scales=between(whole.scales, start, end),
        )

    def is_measured_here(self, row: Measured) -> bool:
        if row.operation is not None and row.operation not in self.operations:
            return False
        return row.passed is None or row.passed in self.passes

    # ---- what is shown

    def find_functions(self) -> set[int]:
        """Return the functions that made the tensors, and those that the passes visit."""
        functions = {self.whole.tensors[i].function for i in self.tensors}
        functions |= {visit.function for visit in self.steps}
        return {function for function in functions if function is not None}

    def find_scopes(self) -> set[int]:
        """Return the scopes of the operations, except for the loops, iterations and functions that
        contain them all: labels leave these out.
        """
        around = [{s.id for s in self.whole.scopes_around(o.scope)} for o in self.kept]
        if not around:
            return set()
        shared = set.intersection(*around)
        return {scope for scopes in around for scope in scopes} - shared

    def find_labels(self) -> dict[int, tuple[str, tuple[str, ...]]]:
        """Return each tensor's label and names."""
        names = self.find_names()
        plain = {
            i: own[0] if own else SUFFIX.sub("", self.whole.tensors[i].label)
            for i, own in names.items()
        }
        repeated = Counter(plain[i] for i, own in names.items() if not own)
        named = {own[0] for own in names.values() if own}
        numbers: dict[str, int] = {}
        labels = {}
        for i in self.tensors:
            text = plain[i]
            if not names[i] and text in named:
                text = f"{text} (version {self.whole.tensors[i].version})"
            elif not names[i] and repeated[text] > 1:
                numbers[text] = numbers.get(text, 0) + 1
                text = f"{text} #{numbers[text]}"
            labels[i] = text, names[i]
        return labels

    def find_names(self) -> dict[int, tuple[str, ...]]:
        """Return each tensor's names: its own, or those of what was made at the same place in the
        last step.
        """
        whole = self.whole
        # what a function made outside the loop may have the place of another variable
        loop = (
            range(whole.training[0].operations[0], whole.training[-1].operations[1])
            if self.step
            else None
        )
        places: dict[Any, tuple[str, ...]] = {}
        for t in whole.tensors:
            if t.names and t.operation is not None and (loop is None or t.operation in loop):
                places[place(whole, t)] = t.names
        leaves = {t.first: t.names for t in whole.tensors if t.names and t.is_last}
        names: dict[int, tuple[str, ...]] = {}
        taken: set[str] = set()
        for i in reversed(self.tensors):  # of several versions the last one has the name
            t = whole.tensors[i]
            own = t.names or leaves.get(t.first, ())
            if not own and t.operation in self.operations:
                own = places.get(place(whole, t), ())
            names[i] = tuple(name for name in own if name not in taken)
            taken.update(own)
        return names

    # ---- numbers

    def renumbered(self, record: Any) -> Any:
        """Return a record with the window's numbers; None if a record that it is about is not in
        the window.
        """
        kind = type(record)
        fields = self.fields.get(kind)
        if fields is None:
            fields = self.fields[kind] = self.numbered_fields(kind)
        values = list(record)
        for index, translated, is_optional in fields:
            values[index] = value = translated(values[index])
            if value is None and not is_optional:
                return None
        new = tuple.__new__(kind, values)
        if kind is TensorRecord:
            return self.as_in_window(record, new)
        return self.with_label(record, new) if kind is SavedRecord else new

    def numbered_fields(self, record: Any) -> list[tuple[int, Callable[[Any], Any], bool]]:
        """Return the index of each field of a class of records that has numbers, the function that
        translates it, and whether it may be None.
        """
        return [
            (record._fields.index(name), self.translation(kind), isinstance(kind, Maybe))
            for name, kind in NUMBERED_FIELDS[record]
        ]

    def translation(self, kind: Any) -> Callable[[Any], Any]:
        """Return the function from a field's value to the one that it has in the window, which is
        None if there is none.
        """
        if isinstance(kind, Maybe):
            of = self.translation(kind.of)
            return lambda value: None if value is None else of(value)
        if not isinstance(kind, Many):
            return self.number_of.get(kind, self.renumbered)
        if kind.item is None:
            parts = [self.translation(part) for part in kind.of]
            return lambda value: tuple(
                part(entry) for part, entry in zip(parts, value, strict=True)
            )
        item = self.translation(kind.item)
        if kind.item in self.number_of:
            return lambda value: tuple(dict.fromkeys(filter(is_there, map(item, value))))
        return lambda value: tuple(filter(is_there, map(item, value)))

    def tensor_id(self, old: int) -> int | None:
        """Return the new id of a tensor; of a leaf, that of the version that the window has."""
        if old in self.tensors:
            return self.tensors[old]
        record = self.whole.tensors[old]
        version = self.variables.get(record.first) if record.is_leaf else None
        return None if version is None else self.tensors[version]

    def scope_id(self, old: int | None) -> int | None:
        """Return the new id of the innermost scope around and including this one that the window
        has.
        """
        while old is not None and old not in self.scopes:
            old = self.whole.scopes[old].parent
        return None if old is None else self.scopes[old]

    def count(self, operation: int) -> int:
        """Return how many of the window's operations come before an operation of the whole
        trace.
        """
        return bisect_left(self.order, operation)

    def count_steps(self, step: int) -> int:
        """Return how many of the window's backward steps come before a step of the whole trace."""
        return min(max(step - self.steps_before, 0), len(self.steps))

    def group(self, tensors: Group) -> Group:
        """Return the new ids of the tensors that a change wrote to: one tuple for all changes that
        share theirs.
        """
        shared = id(tensors)
        if shared not in self.groups:
            self.groups[shared] = self.translation(Many(item=TENSOR))(tensors)
        return self.groups[shared]

    # ---- contents

    def as_in_window(self, record: TensorRecord, new: TensorRecord) -> TensorRecord:
        """Return `new` with the label, the names and the gradient that the tensor has in the
        window.
        """
        label, names = self.labels[record.id]
        grad = self.gradient(record)
        is_root = record.id in self.roots
        return new._replace(
            grad=grad,
            grad_note="" if grad is not None else record.grad_note,
            name=names[0] if names else None,
            label=label,
            names=names,
            is_root=is_root,
            is_output=is_root,
            first=self.tensors.get(record.first, new.id),
        )

    def gradient(self, record: TensorRecord) -> Value | None:
        """Return the gradient of a tensor; of a leaf, that of the version that forward read."""
        return (
            self.whole.tensors[self.variables[record.first]].grad if record.is_leaf else record.grad
        )

    def with_label(self, saved: SavedRecord, new: SavedRecord) -> SavedRecord:
        """Return `new` with the label of its tensor if the window does not have that one."""
        if saved.tensor is None or new.tensor is not None:
            return new
        return new._replace(text=self.whole.tensors[saved.tensor].label)


def is_there(value: Any) -> bool:
    return value is not None


def numbers(ids: Iterable[int]) -> dict[int, int]:
    """Return new ids from 0 on, in the order of the old ones."""
    return {old: new for new, old in enumerate(sorted(ids))}


def between(events: tuple[Any, ...], start: int, end: int) -> tuple[Any, ...]:
    """Return the events from before one operation until before another."""
    return tuple(event for event in events if start <= event.after <= end)


def place(trace: Trace, t: TensorRecord) -> Any:
    """Return a key of where a tensor was made: its span, operation and text, and its index among
    the results.
    """
    operation = trace.operations[t.operation or 0]
    return t.span, operation.name, operation.text, operation.outputs.index(t.id)
