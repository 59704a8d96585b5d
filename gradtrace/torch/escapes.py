"""Record values that leave the graph (`.data`, `item()`), assigned gradients, and changed flags."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from gradtrace.torch import private
from gradtrace.torch.operators import operate, tensors_in
from gradtrace.trace.events import BeginEvent, Entry, EscapeEvent

if TYPE_CHECKING:
    from gradtrace.torch.recorder import Recorder

Tensor = torch.Tensor


def escape(rec: Recorder, how: str, entry: Entry, out: Entry | None = None) -> None:
    rec.escaped.append(EscapeEvent(how, entry, out, len(rec.calls), rec.places.here(4)))


def begin(rec: Recorder, entry: Entry) -> None:
    rec.begun.append(BeginEvent(entry, len(rec.calls), rec.places.here(4)))


def number(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    tensor = args[0]
    if isinstance(tensor, Tensor) and (
        rec.find(tensor) is not None or private.needs_gradient(tensor)
    ):
        guarded(rec, lambda: escape(rec, name, rec.entry(tensor)), name)
    return func(*args, **kwargs)


def copied(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    """Record torch.tensor of a list of tensors: each tensor leaves the graph as a number."""
    tensors = tensors_in(args[0]) if args and isinstance(args[0], (list, tuple)) else []
    if not tensors:
        return operate(rec, func, args, kwargs, name)

    def note() -> None:
        for tensor in tensors:
            escape(rec, "item", rec.entry(tensor))

    guarded(rec, note, name)
    out = func(*args, **kwargs)
    if private.needs_gradient(out):
        guarded(rec, lambda: begin(rec, rec.entry(out)), name)
    return out


def guarded(rec: Recorder, work: Callable[[], None], task: str) -> None:
    """Do work that only the record needs; an error in it is counted and does not reach the
    program.
    """
    with private.without_torch_function(), rec.lock:
        try:
            work()
        except Exception as error:
            rec.problem(f"{task} ({type(error).__name__})")


def data_taken(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    out = func(*args, **kwargs)
    if torch.nn.parameter.is_lazy(args[0]):
        return out

    def note() -> None:
        identity = rec.meet_tensor(out, private.storage_of(out), True)
        entry = rec.new_entry(out, identity, None, 0)
        escape(rec, "data", rec.entry(args[0]), entry)

    guarded(rec, note, ".data")
    return out


def parameter_made(rec: Recorder, original: Any) -> Any:
    """Return a Parameter.__new__ that records nn.Parameter(x), which no mode sees, as a leaf with
    the numbers of x. Of one that is made when there is an optimiser, which does not hold it, the
    place is noted.
    """

    def __new__(cls: Any, data: Any = None, *args: Any, **kwargs: Any) -> Any:
        parameter = original(cls, data, *args, **kwargs)
        if not rec.is_on():
            return parameter
        if rec.optimisers:
            place = rec.places.here(2)
            rec.late.append((weakref.ref(parameter), len(rec.calls), place))
        if rec.find(data) is not None:

            def note() -> None:
                source = rec.entry(data)
                leaf = rec.meet_tensor(parameter, private.storage_of(parameter), True)
                entry = rec.new_entry(parameter, leaf, None, 0)
                escape(rec, "parameter", source, entry)

            guarded(rec, note, "nn.Parameter()")
        return parameter

    return __new__


def note_late(rec: Recorder) -> None:
    """Note the places of the parameters in the record that were made after an optimiser."""
    unknown = []
    for reference, at, place in rec.late:
        parameter = reference()
        identity = None if parameter is None else rec.find(parameter)
        if identity is not None:
            rec.begun.append(BeginEvent(identity.last, at, place))
        elif parameter is not None:
            unknown.append((reference, at, place))
    rec.late = unknown


def data_set(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    def before() -> None:
        rec.entry(args[0])

    def after() -> None:
        identity = rec.entry(args[0]).tensor
        rec.written_to("data", identity.storage, identity, None)
        storage = private.storage_of(args[0])
        # x.data += 1 gives it its own storage again
        if storage is None or storage != identity.storage:
            identity.version = -1  # the numbers are others now
            rec.move(identity, storage)

    if torch.nn.parameter.is_lazy(args[0]):
        return func(*args, **kwargs)
    guarded(rec, before, ".data =")
    out = func(*args, **kwargs)
    guarded(rec, after, ".data =")
    return out


def grad_taken(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    """Record a read of tensor.grad, so that a later in-place write to it counts as a write to this
    tensor's gradient.
    """
    out = func(*args, **kwargs)
    identity = None if out is None else rec.find(args[0])
    if identity is not None:
        rec.owners[private.storage_of(out)] = identity
    return out


def grad_set(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    tensor = args[0]
    value = args[1]
    with private.without_torch_function():
        had = tensor.grad is not None if tensor.is_leaf else False

    def note() -> None:
        identity = rec.entry(tensor).tensor
        if value is not None or had:
            rec.written_to(
                "cleared" if value is None else "assigned", None, identity, None, of_grad=True
            )
        rec.grads.pop(identity, None)
        (rec.set_gradients.discard if value is None else rec.set_gradients.add)(identity)

    out = func(*args, **kwargs)
    guarded(rec, note, ".grad =")
    return out


def grad_deleted(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    """Record `del tensor.grad`."""
    return grad_set(rec, lambda tensor, _: func(tensor), (args[0], None), {}, name)


def flag_set(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    tensor = args[0]
    wanted = bool(args[1])
    return flagged(rec, func, args, kwargs, tensor, wanted)


def requires_grad_(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    wanted = args[1] if len(args) > 1 else kwargs.get("requires_grad", True)
    return flagged(rec, func, args, kwargs, args[0], bool(wanted))


def flagged(
    rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], tensor: Any, wanted: bool
) -> Any:
    was = private.needs_gradient(tensor)
    out = func(*args, **kwargs)

    def note() -> None:
        entry = rec.entry(tensor)
        entry.requires_grad = wanted
        if wanted:
            begin(rec, entry)
        else:
            rec.written_to("frozen", None, entry.tensor, None)

    if was != wanted:
        guarded(rec, note, "requires_grad")
    return out


def detach_(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    tensor = args[0]
    if private.needs_gradient(tensor):
        guarded(rec, lambda: escape(rec, "detach_", rec.entry(tensor)), name)
    out = func(*args, **kwargs)

    def note() -> None:
        entry = rec.entry(tensor)
        entry.requires_grad = False
        entry.is_leaf = True
        entry.fn = None

    guarded(rec, note, name)
    return out


def unscaled(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    """Record GradScaler.unscale_, which changes gradients without their version counter: notes on
    them are dropped.
    """
    out = func(*args, **kwargs)
    rec.grads.clear()
    return out
