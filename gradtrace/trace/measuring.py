"""Measure the rounding errors of a run of gradtrace's engine, while it runs: the observers of
--precision.

    watch = MeasuringWatch()
    run(program, ..., record=watch.keeper, watcher=watch)

Each operator call is computed again by its record's kernel, and each node of a backward pass by its
record's rules, on arrays of a wider type: on its actual inputs and on their shadows
(`trace/precision.py` says what these are). Nothing that the run computes is changed, and random
numbers are not drawn again: they are arguments of the recorded calls.

The shadow follows the run's decisions: comparisons, indices and other results that are not
floating-point are the actual ones, and so are the results of calls that cannot be computed again
(`Unmeasured`). A tensor that something else than a recorded call has changed (an optimiser's step)
has its present value as its shadow. Where a hook replaced a gradient, that gradient is the shadow.
"""

from __future__ import annotations

from contextlib import contextmanager

from gradtrace.annotations import TYPE_CHECKING, Any, Iterator, NamedTuple, Sequence
from gradtrace.engine.calls.inplace import CopySlices
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.node import AccumulateGrad, Node, named
from gradtrace.engine.data.state import unobserved
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.operators.op import Op, records
from gradtrace.trace import wide
from gradtrace.trace.engine_builder import grad_of
from gradtrace.trace.keeper import KEPT, Keeper
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
from gradtrace.trace.shadows import Array, Shadows
from gradtrace.trace.steps import Watch
from gradtrace.trace.updating import Updates

if TYPE_CHECKING:
    from gradtrace.trace.engine_builder import EngineBuilder
    from gradtrace.trace.precision import Precision


class MeasuredRow(NamedTuple):
    """A measured result, with live objects instead of ids. `call` is the number of the recorded
    call.
    """

    call: int
    passed: int | None
    tensor: Any  # the result (forward), or the input whose gradient it is
    fields: dict[str, Any]
    is_sum: bool
    room: float  # by which factor its shadow may grow in its dtype
    # a tensor, whether its gradient is meant, the share of the error
    sources: list[tuple[Any, bool, float]]


class ScaledStep(NamedTuple):
    """A step of a GradScaler, with the parameters whose gradients were not finite."""

    at: int  # how many calls had run before
    rows: int  # how many results had been measured before
    passes: int
    scale: float
    skipped: bool
    bad: list[Any]
    exact: bool  # all of them are finite in the wider type


class Overwritten(NamedTuple):
    """A tensor that was written to, with its old value and shadow."""

    tensor: Tensor
    raw: Any
    shadow: Array


class Arrived:
    """The gradients that a pass has sent to one output of a node so far: sums of the actual and the
    shadow ones.
    """

    def __init__(self, call: int, tensor: Any) -> None:
        self.call = call
        self.tensor = tensor
        self.actual: Array = 0
        self.shadow: Array = 0
        self.largest = 0.0
        self.count = 0


class RunningNode:
    """The node that backward runs: the call that made it, and its results in the wider type."""

    def __init__(self, call: RecordedCall | None) -> None:
        self.call = call
        self.inputs: list[Slot] = []
        self.stages: Sequence[Sequence[Any]] = ()  # by stage and edge
        # of CopySlices: by edge, what the gradient's error makes of its result
        self.changes: Sequence[Any] = ()
        self.grad_before: Array = 0  # the shadow of a leaf's gradient before this pass


class MeasuringKeeper(Keeper):
    """A keeper that also gives the watcher the old value of a tensor that is about to be written
    to.
    """

    watch: MeasuringWatch

    def before_write(self, tensor: Tensor) -> None:
        self.watch.about_to_write(tensor)
        super().before_write(tensor)


