"""Record the calls of a training loop that no mode sees: what clips gradients, schedules of
learning rates, gradient scalers, hooks of modules.

What stands for a function of PyTorch's while a recording lasts is made once. It adds a frame to the
stack, which `warnings` must not count when a warning names the line of its caller.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator
from types import FunctionType, GeneratorType
from typing import Any

import torch

from gradtrace.torch import private, sharded
from gradtrace.torch.escapes import guarded
from gradtrace.torch.recorder import Recorder, active, working
from gradtrace.trace.events import ClipEvent

Make = Callable[[Any], Any]  # of a function, what stands for it
Place = tuple[Any, str, Make]  # what has the attribute, its name
OF_MODULES = {
    "register_forward_pre_hook": "forward_pre",
    "register_forward_hook": "forward",
    "register_full_backward_pre_hook": "backward_pre",
    "register_full_backward_hook": "backward",
}
SKIPPED = "<frozen importlib._bootstrap>"  # whose frames `warnings` skips
LRScheduler = torch.optim.lr_scheduler.LRScheduler
HOW = {"clip_grad_norm_": "norm", "clip_grad_value_": "value"}


def standing_for(original: Any) -> Callable[[Any], Any]:
    """Return a decorator of a function that calls another one, for which programs take it:
    `warnings` does not count its frames.
    """

    def decorate(function: Any) -> Any:
        function.__code__ = function.__code__.replace(co_filename=SKIPPED)
        return functools.update_wrapper(function, original)

    return decorate


def places() -> Iterator[Place]:
    """Yield the functions of PyTorch's that a recording replaces."""
    for function in (torch.nn.utils.clip_grad_norm_, torch.nn.utils.clip_grad_value_):
        cell = private.cell_of(function)
        if cell is not None:
            yield cell, private.CELL, clipping
    for name in ("scale", "unscale_", "step", "update"):
        yield torch.amp.GradScaler, name, scaling
    for name, kind in OF_MODULES.items():
        yield torch.nn.Module, name, functools.partial(registering, kind)
    yield torch.utils.hooks.RemovableHandle, "remove", removing
    for scheduler in schedulers():
        if scheduler.__module__ == LRScheduler.__module__:
            yield from of_scheduler(scheduler)


@functools.cache
def stand_ins() -> list[tuple[Any, str, Make, Any]]:
    """Return these places, each with what stands there meanwhile."""
    return [(owner, name, make, make(getattr(owner, name))) for owner, name, make in places()]


def patches() -> Iterator[tuple[Any, str, Any]]:
    """Yield what a recording replaces: what has the attribute, its name, what stands there."""
    for owner, name, make, function in stand_ins():
        present = getattr(owner, name)  # the program may have replaced it
        yield owner, name, function if present is function.__wrapped__ else make(present)
    for scheduler in schedulers():
        if scheduler.__module__ != LRScheduler.__module__:
            yield from patches_of(scheduler)


def patches_of(scheduler: Any) -> list[tuple[Any, str, Any]]:
    """Return the same for a class of schedulers."""
    return [(kind, name, make(vars(kind)[name])) for kind, name, make in of_scheduler(scheduler)]


def schedulers() -> list[Any]:
    """Return all classes of schedulers."""
    kinds: list[Any] = [LRScheduler]
    for kind in kinds:
        kinds += [heir for heir in kind.__subclasses__() if heir not in kinds]
    return kinds


def of_scheduler(kind: Any) -> Iterator[Place]:
    """Yield the step of a class, and its constructor if that does not call another one."""
    for name in ("__init__", "step"):
        method = vars(kind).get(name)
        if isinstance(method, FunctionType) and "__init__" not in method.__code__.co_names:
            yield kind, name, scheduling


