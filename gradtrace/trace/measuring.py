"""Measure the rounding errors of a run of gradtrace's engine, while it runs: the observers of --precision.

    watch = MeasuringWatch()
    run(program, ..., record=watch.keeper, watcher=watch)

Each operator call is computed again by its record's kernel, and each node of a backward pass by its record's rules, on
arrays of a wider type: on its actual inputs and on their shadows (`trace/precision.py` says what these are). Nothing
that the run computes is changed, and random numbers are not drawn again: they are arguments of the recorded calls.

The shadow follows the run's decisions: comparisons, indices and other results that are not floating-point are the
actual ones, and so are the results of calls that cannot be computed again (`Unmeasured`). A tensor that something else
than a recorded call has changed (an optimiser's step) has its present value as its shadow. Where a hook replaced a
gradient, that gradient is the shadow.
"""

from __future__ import annotations

from contextlib import contextmanager

from gradtrace.annotations import TYPE_CHECKING, Any, Iterator, NamedTuple, Sequence
from gradtrace.engine.calls.inplace import CopySlices
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.node import AccumulateGrad, Node, named
from gradtrace.engine.data.state import using
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.operators.op import Op, records
from gradtrace.trace import wide
from gradtrace.trace.keeper import KEPT, Keeper, storage_of
from gradtrace.trace.measured import precision
from gradtrace.trace.operands import tensors_in
from gradtrace.trace.recomputed import (
    RecordedCall,
    Slot,
    by_number,
    call_again,
    filled,
    gradient_again,
    has_error,
    operand_of,
    terms_of,
)
from gradtrace.trace.steps import Watch
from gradtrace.trace.updating import Updates

if TYPE_CHECKING:
    from gradtrace.trace.engine_builder import EngineBuilder
    from gradtrace.trace.events import Entry
    from gradtrace.trace.precision import Precision

Array = Any


class MeasuredRow:
    """A measured result, with live objects instead of ids. `call` is the number of the recorded call.

    `tensor` is the result (forward), or the input whose gradient it is; `sources` are triples: a tensor, whether its
    gradient is meant, the share of the error.
    """

    __slots__ = ("call", "fields", "is_sum", "passed", "room", "sources", "tensor")

    def __init__(self, call: int, passed: int | None, tensor: Any, fields: dict[str, Any], is_sum: bool) -> None:
        self.call = call
        self.passed = passed
        self.tensor = tensor
        self.is_sum = is_sum
        self.fields = fields
        self.sources: list[tuple[Any, bool, float]] = []
        self.room = 0.0  # by which factor its shadow may grow in its dtype


class ScaledStep(NamedTuple):
    """A step of a GradScaler, with the parameters whose gradients were not finite."""

    at: int  # how many calls had run before
    rows: int  # how many results had been measured before
    passes: int
    scale: float
    skipped: bool
    bad: list[Any]
    exact: bool  # all of them are finite in the wider type


class Arrived:
    """The gradients that a pass has sent to one output of a node so far: sums of the actual and the shadow ones."""

    def __init__(self, call: int, tensor: Any) -> None:
        self.call = call
        self.tensor = tensor
        self.actual: Array = 0
        self.shadow: Array = 0
        self.largest = 0.0
        self.count = 0


class MeasuringKeeper(Keeper):
    """A keeper that also gives the watcher the old value of a tensor that is about to be written to."""

    def __init__(self, records: list[Any], budget: int, watch: MeasuringWatch) -> None:
        super().__init__(records, budget)
        self.watch = watch

    def before_write(self, tensor: Tensor) -> None:
        self.watch.about_to_write(tensor)
        super().before_write(tensor)