class MeasuringWatch(Watch):
    """A watcher that measures the rounding error of each result."""

    def __init__(
        self, jacobians: bool = False, slopes: bool = True, detailed: int | None = None
    ) -> None:
        super().__init__(jacobians, slopes, detailed)
        self.rows: list[MeasuredRow] = []
        self.refused: dict[int, str] = {}  # by call: why it was not measured
        self.updates = Updates(undisturbed)
        self.scales: list[ScaledStep] = []
        self.shadows = Shadows()
        self._nodes: dict[int, tuple[Node, RecordedCall]] = {}  # by id(node)
        self._written: Overwritten | None = None
        # of each running pass, by node and output
        self._arrived: list[dict[tuple[int, int], Arrived]] = []
        self._running = RunningNode(None)
        self._captured: list[Array] = []  # the shadows of the gradients that autograd.grad returns

    def keeper(self, calls: list[Any], budget: int = KEPT) -> MeasuringKeeper:
        """Return the keeper that the run must have."""
        keeper = MeasuringKeeper(calls, budget)
        keeper.watch = self
        return keeper

    def about_to_write(self, tensor: Tensor) -> None:
        """Note the old value and shadow of a tensor. The shadow is dropped unless the write is a
        recorded call's.
        """
        raw = tensor._data
        old = raw if type(raw) in (float, bool) else np.array(raw)
        self._written = Overwritten(tensor, old, self.shadows.before_write(tensor))

    def changes(self, how: str, tensor: Tensor) -> None:
        super().changes(how, tensor)
        self.shadows.pop(id(tensor), None)

    # ---- forward

    def called(self, name: str, args: tuple[Any, ...], out: Any, origin: int) -> None:
        index = len(self.grad_modes)
        super().called(name, args, out, origin)
        written = self._written
        self._written = None
        outs = out if isinstance(out, tuple) else (out,)
        with undisturbed():
            if name in records:
                self._measure(index, records[name], args, outs)
            elif name[-1:] == "_" and name[:-1] in records:
                if written is None or written.tensor is not out:
                    written = Overwritten(out, out._data, self.shadows.of(out))
                self._measure(index, records[name[:-1]], args, outs, written)
            elif is_same(out, args):  # detach
                self.shadows.put(out, self.shadows.of(args[0]))
            elif name == "grad" and len(tensors_in(out)) == len(self._captured):
                for gradient, shadow in zip(tensors_in(out), self._captured, strict=True):
                    self.shadows.put(gradient, shadow)
            else:
                self.refused[index] = "it is not an operator, so it cannot be computed again"

    def _measure(
        self,
        index: int,
        record: Op,
        args: Any,
        outs: tuple[Any, ...],
        written: Overwritten | None = None,
    ) -> None:
        """Add the rows of a call's results, and keep their shadows. `written` is what an in-place
        call overwrote.
        """
        slots: list[Slot] = []
        template = self._template(args, written, slots)
        stages, reason = call_again(record, template, slots, outs)
        if reason:
            self.refused[index] = reason
        shadows = []
        for number, out in enumerate(outs):
            widened = [np.asarray(stage[number]) for stage in stages]
            shadow = self._result(index, out, widened, slots, terms_of(record, slots, out))
            if (
                widened
                and record.sign in ("+", "-")
                and record.arity == 2
                and shadow.dtype.kind == "f"
            ):
                a, b = filled(template[:2], set())
                self.rows[-1].fields["rounds"] = wide.is_rounded_sum(a, b, shadow)
            if (
                written is not None
                and written.shadow.shape == shadow.shape
                and written.shadow.flags.writeable
            ):
                written.shadow[...] = shadow  # views of the tensor have views of its shadow
                shadow = written.shadow
            shadows.append(self.shadows.put(out, shadow))
        # an update of a leaf
        if written is not None and outs[0].requires_grad and outs[0]._fn is None:
            self.shadows.pop(id(outs[0]), None)
            if stages:
                self.updates.add(
                    index + 1, outs[0], np.asarray(written.raw), np.asarray(stages[-1][0])
                )
        node = outs[0]._fn
        if node is not None and named(node).op is record:
            self._nodes[id(node)] = (node, RecordedCall(index, template, outs, tuple(shadows)))

    def _template(self, value: Any, written: Overwritten | None, slots: list[Slot]) -> Any:
        """Return arguments with a Slot for each tensor, which is added to `slots`."""
        if type(value) is tuple:
            return tuple(self._template(part, written, slots) for part in value)
        if not isinstance(value, Tensor):
            return wide.widened_plain(value)
        if written is not None and value is written.tensor:
            slot = Slot(written.raw, written.shadow.copy(), value)
        else:
            slot = Slot(value._data, self.shadows.of(value), value)
        slots.append(slot)
        return slot

    def _result(
        self, index: int, out: Tensor, stages: list[Array], slots: list[Slot], terms: int
    ) -> Array:
        """Add the row of one result of a call, and return its shadow."""
        actual = np.asarray(out._data)
        if not stages or stages[0].shape != actual.shape:
            return np.asarray(wide.widened(out._data))
        if actual.dtype.kind == "f":
            self._add(index, None, out, wide.errors(actual, stages), slots, terms)
            return stages[0]
        decisions = int((actual != stages[0]).sum())
        if decisions:
            fields: dict[str, Any] = dict.fromkeys(("norm", "added", "inherited", "error"), 0.0)
            fields |= {"dtype": actual.dtype.name, "elements": actual.size, "decisions": decisions}
            self._add(index, None, out, fields, slots, 1)
        return actual

    def _add(
        self,
        call: int,
        passed: int | None,
        tensor: Any,
        fields: dict[str, Any],
        slots: Sequence[Slot],
        terms: int,
        is_sum: bool = False,
    ) -> None:
        """Add a row, with the facts about its inputs."""
        shares = fields.pop("shares", ())
        wrong = [slot for slot in slots if has_error(slot)]
        pairs = zip(wrong, shares, strict=True) if len(shares) == len(wrong) else ()
        sources = [
            (slot.tensor, slot.of_gradient, share)
            for slot, share in pairs
            if slot.tensor is not None
        ]
        floats = [slot for slot in slots if slot.dtype.kind == "f"]
        widest = max(
            (slot.dtype for slot in floats), key=lambda dtype: int(dtype.itemsize), default=None
        )
        fields["wide_input"] = "" if widest is None else widest.name
        fields.setdefault(
            "summand", max((wide.magnitude(slot.actual) for slot in floats), default=0.0)
        )
        fields["terms"] = terms
        self.rows.append(
            MeasuredRow(call, passed, tensor, fields, is_sum, fields.pop("room", np.inf), sources)
        )

    # ---- backward

    def began(
        self,
        roots: list[Any],
        keep: bool,
        create_graph: bool,
        wanted: list[Any] | None,
        stores: bool,
    ) -> None:
        super().began(roots, keep, create_graph, wanted, stores)
        self._arrived.append({})

    def ended(self, error: BaseException | None) -> None:
        wanted = self._open[-1].wanted or ()
        super().ended(error)
        arrived = self._arrived.pop()
        gradients = [arrived.get((id(node), number)) for node, number in wanted]
        self._captured = [
            np.asarray(gradient.shadow) for gradient in gradients if gradient is not None
        ]

    @property
    def _passed(self) -> int:
        """The number of the innermost running pass."""
        return next(
            i for i in range(len(self.passes) - 1, -1, -1) if self.passes[i] is self._open[-1]
        )

    def enters(self, node: Node, gradient: Any) -> None:
        """Add a row for each gradient that is a sum."""
        super().enters(node, gradient)
        for number, raw in by_number(gradient).items():
            arrived = self._arrived[-1].get((id(node), number))
            if arrived is None or arrived.count < 2 or arrived.tensor is None:
                continue
            with undisturbed():
                fields = wide.errors(np.asarray(raw), [arrived.shadow, arrived.actual])
                fields["summand"] = arrived.largest
                self._add(
                    arrived.call,
                    self._passed,
                    arrived.tensor,
                    fields,
                    (),
                    arrived.count,
                    is_sum=True,
                )

    def runs(self, node: Node, gradient: Any) -> None:
        """Compute the node's results in the wider type."""
        super().runs(node, gradient)
        _, call = self._nodes.get(id(node), (None, None))
        running = self._running = RunningNode(call)
        with undisturbed():
            if isinstance(node, AccumulateGrad):
                grad = grad_of(node.variable)
                running.grad_before = 0 if grad is None else self.shadows.of(grad).copy()
                return
            slots = self._received(node, gradient)
            try:
                self._compute_again(running, node, slots, gradient)
            except Exception as error:  # where the rule itself raises, the pass does too
                if call is not None:
                    kind = type(error).__name__
                    self.refused[call.number] = (
                        f"its derivative does not take wider numbers ({kind})"
                    )

    def _compute_again(
        self, running: RunningNode, node: Node, slots: dict[int, Slot], gradient: Any
    ) -> None:
        if isinstance(node, CopySlices):  # linear in its gradient
            error = (slots[0].shadow - slots[0].actual).astype(node.dtype or np.float64)
            running.changes = node.derive(error)
            return
        is_refused = running.call is not None and running.call.number in self.refused
        if node.op is not None and not node.op.undefined and not is_refused:
            running.inputs, running.stages = gradient_again(node, slots, gradient, running.call)

    def _received(self, node: Node, gradient: Any) -> dict[int, Slot]:
        """Return the gradients that a node received, by output. What a hook replaced has no other
        shadow.
        """
        call = self._running.call
        arrived = self._arrived[-1]
        is_replaced = any(changed for *_, changed in self.turn.hooks)
        slots = {}
        for number, raw in by_number(gradient).items():
            sent = None if is_replaced else arrived.get((id(node), number))
            tensor = None if call is None or number >= len(call.outs) else call.outs[number]
            slots[number] = Slot(
                raw, None if sent is None else np.asarray(sent.shadow), tensor, True
            )
        return slots

    def sends(self, index: int, value: Any) -> None:
        super().sends(index, value)
        node = self.turn.node
        call = self._running.call
        raw = np.asarray(value._data if isinstance(value, Tensor) else value)
        operand = None if call is None else operand_of(call.args, node, index)
        with undisturbed():
            shadow = self._sent(operand, index, raw)
            key = (id(node.next[index]), 0 if node.output_nrs is None else node.output_nrs[index])
            arrived = self._arrived[-1].get(key)
            if arrived is None:
                tensor = None if operand is None else operand.tensor
                arrived = self._arrived[-1][key] = Arrived(
                    -1 if call is None else call.number, tensor
                )
            arrived.actual = arrived.actual + wide.widened(raw)
            arrived.shadow = arrived.shadow + shadow
            arrived.largest = max(arrived.largest, wide.magnitude(raw))
            arrived.count += 1
        if isinstance(value, Tensor) and id(value) not in self.shadows:
            self.shadows.put(value, shadow)

    def _sent(self, operand: Slot | None, index: int, raw: Array) -> Array:
        """Add the row of a gradient that the running node sends, and return its shadow."""
        running = self._running
        actual = np.asarray(wide.widened(raw))
        if running.changes:
            change = running.changes[index]
            return actual if change is None else actual + wide.widened(np.asarray(change))
        gradients = [stage[index] for stage in running.stages]
        fits = [
            g is not None and g.shape == raw.shape and g.dtype == actual.dtype for g in gradients
        ]
        if not gradients or not all(fits):
            return actual
        if running.call is not None and operand is not None:
            fields = wide.errors(raw, gradients)
            self._add(running.call.number, self._passed, operand.tensor, fields, running.inputs, 1)
        return np.asarray(gradients[0])

    def leaves(self, node: Node, released: bool) -> None:
        super().leaves(node, released)
        if isinstance(node, AccumulateGrad):
            grad = grad_of(node.variable)
            arrived = self._arrived[-1].get((id(node), 0))
            if grad is not None and arrived is not None:
                self.shadows.put(grad, np.asarray(self._running.grad_before + arrived.shadow))
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
            held = [parameter for group in optimiser.param_groups for parameter in group["params"]]
            parameters = [parameter for parameter in held if skipped and parameter.grad is not None]
            bad = [
                parameter for parameter in parameters if not np.isfinite(parameter.grad._data).all()
            ]
            exact = all(np.isfinite(self.shadows.of(parameter.grad)).all() for parameter in bad)
        before = len(self.grad_modes), len(self.rows), len(self.passes)
        self.scales.append(ScaledStep(*before, scale, skipped, bad, exact))

    def precision(self, builder: EngineBuilder) -> Precision:
        return precision(self, builder)


def is_same(out: Any, args: tuple[Any, ...]) -> bool:
    """Return whether a call gave its first argument's data."""
    return (
        isinstance(out, Tensor)
        and bool(args)
        and isinstance(args[0], Tensor)
        and out._data is args[0]._data
    )


@contextmanager
def undisturbed() -> Iterator[None]:
    """Context manager for computations that are not the run's: nothing observes them, and numpy
    does not warn.
    """
    with unobserved(grad_enabled=False), np.errstate(all="ignore"):
        yield