def clipping(original: Any) -> Any:
    """Return a clip_grad_norm_ or clip_grad_value_ whose calls are noted. An iterator is read here,
    and its tensors are passed on.
    """
    code = original.__code__
    names = code.co_varnames[: code.co_argcount]

    @standing_for(original)
    def clip(*args: Any, **kwargs: Any) -> Any:
        arguments = dict(zip(names, args, strict=False)) | kwargs
        is_odd = "parameters" not in arguments or len(arguments) != len(args) + len(kwargs)
        rec = working()
        if is_odd or rec is None:
            return original(*args, **kwargs)
        parameters = arguments["parameters"]
        is_single = isinstance(parameters, torch.Tensor)
        tensors = [parameters] if is_single else list(parameters)
        if isinstance(parameters, GeneratorType):  # PyTorch warns if one is empty
            arguments["parameters"] = (tensor for tensor in tensors)
        elif not is_single:
            arguments["parameters"] = tensors
        events: list[ClipEvent] = []
        limit = arguments.get(names[1])
        guarded(rec, lambda: events.append(note_clip(rec, original, tensors, limit)), "clipping")
        norm = original(**arguments)

        def note() -> None:
            events[0].norm = rec.contents.note(norm)

        if norm is not None and events:
            guarded(rec, note, "clipping")
        return norm

    return clip


def note_clip(rec: Recorder, function: Any, tensors: list[Any], limit: Any) -> ClipEvent:
    """Note a call that clips gradients. A tensor that the record does not have yet is noted by its
    id().
    """
    used = [sharded.whole(rec, tensor) for tensor in tensors]
    identities = [rec.find(tensor) or id(tensor) for tensor in used]
    event = ClipEvent(rec, HOW[function.__name__], identities, limit)
    rec.clips.append(event)
    return event


def scheduling(original: Any) -> Any:
    """Return a constructor or a step() of schedulers that is noted, unless another method of a
    scheduler calls it.
    """
    is_step = original.__name__ == "step"

    @standing_for(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        rec = working()
        if rec is None:
            return original(self, *args, **kwargs)
        rec.scheduling.append(self)
        try:
            if is_step:
                guarded(rec, lambda: note_step(rec, self), "a scheduler")
            out = original(self, *args, **kwargs)
        finally:
            rec.scheduling.pop()
        if not is_step and not rec.scheduling:
            guarded(rec, lambda: rec.scheduled(self, private.schedulers_in(self)), "a scheduler")
        return out

    return method


def note_step(rec: Recorder, scheduler: Any) -> None:
    if len(rec.scheduling) == 1:
        rec.schedule_stepped(scheduler)
    elif scheduler is not rec.scheduling[0]:
        rec.schedule(scheduler).is_inner = True


def scaling(original: Any) -> Any:
    """Return a method of GradScaler that is noted, unless another one calls it."""

    @standing_for(original)
    def method(scaler: Any, *args: Any, **kwargs: Any) -> Any:
        rec = working()
        if rec is None or rec.is_scaling or not scaler.is_enabled():
            return original(scaler, *args, **kwargs)
        guarded(rec, lambda: rec.scaler_called(original.__name__), "a GradScaler")
        rec.is_scaling = True
        try:
            return original(scaler, *args, **kwargs)
        finally:
            rec.is_scaling = False

    return method


def registering(kind: str, original: Any) -> Any:
    """Return a method of modules that also notes the hook that it registers."""

    @functools.wraps(original)
    def register(self: Any, *args: Any, **kwargs: Any) -> Any:
        handle = original(self, *args, **kwargs)
        rec = working()
        if rec is None:
            return handle

        def note() -> None:
            event = rec.note_hook(kind, args[0] if args else kwargs["hook"], handle.id)
            event.subject = weakref.ref(self)
            event.detail = type(self).__name__

        guarded(rec, note, "a hook")
        return handle

    return register


def removing(original: Any) -> Any:
    """Return a RemovableHandle.remove that is noted."""

    @functools.wraps(original)
    def remove(self: Any) -> None:
        original(self)
        rec = active()
        if rec is not None:
            rec.unhooked(self.id)

    return remove


def end(rec: Recorder) -> None:
    """Find the tensors that were noted by their id(), while they exist."""
    for tensors in rec.clipped_tensors.values():
        tensors[:] = [leaf_at(rec, t) if isinstance(t, int) else t for t in tensors]


def leaf_at(rec: Recorder, address: int) -> Any:
    identity = rec.identities.get(address)
    if identity is None or identity.ref() is None or not identity.last.is_leaf:
        return None
    return identity