class MeasuringWatch(Watch):
    """A watcher that measures the rounding error of each result."""

    def __init__(self, jacobians: bool = False, slopes: bool = True, detailed: int | None = None) -> None:
        super().__init__(jacobians, slopes, detailed)
        self.rows: list[MeasuredRow] = []
        self.refused: dict[int, str] = {}  # by call: why it was not measured
        self.updates = Updates(undisturbed)
        self.scales: list[ScaledStep] = []
        self._shadows: dict[int, tuple[Tensor, Array]] = {}  # by id(tensor)
        self._checks: dict[int, Any] = {}  # by id(tensor): the sum of the elements that a shadow stands for
        self._sharing: dict[int, set[int]] = {}  # by id() of a storage: the tensors on it that have a shadow
        self._nodes: dict[int, tuple[Node, RecordedCall]] = {}  # by id(node)
        self._written: tuple[Tensor, Any, Array] | None = None
        self._arrived: list[dict[tuple[int, int], Arrived]] = []  # of each running pass, by node and output
        self._called: RecordedCall | None = None  # what made the node that ran last
        self._inputs: list[Slot] = []
        self._stages: Sequence[Sequence[Any]] = ()  # its wide results, by stage and edge
        self._changes: Sequence[Any] = ()  # of CopySlices: by edge, what the gradient's error makes of its result
        self._captured: list[Array] = []  # the shadows of the gradients that autograd.grad returns
        self._grad_before: Array | None = None  # the shadow of a leaf's gradient before this pass

    def keeper(self, calls: list[Any], budget: int = KEPT) -> MeasuringKeeper:
        """Return the keeper that the run must have."""
        return MeasuringKeeper(calls, budget, self)

    # ---- shadows

    def shadow(self, tensor: Tensor) -> Array:
        """Return a tensor's shadow: its present value in the wider type if it has no other."""
        entry = self._shadows.get(id(tensor))
        check = self._checks.get(id(tensor))
        if entry is not None and check is not None and not np.array_equal(check, self._sum_of(tensor), equal_nan=True):
            entry = None  # something else than a call has written to it (numpy)
        return self._set(tensor, np.asarray(wide.widened(tensor._data))) if entry is None else entry[1]

    def _set(self, tensor: Tensor, shadow: Array) -> Array:
        self._shadows[id(tensor)] = (tensor, shadow)
        self._checks[id(tensor)] = self._sum_of(tensor)
        self._sharing.setdefault(id(storage_of(tensor._data)), set()).add(id(tensor))
        return shadow

    def _sum_of(self, tensor: Tensor) -> Any:
        """Return the sum of a tensor's elements, by which a write of numpy is found."""
        with np.errstate(all="ignore"):
            return np.sum(tensor._data)

    def about_to_write(self, tensor: Tensor) -> None:
        """Note the old value and shadow of a tensor. The shadow is dropped unless the write is a recorded call's.

        Other tensors with the same memory lose theirs too (`.data`), except views, whose shadows are views of it.
        """
        raw, shadow = tensor._data, self.shadow(tensor)
        self._written = (tensor, raw if type(raw) in (float, bool) else np.array(raw), shadow)
        for key in self._sharing.get(id(storage_of(raw)), {id(tensor)}):
            self._checks.pop(key, None)
            entry = self._shadows.get(key)
            if entry is not None and (entry[0] is tensor or not np.may_share_memory(entry[1], shadow)):
                del self._shadows[key]

    def changes(self, how: str, tensor: Tensor) -> None:
        super().changes(how, tensor)
        self._shadows.pop(id(tensor), None)

    # ---- forward

    def called(self, name: str, args: tuple[Any, ...], out: Any, origin: int) -> None:
        index = len(self.grad_modes)
        super().called(name, args, out, origin)
        written, self._written = self._written, None
        record = records.get(name)
        with undisturbed():
            if record is None and name[-1:] == "_" and name[:-1] in records:
                if written is None or written[0] is not out:
                    written = (out, out._data, self.shadow(out))
                self._measure(index, records[name[:-1]], args, (out,), written)
            elif record is not None:
                self._measure(index, record, args, out if isinstance(out, tuple) else (out,))
            elif is_same(out, args):  # detach
                self._set(out, self.shadow(args[0]))
            elif name == "grad" and len(tensors_in(out)) == len(self._captured):
                for gradient, shadow in zip(tensors_in(out), self._captured, strict=True):
                    self._set(gradient, shadow)
            else:
                self.refused[index] = "it is not an operator, so it cannot be computed again"

    def _measure(self, index: int, record: Op, args: Any, outs: tuple[Any, ...], written: Any = None) -> None:
        """Add the rows of a call's results, and keep their shadows. `written` is what an in-place call overwrote."""
        slots: list[Slot] = []

        def slotted(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return tuple(map(slotted, value)) if type(value) is tuple else wide.widened_plain(value)
            old = written is not None and value is written[0]
            slots.append(
                Slot(written[1], written[2].copy(), value) if old else Slot(value._data, self.shadow(value), value)
            )
            return slots[-1]

        template = tuple(map(slotted, args))
        stages, reason = call_again(record, template, slots, outs)
        if reason:
            self.refused[index] = reason
        shadows = []
        for number, out in enumerate(outs):
            widened = [np.asarray(stage[number]) for stage in stages]
            shadow = self._result(index, out, widened, slots, terms_of(record, slots, out))
            if widened and record.sign in ("+", "-") and record.arity == 2 and shadow.dtype.kind == "f":
                a, b = filled(template[:2], set())
                self.rows[-1].fields["rounds"] = wide.is_rounded_sum(a, b, shadow)
            if written is not None and written[2].shape == shadow.shape and written[2].flags.writeable:
                written[2][...] = shadow  # views of the tensor have views of its shadow
                shadow = written[2]
            shadows.append(shadow)
            self._set(out, shadow)
        if written is not None and outs[0].requires_grad and outs[0]._fn is None:  # an update of a leaf
            self._shadows.pop(id(outs[0]), None)
            if stages:
                self.updates.add(index + 1, outs[0], np.asarray(written[1]), np.asarray(stages[-1][0]))
        node = outs[0]._fn
        if node is not None and named(node).op is record:
            self._nodes[id(node)] = (node, RecordedCall(index, template, outs, tuple(shadows)))

    def _result(self, index: int, out: Tensor, stages: list[Array], slots: list[Slot], terms: int) -> Array:
        """Add the row of one result of a call, and return its shadow."""
        actual = np.asarray(out._data)
        if not stages or stages[0].shape != actual.shape:
            return np.asarray(wide.widened(out._data))
        if actual.dtype.kind == "f":
            self._add(MeasuredRow(index, None, out, wide.errors(actual, stages), False), slots, terms)
            return stages[0]
        count = int((actual != stages[0]).sum())
        if count:
            numbers = dict.fromkeys(("norm", "added", "inherited", "error"), 0.0)
            fields = {"dtype": actual.dtype.name, "elements": actual.size, **numbers, "decisions": count}
            self._add(MeasuredRow(index, None, out, fields, False), slots, 1)
        return actual

    def _add(self, row: MeasuredRow, slots: Sequence[Slot], terms: int) -> None:
        """Add a row, with what its inputs are."""
        shares, row.room = row.fields.pop("shares", ()), row.fields.pop("room", np.inf)
        wrong = [slot for slot in slots if has_error(slot)]
        if len(shares) == len(wrong):
            row.sources = [
                (s.tensor, s.of_gradient, part) for s, part in zip(wrong, shares, strict=True) if s.tensor is not None
            ]
        floats = [slot for slot in slots if slot.dtype.kind == "f"]
        widest = max((slot.dtype for slot in floats), key=lambda dtype: int(dtype.itemsize), default=None)
        row.fields["wide_input"] = "" if widest is None else widest.name
        row.fields["summand"] = max((wide.magnitude(slot.actual) for slot in floats), default=0.0)
        row.fields["terms"] = terms
        self.rows.append(row)

    # ---- backward

    def began(self, roots: list[Any], keep: bool, create_graph: bool, wanted: list[Any] | None, stores: bool) -> None:
        super().began(roots, keep, create_graph, wanted, stores)
        self._arrived.append({})

    def ended(self, error: BaseException | None) -> None:
        wanted = self._open[-1].wanted or ()
        super().ended(error)
        arrived = self._arrived.pop()
        gradients = [arrived.get((id(node), number)) for node, number in wanted]
        self._captured = [np.asarray(gradient.shadow) for gradient in gradients if gradient is not None]

    @property
    def _passed(self) -> int:
        return next(i for i in range(len(self.passes) - 1, -1, -1) if self.passes[i] is self._open[-1])

    def enters(self, node: Node, gradient: Any) -> None:
        super().enters(node, gradient)
        for number, raw in by_number(gradient).items():
            arrived = self._arrived[-1].get((id(node), number))
            if arrived is not None and arrived.count > 1 and arrived.tensor is not None:
                with undisturbed():
                    fields = wide.errors(np.asarray(raw), [arrived.shadow, arrived.actual])
                    fields["shares"] = ()
                    self._add(MeasuredRow(arrived.call, self._passed, arrived.tensor, fields, True), [], arrived.count)
                    fields["summand"] = arrived.largest

    def runs(self, node: Node, gradient: Any) -> None:
        super().runs(node, gradient)
        self._called, self._inputs, self._stages, self._changes, self._grad_before = None, [], (), (), None
        with undisturbed():
            if isinstance(node, AccumulateGrad):
                grad = None if node.variable._x is None else node.variable._x.grad
                self._grad_before = None if grad is None else self.shadow(grad).copy()
                return
            _, called = self._nodes.get(id(node), (None, None))
            self._called = called
            outs = called.outs if called is not None else (None,) * len(by_number(gradient))
            slots = {
                number: self._gradient(node, number, raw, outs[number] if number < len(outs) else None)
                for number, raw in by_number(gradient).items()
            }
            try:
                if isinstance(node, CopySlices):  # linear in its gradient
                    error = (slots[0].shadow - slots[0].actual).astype(node.dtype or np.float64)
                    self._changes = node.derive(error)
                elif (
                    node.op is not None and not node.op.undefined and getattr(called, "number", -1) not in self.refused
                ):
                    self._inputs, self._stages = gradient_again(node, slots, gradient, called)
            except Exception as error:  # where the rule itself raises, the pass does too
                if called is not None:
                    kind = type(error).__name__
                    self.refused[called.number] = f"its derivative does not take wider numbers ({kind})"

    def _gradient(self, node: Node, number: int, raw: Any, tensor: Any) -> Slot:
        """Return the slot of a gradient that a node received. What a hook replaced has no other shadow."""
        arrived = self._arrived[-1].get((id(node), number))
        replaced = any(changed for *_, changed in self.turn.hooks)
        return Slot(raw, None if arrived is None or replaced else np.asarray(arrived.shadow), tensor, True)

    def sends(self, index: int, value: Any) -> None:
        super().sends(index, value)
        node = self.turn.node
        raw = np.asarray(value._data if isinstance(value, Tensor) else value)
        called = self._called
        operand = None if called is None else operand_of(called.args, node, index)
        with undisturbed():
            shadow = self._sent(called, operand, index, raw)
            key = (id(node.next[index]), 0 if node.output_nrs is None else node.output_nrs[index])
            arrived = self._arrived[-1].get(key)
            if arrived is None:
                call = -1 if called is None else called.number
                arrived = self._arrived[-1][key] = Arrived(call, None if operand is None else operand.tensor)
            arrived.actual = arrived.actual + wide.widened(raw)
            arrived.shadow = arrived.shadow + shadow
            arrived.largest = max(arrived.largest, wide.magnitude(raw))
            arrived.count += 1
        if isinstance(value, Tensor) and id(value) not in self._shadows:
            self._set(value, shadow)

    def _sent(self, called: RecordedCall | None, operand: Slot | None, index: int, raw: Array) -> Array:
        """Add the row of a gradient that the running node sends, and return its shadow."""
        actual = np.asarray(wide.widened(raw))
        if self._changes:
            change = self._changes[index]
            return actual if change is None else actual + wide.widened(np.asarray(change))
        gradients = [stage[index] for stage in self._stages]
        if not gradients or any(
            gradient is None or gradient.shape != raw.shape or gradient.dtype != actual.dtype for gradient in gradients
        ):
            return actual
        if called is not None and operand is not None:
            self._add(
                MeasuredRow(called.number, self._passed, operand.tensor, wide.errors(raw, gradients), False),
                self._inputs,
                1,
            )
        return np.asarray(gradients[0])

    def leaves(self, node: Node, released: bool) -> None:
        super().leaves(node, released)
        if isinstance(node, AccumulateGrad):
            grad = None if node.variable._x is None else node.variable._x.grad
            arrived = self._arrived[-1].get((id(node), 0))
            if grad is not None and arrived is not None:
                before = 0 if self._grad_before is None else self._grad_before
                self._set(grad, np.asarray(before + arrived.shadow))
        elif released:
            self._nodes.pop(id(node), None)

    # ---- updates

    def optimises(self, optimiser: Any, tensors: list[Tensor]) -> None:
        super().optimises(optimiser, tensors)
        self.updates.watch(optimiser)

    def stepped(self, optimiser: Any) -> None:
        super().stepped(optimiser)
        with undisturbed():
            self.updates.compare(optimiser, len(self.grad_modes))

    def scaled(self, optimiser: Any, scale: float, skipped: bool) -> None:
        with undisturbed():
            params = [
                parameter
                for group in optimiser.param_groups
                for parameter in group["params"]
                if parameter.grad is not None
            ]
            bad = [
                parameter for parameter in params if skipped and not np.isfinite(np.asarray(parameter.grad._data)).all()
            ]
            exact = all(np.isfinite(self.shadow(parameter.grad)).all() for parameter in bad)
        before = len(self.grad_modes), len(self.rows), len(self.passes)
        self.scales.append(ScaledStep(*before, scale, skipped, bad, exact))

    def precision(self, builder: EngineBuilder, kept: Sequence[Entry]) -> Precision:
        return precision(self, builder, kept)


def is_same(out: Any, args: tuple[Any, ...]) -> bool:
    """Return whether a call gave its first argument's data."""
    return isinstance(out, Tensor) and bool(args) and isinstance(args[0], Tensor) and out._data is args[0]._data


@contextmanager
def undisturbed() -> Iterator[None]:
    """Context manager for computations that are not the run's: nothing observes them, and numpy does not warn."""
    modes = using(recorder=None, watcher=None, keeper=None, planner=None, grad_enabled=False)
    with modes, np.errstate(all="ignore"):
        yield
