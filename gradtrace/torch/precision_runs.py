"""The float64 runs of operations: of each, on the shadows of its inputs and on its inputs as they
are.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import torch

from gradtrace.torch import private
from gradtrace.torch.memory import PLAIN
from gradtrace.torch.operators import tensors_in
from gradtrace.torch.precision_errors import ErrorSizes, compare, passed_on
from gradtrace.torch.precision_kinds import (
    MOVES,
    STEPS,
    THRESHOLDS,
    KernelFacts,
    is_drawn,
    is_kept,
    overwrites,
    terms_of,
    widened,
)
from gradtrace.torch.precision_samples import PendingSample, product_of, sample_of
from gradtrace.torch.precision_shadows import (
    Shadows,
    WideFrame,
    extent_of,
    is_number,
    is_wide,
    of_result,
    wide,
)
from gradtrace.trace.wide import is_rounded_sum

FEW = 2**12  # elements of a sum that are looked at for rounding
SAME = 1e-9  # how far two measurements of one error may be from each other, relative


class WideCall(NamedTuple):
    """One operation, before it ran."""

    func: Any
    kind: KernelFacts
    args: Any
    kwargs: dict[str, Any]
    tensors: list[Any]  # the floating-point ones among the arguments
    written: list[Any]  # those of them that it writes to ...
    before: list[dict[int, Any]]  # ... and their float64 elements, by track and id
    frame: WideFrame | None


class Runs:
    """The shadows of a recording, and the frames that operations belong to."""

    def __init__(self) -> None:
        self.shadows = Shadows()
        self.stack: list[WideFrame | None] = []  # None: the engine, between two turns
        self.sums: dict[int, WideFrame] = {}  # by the storage of a sum of gradients
        self.stepping = False  # an optimiser is at work: nothing is compared
        self.failed = False  # an operation of its step did not run in float64

    def begin(self) -> WideFrame:
        """Begin a frame."""
        frame = WideFrame()
        self.stack.append(frame)
        self.shadows.frames.append(frame)
        return frame

    def end(self, frame: WideFrame) -> None:
        """Let go of what a frame has made."""
        if frame in self.shadows.frames:
            self.shadows.frames.remove(frame)
        frame.clear()

    def release(self) -> None:
        self.shadows.refs.clear()
        self.shadows.held.clear()
        self.stack.clear()
        self.sums.clear()

    def end_passes(self, depth: int) -> None:
        """Let go of all frames from a depth of the stack on."""
        del self.stack[depth:]
        if not any(frame is None for frame in self.stack):
            self.sums.clear()
        self.shadows.frames = [frame for frame in self.stack if frame is not None]

    def prepare(
        self, func: Any, kind: KernelFacts, args: Any, kwargs: dict[str, Any]
    ) -> WideCall | None:
        """Note what an operation reads, and the elements that it will overwrite."""
        pairs = [*enumerate(args), *kwargs.items()]
        inputs = [
            (place, tensor)
            for place, value in pairs
            if not is_kept(kind, place)
            for tensor in tensors_in(value)
        ]
        if any(type(tensor) not in PLAIN for _, tensor in inputs):
            return None
        numbers = [(place, tensor) for place, tensor in inputs if is_number(tensor)]
        if not numbers:
            return None
        tensors = [tensor for _, tensor in numbers]
        written = [tensor for place, tensor in numbers if place in kind.writes]
        frame = self.frame_for(tensors)
        if frame is not None and "attention" in kind.name:
            frame.most = 1
        if frame is not None:
            self.note_inputs(
                frame,
                [
                    tensor
                    for place, tensor in numbers
                    if not (place in kind.writes and overwrites(kind, tensor))
                ],
            )
        before = []
        for target in self.shadows.frames if written else ():
            self.settle(target)
        for target in written:
            self.shadows.copies.pop(private.storage_of(target) or 0, None)
        for track in range(1 + len(frame.tracks) if frame is not None else 1) if written else ():
            before.append(
                {id(tensor): self.shadows.value(frame, tensor, track).clone() for tensor in written}
            )
        return WideCall(func, kind, args, kwargs, tensors, written, before, frame)

    def frame_for(self, tensors: list[Any]) -> WideFrame | None:
        """Return the frame that an operation belongs to; of one of the engine's own, that of the
        sum it adds to.
        """
        if not self.stack or self.stepping:
            return None
        if self.stack[-1] is not None:
            return self.stack[-1]
        for tensor in tensors:
            storage = private.storage_of(tensor)
            frame = None if storage is None else self.sums.get(storage)
            if frame is not None and storage in frame.storages:
                return frame
        frame = WideFrame()
        frame.most = 1
        self.shadows.frames.append(frame)
        return frame

    def note_inputs(self, frame: WideFrame, tensors: list[Any]) -> None:
        for tensor in tensors:
            storage = private.storage_of(tensor)
            if storage is None or storage in frame.storages:
                continue
            self.meet(frame, tensor, storage)
            if frame.dtype is None or torch.finfo(tensor.dtype).eps < torch.finfo(frame.dtype).eps:
                frame.dtype = tensor.dtype
            frame.summand = max(frame.summand, self.shadows.size_of(tensor, storage))

    def meet(self, frame: WideFrame, tensor: Any, storage: int) -> None:
        """Note an input of a frame; drop its shadow if something else than an operation has written
        to it (numpy).

        Only a storage that numpy may have cannot be resized. Its error is compared with the
        measured one then.
        """
        shadow = self.shadows.held.get(storage)
        errors = (
            None
            if shadow is None or tensor.untyped_storage().resizable()
            else shadow.errors.get(extent_of(tensor)[0])
        )
        if shadow is not None and errors is not None:
            error = compare(tensor, [shadow.view(tensor)]).error
            if not (error == errors.error or abs(error - errors.error) <= SAME * errors.error):
                self.shadows.take_actual(tensor)
        self.shadows.meet(frame, tensor, storage)

    def follow(self, job: WideCall, out: Any) -> None:
        """Compute an operation again in each track, and keep what it has made there."""
        kind = job.kind
        frame = job.frame
        shadows = self.shadows
        outputs = [output for output in fresh(kind, out) if is_number(output)]
        read = {private.storage_of(tensor) for tensor in job.tensors}
        # a view, which not all schemas say (unsafe_split)
        if any(private.storage_of(output) in read for output in outputs):
            return
        if not outputs and not job.written:
            return
        if kind.name in STEPS or (
            is_drawn(kind, job.args, job.kwargs) and kind.name != "native_dropout"
        ):
            for tensor in job.written:
                shadows.take_actual(tensor)
            return
        operand_shadows = [
            shadows.held.get(private.storage_of(tensor) or 0) for tensor in job.tensors
        ]
        if not any(operand_shadows) and all(
            is_wide(tensor.dtype) for tensor in (*job.tensors, *outputs)
        ):
            return
        try:
            runs = self.runs(job, out, outputs)
        except Exception as error:
            for tensor in job.written:
                shadows.take_actual(tensor)
            self.failed = True
            if frame is not None:
                frame.failed = f"{kind.name} did not run in float64 ({type(error).__name__})"
            return
        if frame is not None:
            frame.terms = max(frame.terms, terms_of(kind, job.args, job.tensors, outputs))
        for place, tensor in enumerate(outputs):
            shadows.put(frame, tensor, [run[place] for run in runs], fresh=True)
            errors = self.moved(job, tensor)
            if errors is not None:
                shadows.held[private.storage_of(tensor) or 0].errors[extent_of(tensor)[0]] = errors
        for place, tensor in enumerate(job.written, len(outputs)):
            shadows.put(frame, tensor, [run[place] for run in runs], fresh=False)
        if frame is not None and (not self.stack or self.stack[-1] is None):
            for tensor in (*outputs, *job.written):
                self.sums[private.storage_of(tensor) or 0] = frame

    def runs(self, job: WideCall, out: Any, results: list[Any]) -> list[list[Any]]:
        """Return by track the float64 values of what an operation has made and written; only the
        shadows of a result of which a sample is enough.
        """
        read = self.reading(job)
        frame = job.frame
        if frame is None or identities(read[0]) == identities(read[-1]):
            return self.computed(job, read, out)
        earlier = {
            id(tensor): frame.pending.get(private.storage_of(tensor) or 0) for tensor in job.tensors
        }
        moved = [
            pending
            for pending in earlier.values()
            if pending is not None and pending.sample is None
        ]
        if moved:
            self.settle(frame, moved)
            return self.runs(job, out, results)
        sample = sample_of(job, results, earlier)
        if sample is not None or (results and self.moved(job, results[0]) is not None):
            pending = PendingSample(job, out, results, read, sample, earlier)
            frame.pending.update(dict.fromkeys(pending.results, pending))
            return self.computed(job, read[:1], out)
        if any(earlier.values()):
            self.settle(frame)
            read = self.reading(job)
        return self.computed(job, read, out)

    def reading(self, job: WideCall) -> list[list[Any]]:
        """Return by track the shadows of what an operation reads; None for tensors that are read as
        they are.
        """
        tracks = range(1 + len(job.frame.tracks) if job.frame is not None else 1)
        return [
            [
                self.shadows.shadow(job.frame, private.storage_of(tensor), k)
                for tensor in job.tensors
            ]
            for k in tracks
        ]

    def computed(self, job: WideCall, read: list[list[Any]], out: Any) -> list[list[Any]]:
        """Return the results of the tracks in which the tensors of an operation have the shadows
        `read`.
        """
        actual: dict[int, Any] = {}
        tracks: list[list[Any]] = []
        for track, row in enumerate(read):
            if track and identities(row) == identities(read[track - 1]):
                tracks.append(tracks[-1])
                continue
            pairs = zip(job.tensors, row, strict=True)
            values = {id(tensor): self.read(tensor, shadow, actual) for tensor, shadow in pairs}
            values.update(job.before[track] if job.written else {})
            product = product_of(job, values)
            tracks.append([product] if product is not None else self.compute(job, values, out))
        return tracks

    def settle(self, frame: WideFrame, some: Any = None) -> None:
        """Compute the tracks of all results of a frame, or of `some`, of which only samples were to
        be computed.
        """
        for pending in {
            id(pending): pending for pending in some or frame.pending.values()
        }.values():
            runs = self.computed(pending.job, self.reading(pending.job), pending.out)
            runs += runs[-1:] * (1 + len(frame.tracks) - len(runs))
            for storage, (place, tensor) in pending.results.items():
                if storage in frame.pending:
                    for track, run in zip(frame.tracks, runs[1:], strict=True):
                        track[storage] = of_result(tensor, run[place])
        for storage in [
            key for key, pending in frame.pending.items() if not some or pending in some
        ]:
            del frame.pending[storage]

    def moved(self, job: WideCall, result: Any) -> ErrorSizes | None:
        """Return the errors of a result whose elements are those of one input, and zeros; None of
        any other one.
        """
        frame = job.frame
        operand = job.tensors[0]
        source = private.storage_of(operand) or 0
        if (
            frame is None
            or job.kind.name not in MOVES
            or source not in frame.index
            or operand.dtype is not result.dtype
        ):
            return None
        errors = passed_on(operand, self.shadows.held[source])
        shares = [float(place == frame.index[source]) for place in range(len(frame.sources))]
        return None if errors is None else errors._replace(shares=shares)

    def errors(self, frame: WideFrame, tensor: Any, storage: int) -> ErrorSizes:
        """Return the errors of a result of a frame."""
        shadows = self.shadows
        count = 1 + len(frame.tracks)
        pending = frame.pending.get(storage)
        if pending is not None:
            errors = pending.errors(tensor, shadows, count, self.compute)
            if errors is not None:
                return errors
            self.settle(frame)
        return compare(tensor, [shadows.value(frame, tensor, track) for track in range(count)])

    def read(self, tensor: Any, shadow: Any, actual: dict[int, Any]) -> Any:
        """Return the float64 elements of a tensor; those of one without a shadow are computed once
        for all tracks.
        """
        if shadow is not None:
            return shadow.view(tensor)
        if id(tensor) not in actual:
            actual[id(tensor)] = self.shadows.actual(tensor)
        return actual[id(tensor)]

    def compute(self, job: WideCall, values: dict[int, Any], out: Any) -> list[Any]:
        """Compute an operation in float64 from the values of its tensors, by id."""
        kind = job.kind
        args = [exchanged(kind, place, argument, values) for place, argument in enumerate(job.args)]
        kwargs = {
            name: exchanged(kind, name, argument, values) for name, argument in job.kwargs.items()
        }
        if kind.name == "native_dropout":
            return [args[0] * out[1].cpu() / (1 - args[1])]
        results = fresh(kind, job.func(*args, **kwargs))
        if (
            job.frame is not None
            and kind.name in ("add", "sub", "rsub")
            and not kwargs
            and len(args) == 2
        ):
            job.frame.rounds = job.frame.rounds or is_rounded_sum(*some_of(*args, *results))
        numbers = [output for output in results if is_number(output)]
        return [*numbers, *(values[id(tensor)] for tensor in job.written)]


def exchanged(kind: KernelFacts, place: Any, value: Any, values: dict[int, Any]) -> Any:
    """Return an argument of a float64 run, from the values of tensors by id."""
    if isinstance(value, torch.Tensor):
        if place == 1 and kind.name in THRESHOLDS:
            return wide(value)
        return (
            values[id(value)] if id(value) in values else value.to("cpu", copy=is_kept(kind, place))
        )
    if isinstance(value, (list, tuple)):
        return [exchanged(kind, place, element, values) for element in value]
    return widened(kind, place, value)


def fresh(kind: KernelFacts, out: Any) -> list[Any]:
    """Return the new tensors among the results of an operation."""
    if isinstance(out, tuple):
        return [
            output
            for output, new in zip(out, kind.fresh, strict=False)
            if new
            for output in tensors_in(output)
        ]
    return tensors_in(out) if any(kind.fresh) else []


def identities(row: list[Any]) -> list[int | None]:
    """Return what tells apart the elements that a track reads, by tensor; None for those that are
    read as they are.
    """
    return [None if shadow is None else id(shadow.flat) for shadow in row]


def some_of(*numbers: Any) -> tuple[Any, ...]:
    """Return the operands and the result of a sum; only some of the elements if there are many."""
    shape = numbers[-1].shape
    count = numbers[-1].numel()
    if count < 2 * FEW:
        return numbers
    places = spread(shape)
    return tuple(
        operand.expand(shape)[places] if isinstance(operand, torch.Tensor) else operand
        for operand in numbers
    )


@functools.lru_cache(64)
def spread(shape: torch.Size) -> tuple[Any, ...]:
    """Return the places of `FEW` elements or more at equal distances."""
    return torch.unravel_index(torch.arange(0, shape.numel(), shape.numel() // FEW), shape)
