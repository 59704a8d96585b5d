"""The parts of PyTorch that are replaced while a recorder is active, and restored when it ends.

engine entrance             backward passes are watched (`passes`)
Module._call_impl           a call of a module is a scope
Parameter.__new__           a parameter is recorded as a leaf with the numbers of its data, without their history
Function.apply              a call is recorded as one operator, without the calls in its forward (`apply`)
FunctionMeta lookup         the same for an `apply` that the program stored before
torch.compile               compiled models run uncompiled
has_torch_function*         functions written in Python are recorded as the operators that they call
swap_tensors                two tensors are exchanged in the record (`swaps`)
optimisers' global hooks    a step is recorded as one change
"""

from __future__ import annotations

import threading
from typing import Any

import torch

from gradtrace.torch import apply, escapes, optimizers, passes, private, swaps
from gradtrace.torch.recorder import Recorder

Module = torch.nn.Module
_active: list[Recorder] = []


def active() -> Recorder | None:
    """Return the recorder that is active in this process, or None."""
    return _active[-1] if _active else None


INHERITED = object()  # in place of an attribute that its owner does not have itself
EAGER = "compiled kernels; compiled models ran as they are written"


class Patches:
    """The set of replacements that one recorder makes and restores."""

    def __init__(self, rec: Recorder) -> None:
        self.rec = rec
        self.hooks: private.OptimizerHooks | None = None
        self.replaced: list[tuple[Any, str, Any]] = []  # what had the attribute, its name, its value
        self.stance: Any = None

    def install(self) -> None:
        _active.append(self.rec)
        engine = getattr(torch.autograd, private.ENGINE)
        self._replace(torch.autograd, private.ENGINE, passes.watched(self.rec, engine))
        self._replace(Module, private.MODULE_CALL, module_call(self.rec, private.module_call()))
        function, name = private.function_base(), private.FUNCTION_APPLY
        self._replace(function, name, classmethod(apply.applied(self.rec)))
        self._replace(private.FunctionMeta, "__getattribute__", apply.lookup(self.rec))
        for module, name in private.questions():
            self._replace(module, name, private.asking(getattr(module, name)))
        parameter = torch.nn.Parameter
        self._replace(parameter, "__new__", staticmethod(escapes.parameter_made(self.rec, parameter.__new__)))
        optimizer = torch.optim.Optimizer
        self._replace(optimizer, "zero_grad", self.zeroing(optimizer.zero_grad))
        self._replace(torch.utils, "swap_tensors", swaps.swapping(self.rec, torch.utils.swap_tensors))
        self._replace(torch, "compile", self.compiling(torch.compile))
        self._replace(optimizer, "__init__", optimizers.made(self.rec, optimizer.__init__))
        self.hooks = private.OptimizerHooks(self.stepping, self.stepped)
        self.hooks.__enter__()
        self.run_eager()

    def _replace(self, owner: Any, name: str, value: Any) -> None:
        self.replaced.append((owner, name, owner.__dict__.get(name, INHERITED)))
        setattr(owner, name, value)

    def remove(self) -> None:
        for owner, name, old in reversed(self.replaced):
            if old is INHERITED:
                delattr(owner, name)
            else:
                setattr(owner, name, old)
        self.replaced.clear()
        if self.hooks is not None:
            self.hooks.__exit__()
            self.hooks = None  # it refers to this object
        if self.stance is not None:
            self.stance.__exit__(None, None, None)
            self.stance = None
        if self.rec in _active:
            _active.remove(self.rec)

    # ---- compiled models

    def run_eager(self) -> None:
        """Make compiled models run uncompiled, if torch.compile is loaded."""
        import sys

        if self.stance is None and "torch._dynamo" in sys.modules:
            self.stance = private.eager_stance()
            self.stance.__enter__()

    def compiling(self, original: Any) -> Any:
        def compile(*args: Any, **kwargs: Any) -> Any:
            found = original(*args, **kwargs)
            self.run_eager()
            self.rec.problem(EAGER)
            return found

        return compile

    # ---- optimisers

    def stepping(self, optimizer: Any, args: Any, kwargs: Any) -> Any:
        """Suspend the recorder before an optimiser's step, which is not recorded except for a closure that it calls."""
        rec = self.rec
        rec.suspend()
        closure = kwargs.get("closure") if "closure" in kwargs else args[1] if len(args) > 1 else None
        if closure is None or not callable(closure):
            return None
        watched = resumed(rec, closure)
        if "closure" in kwargs:
            return args, {**kwargs, "closure": watched}
        return (args[0], watched, *args[2:]), kwargs

    def stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        rec = self.rec
        with private.without_torch_function(), rec.lock:
            try:
                updated, origin = parameters_with_gradient(optimizer), rec.places.here(2)
                rec.written_by("step", updated, False)
                rec.steps.append((len(rec.calls), len(rec.passes), origin))
                optimizers.stepped(rec, optimizer, origin, idle=not updated)
            except Exception as error:
                rec.problem(f"an optimiser's step ({type(error).__name__})")
        rec.resume()

    def zeroing(self, original: Any) -> Any:
        """Return an Optimizer.zero_grad that is recorded as one change of each gradient."""
        rec = self.rec

        def zero_grad(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if active() is not rec or not rec.suspend():
                return original(optimizer, *args, **kwargs)
            try:
                held = parameters_with_gradient(optimizer)
                out = original(optimizer, *args, **kwargs)
                gone = [one for one in held if one.grad is None]
                with private.without_torch_function(), rec.lock:
                    rec.written_by("cleared", gone, True)
                    rec.written_by("zero_", [one for one in held if one.grad is not None], True)
            finally:
                rec.resume()
            return out

        return zero_grad


def parameters_with_gradient(optimizer: Any) -> list[Any]:
    return [one for group in optimizer.param_groups for one in group["params"] if one.grad is not None]


def resumed(rec: Recorder, closure: Any) -> Any:
    """Return a closure that is recorded although the optimiser that calls it is not."""

    def watched(*args: Any, **kwargs: Any) -> Any:
        suspended = rec.resume()
        try:
            return closure(*args, **kwargs)
        finally:
            if suspended:
                rec.suspend()

    return watched


def module_call(rec: Recorder, original: Any) -> Any:
    """Return a Module._call_impl that records each module's call as a scope."""

    def _call_impl(self: Any, *args: Any, **kwargs: Any) -> Any:
        if rec.quiet or not private.mode_depth():
            if threading.get_ident() != rec.thread and not rec.watching:
                rec.problem("what other threads compute")
            return original(self, *args, **kwargs)
        if type(self).__name__ == "OptimizedModule":
            rec.problem(EAGER)
        return in_scope(rec, original, self, args, kwargs)

    rec.places.called_by(in_scope.__code__)
    return _call_impl


def in_scope(rec: Recorder, original: Any, module: Any, args: Any, kwargs: Any) -> Any:
    """Call a module as a scope of the record."""
    rec.enter(module)
    try:
        return original(module, *args, **kwargs)
    finally:
        rec.leave()
