"""Recomputation of saved tensors for checkpoints with `use_reentrant=False`.

In the first run of a checkpointed function, the graph stores an empty `Holder` instead of each saved tensor. When a
backward pass reads a holder for the first time, the function runs again; the n-th tensor that this second run saves is
the value of the n-th holder. Each pass can read a value only once; then it is dropped. Checkpoints may be nested, and
backward may run inside the function.
"""

from __future__ import annotations

import weakref
from itertools import count

from gradtrace.annotations import Any, Callable, Iterator
from gradtrace.autograd.graph import saved_tensors_hooks
from gradtrace.engine import Tensor, enable_grad
from gradtrace.engine.data.state import state, using
from gradtrace.engine.reverse.saved_hooks import OwnSavedTensor
from gradtrace.ops.random.generator import get_rng_state, set_rng_state

TIP = (
    "\n\nTip: To see a more detailed error message, either pass `debug=True` to\n"
    "`torch.utils.checkpoint.checkpoint(...)` or wrap the code block\n"
    "with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to\nenable "
    "checkpoint‑debug mode globally.\n"
)
FEWER = (
    "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
    "Number of tensors saved during forward: {}\nNumber of tensors saved during recomputation: {}.\n"
)
MORE = (
    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original forward pass.\n"
)
OTHER = (
    "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the "
    "forward pass.\n"
)
READ_TWICE = (
    "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. {}If you are "
    "calling ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an issue with details "
    "on your use case."
)
OVERLAP = (
    "Performing two backward calls that overlap (i.e. require the same saved activation in order to compute gradients) "
    "is not allowed while under the torch.utils.checkpoint.GraphExecGroup context. "
)
LOGS = (
    " An error happened while unpacking tensors; dumping logs of latest computation\nbecause you passed `debug=True` "
    "to `torch.utils.checkpoint.checkpoint()`.\n\nOperations executed during the original forward:\n\n{}\n\nOperations "
    "executed during recomputation:\n\n{}\n\n ERROR: Detected non-determinism while running activation checkpointing"
    "\n\n You are seeing this error because you passed `debug=True` to checkpoint and\n tensors to be saved during the "
    "original forward and differ between those saved\n during recomputation. This can happen if different operators "
    "were ran in the\n original forward and in the recomputation.\n"
)

numbers_outside: Iterator[int] = count(-1, -1)  # for reads outside of any pass


class CheckpointError(RuntimeError):
    """Raised if the recomputation differs from the first run, or a saved value is read twice."""


class Stop(Exception):
    """Raised to end the second run of a function early, once all saved tensors are computed."""


class GraphExecGroup:
    """Context manager: backward passes inside, over non-overlapping parts of a graph, share one recomputation."""

    current: GraphExecGroup | None = None

    def __enter__(self) -> GraphExecGroup:
        if GraphExecGroup.current is not None:
            raise RuntimeError(
                f"GraphExecGroup contexts cannot be nested. Already inside group {GraphExecGroup.current}"
            )
        GraphExecGroup.current = self
        return self

    def __exit__(self, *exc: object) -> None:
        GraphExecGroup.current = None


class Holder:
    """A replacement for one saved tensor. `values` has its recomputed value by pass: None after it was read."""

    __slots__ = ("__weakref__", "values")

    def __init__(self) -> None:
        self.values: dict[Any, Tensor | None] = {}


class Log:
    """The operators of the first and the second run, which the error shows with `debug=True`."""

    def __init__(self) -> None:
        self.runs: list[list[str]] = [[], []]

    def recording(self, run: int) -> using:
        lines, before = self.runs[run], state.recorder

        def record(name: str, args: tuple[Any, ...], out: Any, origin: int) -> None:
            if before is not None:
                before(name, args, out, origin)
            shapes = [list(o.shape) for o in (out if isinstance(out, tuple) else (out,)) if isinstance(o, Tensor)]
            lines.append(f"${len(lines) + 1}: {name} -> {', '.join(map(str, shapes))}")

        return using(recorder=record)

    def error(self) -> CheckpointError:
        return CheckpointError(LOGS.format(*("\n".join(lines) for lines in self.runs)))


