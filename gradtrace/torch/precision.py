"""The level "precision": run every operation again in float64 while the program runs, and compare
the results.

A TorchDispatchMode sees the operations below autograd, those of the engine too. Each is computed
again on the CPU in float64, on the shadows of its inputs and on its inputs as they are
(`precision_shadows`). The results of a recorded call, and the gradients that a node sends, are
compared with both (`precision_errors`). Random numbers and decisions are those of the run. The
program's own call comes between what is read and what is computed, and sees none of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gradtrace.torch import private
from gradtrace.torch.contents import dtype_name
from gradtrace.torch.memory import PLAIN
from gradtrace.torch.precision_errors import ErrorSizes, passed_on
from gradtrace.torch.precision_kinds import kind_of
from gradtrace.torch.precision_runs import Runs
from gradtrace.torch.precision_shadows import (
    Owner,
    WideFrame,
    extent_of,
    is_number,
    place_of,
    size_of_storage,
    wide,
)
from gradtrace.torch.precision_steps import Steps
from gradtrace.trace import precision as record

if TYPE_CHECKING:
    from gradtrace.torch.recorder import Recorder
    from gradtrace.trace.events import Call, Entry


class ComparedResult(NamedTuple):
    """A `trace.precision.Measured` whose tensors and operation are those of the recorder."""

    call: Call | None
    passed: int | None
    entry: Entry
    dtype: Any
    elements: int
    frame: WideFrame
    errors: ErrorSizes


class PrecisionMode(private.DispatchMode):  # type: ignore[misc]
    """The errors of all results of a recording."""

    def __init__(self, rec: Recorder) -> None:
        super().__init__()
        self.rec = rec
        self.runs = Runs()
        self.passes: list[int] = []
        self.rows: list[ComparedResult] = []
        self.unmeasured: dict[tuple[Call, str], None] = {}
        self.ended: WideFrame | None = None  # of the last call
        self.steps = Steps(self)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        kind = kind_of(func)
        job = None
        updated = []
        if not kind.is_view:
            with private.unseen():
                job = self.attempt(self.runs.prepare, func, kind, args, kwargs)
                if job is not None and job.written and not self.runs.stepping:
                    updated = [
                        (tensor, wide(tensor))
                        for tensor in job.written
                        if tensor.is_leaf and tensor.requires_grad
                    ]
        with self.unobserved():
            out = func(*args, **kwargs)
        if job is not None:
            with private.unseen():
                self.attempt(self.runs.follow, job, out)
                if updated:
                    self.attempt(self.steps.written, job, updated)
        return out

    def unobserved(self) -> Any:
        """Return a context in which the program's own operation is not seen as one more call. A
        kernel in Python may enter function modes, which work unless modes of the program are off:
        none sees an operation twice.
        """
        is_alone = private.mode_depth() == self.rec.is_on()
        return self.rec.unrecorded() if is_alone else private.without_torch_function()

    def attempt(self, work: Any, *args: Any) -> Any:
        try:
            return work(*args)
        except Exception as error:  # the program goes on
            self.rec.problem(f"the float64 run of an operation ({type(error).__name__})")
            return None

    # ---- calls

    def call(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Run a recorded call in a frame of its own."""
        frame = self.runs.begin()
        self.ended = None
        try:
            return func(*args, **kwargs)
        finally:
            self.runs.stack.pop()
            self.ended = frame

    def called(self, call: Call) -> None:
        """Measure the results of a call."""
        frame = self.ended
        self.ended = None
        if frame is not None:
            with private.unseen():
                for entry in call.outputs:
                    self.measure(frame, entry.tensor.ref(), Owner(entry, False), call, None)
                self.end(frame, call)

    def end(self, frame: WideFrame, call: Call | None) -> None:
        self.runs.end(frame)
        if frame.failed and call is not None:
            self.unmeasured[call, frame.failed] = None

    def measure(
        self, frame: WideFrame, tensor: Any, owner: Owner, call: Call | None, passed: int | None
    ) -> None:
        """Compare a result of a frame with its shadow, and let the shadow have an owner."""
        if tensor is None or type(tensor) not in PLAIN or not is_number(tensor):
            return
        shadows = self.runs.shadows
        storage = private.storage_of(tensor)
        if storage not in shadows.held:
            return
        is_view = storage not in frame.storages
        if is_view:
            frame = WideFrame()
            frame.dtype = tensor.dtype
            self.runs.meet(frame, tensor, storage)
        shadow = shadows.held.get(storage)
        if shadow is None:
            return
        extent, _ = extent_of(tensor)
        errors = passed_on(tensor, shadow) if is_view else shadow.errors.get(extent)
        if errors is None:
            errors = self.runs.errors(frame, tensor, storage)
        shadow.errors.setdefault(extent, errors)
        self.rows.append(
            ComparedResult(call, passed, owner.entry, tensor.dtype, tensor.numel(), frame, errors)
        )
        if is_view:
            if passed is None:
                shadow.parts[place_of(tensor)] = owner
            return
        for result_storage in frame.storages:
            result_shadow = shadows.held.get(result_storage)
            if result_shadow is not None and (
                result_storage == storage or result_shadow.owner is None
            ):
                result_shadow.owner = owner
        shadows.sizes[storage] = (
            (private.version_of(tensor), tensor.storage_offset(), tensor.numel()),
            errors.largest,
        )
        if not errors.error and tensor.numel() == size_of_storage(tensor):
            shadows.take_actual(tensor)

    # ---- backward

    def before(self, number: int, index: int, gradients: Any) -> None:
        """Begin the turn of a node, and measure the sums that it receives."""
        for place, gradient in enumerate(gradients):
            storage = None if gradient is None else private.storage_of(gradient)
            frame = None if storage is None else self.runs.sums.pop(storage, None)
            if frame is not None:
                entry = self.received_by(index, place)
                # else another tensor had its address
                if entry is not None and storage in frame.storages:
                    with private.unseen():
                        self.measure(frame, gradient, Owner(entry, True), None, number)
                self.end(frame, None)
        self.runs.begin()

    def after(self, number: int, index: int, sent: Any) -> None:
        """End the turn of a node, and measure what it sends."""
        frame = self.runs.stack.pop() if self.runs.stack else None
        if frame is None:
            return
        node = self.rec.nodes[index]
        with private.unseen():
            if node.variable is not None:
                grad = getattr(node.variable.ref(), "grad", None)
                # it was added to an earlier one
                if grad is not None and private.storage_of(grad) in frame.storages:
                    self.measure(frame, grad, Owner(node.variable.last, True), None, number)
            else:
                for place, gradient in enumerate(sent):
                    edge = node.edges[place] if place < len(node.edges) else None
                    entry = None if edge is None else self.received_by(*edge)
                    if entry is not None:
                        self.measure(frame, gradient, Owner(entry, True), node.call, number)
            self.end(frame, node.call)

    def received_by(self, index: int, place: int) -> Entry | None:
        """Return the tensor whose gradient a node receives, maybe through helper nodes
        (TBackward0).
        """
        node = self.rec.nodes[index]
        while node.variable is None and not node.outputs:
            edge = next((following for following in node.edges if following is not None), None)
            if edge is None:
                return None
            index, place = edge
            node = self.rec.nodes[index]
        if node.variable is not None:
            return node.variable.last
        for entry in reversed(node.outputs):
            tensor = entry.tensor.ref()
            if tensor is not None and entry.last and tensor.output_nr == place:
                return entry
        return node.outputs[min(place, len(node.outputs) - 1)]

    def enter_pass(self) -> int:
        """Begin a backward pass; return what `leave_pass` needs."""
        self.runs.stack.append(None)
        return len(self.runs.stack) - 1

    def leave_pass(self, depth: int) -> None:
        self.runs.end_passes(depth)

    # ---- the record

    def __enter__(self) -> PrecisionMode:
        """Put the mode below those of the program, to see the operations that these call."""
        super().__enter__()
        others = private.dispatch_modes()[:-1]
        if others:
            private.set_dispatch_modes([self, *others])
        return self

    def leave(self) -> None:
        """Take the mode off the stack, if it is there."""
        modes = private.dispatch_modes()
        others = [mode for mode in modes if mode is not self]
        if len(others) < len(modes):
            private.set_dispatch_modes([*others, self])
            self.__exit__(None, None, None)

    def record(self) -> record.Precision:
        rows = [row for row in self.rows if row.call is None or row.call.id >= 0]
        failed = [(call.id, reason) for call, reason in self.unmeasured if call.id >= 0]
        unmeasured = tuple(record.Unmeasured(*failure) for failure in failed)
        return record.Precision(
            tuple(map(measured, rows)), tuple(self.steps.updates), self.steps.losses(), unmeasured
        )

    def release(self) -> None:
        """Clear all notes, whose references form cycles."""
        self.runs.release()
        self.__dict__.clear()


def measured(row: ComparedResult) -> record.Measured:
    """Return a row as the Trace has it."""
    frame = row.frame
    errors = row.errors
    told = () if frame.grouped else zip(frame.sources, errors.shares, strict=False)
    sources = [
        record.ErrorSource(own.entry.id, own.of_gradient, share)
        for own, share in told
        if own is not None
    ]
    return record.Measured(
        None if row.call is None else row.call.id,
        row.passed,
        row.entry.id,
        dtype_name(row.dtype),
        "" if frame.dtype is None else dtype_name(frame.dtype),
        row.elements,
        frame.terms,
        errors.norm,
        errors.added,
        errors.inherited,
        errors.error,
        tuple(sources),
        errors.overflowed,
        errors.underflowed,
        errors.subnormal,
        errors.saturated,
        errors.largest,
        errors.smallest,
        frame.summand,
        frame.rounds,
    )
