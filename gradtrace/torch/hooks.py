"""Calls of Tensor.backward, and the program's own hooks on tensors."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import torch

from gradtrace.torch.escapes import guarded
from gradtrace.torch.memory import PLAIN

if TYPE_CHECKING:
    from gradtrace.torch.recorder import Recorder


def backward(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    """Call Tensor.backward; while the engine works the recorder is active, so that hooks and
    checkpoints are seen.
    """
    if type(args[0]) not in PLAIN:
        return func(*args, **kwargs)
    names = ("gradient", "retain_graph", "create_graph", "inputs")
    options: dict[str, Any] = {
        "gradient": None,
        "retain_graph": None,
        "create_graph": False,
        "inputs": None,
    }
    options.update(zip(names, args[1:], strict=False))
    options.update(kwargs)
    inputs = options.pop("inputs")
    gradient = options["gradient"]
    keep = options["retain_graph"]
    create = options["create_graph"]
    rec.here.called_backward = True
    try:
        torch.autograd.backward(args[0], gradient, keep, create, inputs=inputs)
    finally:
        rec.here.called_backward = False


class HookWatcher:
    """A wrapper of a program's tensor hook that notes, while the recorder exists, how the hook
    changed the gradient.
    """

    def __init__(self, hook: Any, recorder: Recorder) -> None:
        self.hook = hook
        self.recorder = weakref.ref(recorder)
        self.__name__ = getattr(hook, "__name__", type(hook).__name__)

    def __call__(self, gradient: Any) -> Any:
        rec = self.recorder()
        if rec is None or not rec.watching:
            return self.hook(gradient)
        before = rec.note_gradient(gradient)
        result = self.hook(gradient)
        changed = result is not None
        rec.hook_runs.append(
            (
                "tensor",
                self.__name__,
                before,
                rec.note_gradient(result) if changed else before,
                changed,
            )
        )
        return result


def register_hook(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    """Register a hook of the program on a tensor, one that gets a gradient in a HookWatcher; on a
    tensor of a subclass, as it is.
    """
    if type(args[0]) not in PLAIN or len(args) != 2 or kwargs:
        return func(*args, **kwargs)
    tensor, hook = args
    kind = "tensor" if name == "register_hook" else "accumulated"
    handle = func(tensor, HookWatcher(hook, rec) if kind == "tensor" else hook)

    def note() -> None:
        rec.note_hook(kind, hook, handle.id).tensor = rec.entry(tensor).tensor

    guarded(rec, note, "a hook")
    return handle


def retain_grad(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    rec.retaining = True
    return func(*args, **kwargs)
