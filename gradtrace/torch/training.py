"""Record the calls of a training loop that no mode sees: what clips gradients, schedules of
learning rates, gradient scalers.

The function that is called in place of PyTorch's adds a frame to the stack, which `warnings` must
not count when a warning names the line of its caller.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import GeneratorType
from typing import TYPE_CHECKING, Any

import torch

from gradtrace.torch import private, sharded
from gradtrace.torch.escapes import guarded
from gradtrace.trace.events import ClipEvent

if TYPE_CHECKING:
    from gradtrace.torch.recorder import Recorder

SKIPPED = "<frozen importlib._bootstrap>"  # whose frames `warnings` skips
HOW = {"clip_grad_norm_": "norm", "clip_grad_value_": "value"}


def standing_for(original: Any) -> Callable[[Any], Any]:
    """Return a decorator of a function that calls another one, for which programs take it:
    `warnings` does not count its frames.
    """

    def decorate(function: Any) -> Any:
        function.__code__ = function.__code__.replace(co_filename=SKIPPED)
        return functools.update_wrapper(function, original)

    return decorate


def clipping(rec: Recorder, original: Any) -> Any:
    """Return a clip_grad_norm_ or clip_grad_value_ whose calls are noted. An iterator is read here,
    and its tensors are passed on.
    """
    code = original.__code__
    names = code.co_varnames[: code.co_argcount]

    @standing_for(original)
    def clip(*args: Any, **kwargs: Any) -> Any:
        arguments = dict(zip(names, args, strict=False)) | kwargs
        is_odd = "parameters" not in arguments or len(arguments) != len(args) + len(kwargs)
        if is_odd or not rec.is_on():
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


def scheduling(rec: Recorder, original: Any) -> Any:
    """Return a constructor or a step() of schedulers that is noted, unless another method of a
    scheduler calls it.
    """
    is_step = original.__name__ == "step"

    @standing_for(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        within = rec.scheduling
        within.append(self)
        try:
            if is_step and rec.is_on():
                guarded(rec, lambda: note_step(rec, self), "a scheduler")
            out = original(self, *args, **kwargs)
        finally:
            within.pop()
        if not is_step and not within and rec.is_on():
            guarded(rec, lambda: rec.scheduled(self, private.schedulers_in(self)), "a scheduler")
        return out

    return method


def note_step(rec: Recorder, scheduler: Any) -> None:
    if len(rec.scheduling) == 1:
        rec.schedule_stepped(scheduler)
    elif scheduler is not rec.scheduling[0]:
        rec.schedule(scheduler).is_inner = True


def scaling(rec: Recorder, original: Any) -> Any:
    """Return a method of GradScaler that is noted, unless another one calls it."""

    @standing_for(original)
    def method(scaler: Any, *args: Any, **kwargs: Any) -> Any:
        if rec.is_scaling or not rec.is_on() or not scaler.is_enabled():
            return original(scaler, *args, **kwargs)
        guarded(rec, lambda: rec.scaler_called(original.__name__), "a GradScaler")
        rec.is_scaling = True
        try:
            return original(scaler, *args, **kwargs)
        finally:
            rec.is_scaling = False

    return method


def end(rec: Recorder) -> None:
    """Find the tensors that were noted by their id(), while they exist."""
    for tensors in rec.clipped_tensors.values():
        tensors[:] = [leaf_at(rec, t) if isinstance(t, int) else t for t in tensors]


def leaf_at(rec: Recorder, address: int) -> Any:
    identity = rec.identities.get(address)
    if identity is None or identity.ref() is None or not identity.last.is_leaf:
        return None
    return identity