class Frame:
    """One checkpointed call: its function and arguments, and the holders of the tensors that it saved."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        random: Any,
        early_stop: bool,
        context: Any,
        checked: bool,
        log: Log | None,
    ) -> None:
        self.function, self.kwargs, self.random = function, kwargs, random
        self.args = [OwnSavedTensor(a, False) if isinstance(a, Tensor) else a for a in args]
        self.early_stop, self.context, self.checked, self.log = early_stop, context, checked, log
        self.holders: list[weakref.ref[Holder]] = []
        self.layouts: list[dict[str, Any]] = []
        self.saved_again: dict[Any, int] = {}  # how many tensors each recomputation saved, by pass
        self.is_complete = False  # whether the first run is over
        self.has_backward_inside = False

    # ---- the hooks of the first run

    def pack(self, tensor: Tensor) -> Holder:
        holder = Holder()
        self.holders.append(weakref.ref(holder))
        self.layouts.append(layout(tensor))
        return holder

    def unpack(self, holder: Holder) -> Tensor:
        try:
            return self.value(holder)
        except CheckpointError as error:
            if self.log is None:
                raise
            raise self.log.error() from error

    def value(self, holder: Holder) -> Tensor:
        """Return the recomputed value of a holder for the running pass or group, and drop it; at most once."""
        group = GraphExecGroup.current
        run: Any = group or (next(numbers_outside) if state.running is None else state.running.number)
        if run not in self.saved_again:
            self.run_again(run)
        value = holder.values[run]
        if value is None:
            raise CheckpointError(READ_TWICE.format("" if group is None else OVERLAP))
        holder.values[run] = None
        return value

    # ---- the second run

    def run_again(self, run: Any) -> None:
        args = [a.unpack() if isinstance(a, OwnSavedTensor) else a for a in self.args]
        self.saved_again[run] = 0
        before = get_rng_state()
        try:
            if self.random is not None:
                set_rng_state(self.random)
            with saved_tensors_hooks(lambda tensor: self.pack_again(run, tensor), same), enable_grad(), self.context:
                self.function(*args, **self.kwargs)
        except Stop:
            pass
        finally:
            if self.random is not None:
                set_rng_state(before)
        self.compare(run)

    def pack_again(self, run: Any, tensor: Tensor) -> Tensor:
        tensor = tensor.detach() if tensor.requires_grad else tensor
        index = self.saved_again[run]
        self.saved_again[run] += 1
        if index >= len(self.holders):
            if not self.is_complete:
                self.has_backward_inside = True
                return tensor
            raise CheckpointError(MORE + TIP)
        holder = self.holders[index]()
        if holder is not None:  # a pass inside the function may have dropped it
            holder.values[run] = tensor
        if self.early_stop and index + 1 == len(self.holders):
            raise Stop
        return tensor

    def compare(self, run: Any) -> None:
        """Raise CheckpointError unless the second run saved as many tensors as the first, of equal shapes and dtypes.

        Shapes and dtypes are not compared with `determinism_check="none"`.
        """
        if self.has_backward_inside:
            return
        if self.saved_again[run] != len(self.holders):
            raise CheckpointError(FEWER.format(len(self.holders), self.saved_again[run]) + TIP)
        different = []
        for i, (place, saved) in enumerate(zip(self.holders, self.layouts, strict=True)):
            holder = place()
            if holder is None or not self.checked:
                continue
            again = holder.values[run]
            if again is not None and layout(again) != saved:
                different.append(
                    f"tensor at position {i}:\nsaved metadata: {saved}\nrecomputed metadata: {layout(again)}\n"
                )
        if different:
            raise CheckpointError(OTHER + "".join(different) + "." + TIP)


def layout(tensor: Tensor) -> dict[str, Any]:
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


def same(tensor: Tensor) -> Tensor:
    return tensor
