"""The parts of PyTorch that are replaced while a recorder is active, and restored when it ends.

engine entrance             backward passes are watched (`passes`)
Module._call_impl           a call of a module is a scope
Parameter.__new__           a parameter is recorded as a leaf with the numbers of its data, without
                            their history
Function.apply              a call is recorded as one operator, without the calls in its forward
                            (`apply`)
FunctionMeta lookup         the same for an `apply` in C that the program stored before
torch.compile               compiled models run uncompiled
has_torch_function*         functions written in Python are recorded as the operators that they call
DeviceContext               a default device is put on the stack of modes as if the recorder were
                            not there
clip_grad_*_                calls are noted, also of functions that were imported before the
                            recording (`training`)
swap_tensors                two tensors are exchanged in the record (`swaps`)
GradScaler.step             a skipped step ends an iteration too
GradScaler's methods        calls are noted (`training`)
LRScheduler and subclasses  constructors and steps are noted, also of classes that are made meanwhile
Module.register_*_hook      the hooks of a module are noted (`training`)
RemovableHandle.remove      so is their removal
warnings                    a warning of PyTorch names the line of the program
optimisers' global hooks    a step is recorded as one change
Optimizer.__init__          the place where an optimiser is made is noted (`optimizers`)
Optimizer.zero_grad         the gradients that it clears are noted
FSDPParamGroup              gathering and reducing shards is not recorded (`sharded`)
DistributedDataParallel     buffers that it overwrites have new versions (`parallel`)
PipelineStage               how it learns shapes is not recorded (`parallel`)
"""

from __future__ import annotations

import sys
import threading
import warnings
import weakref
from typing import Any

import torch

from gradtrace.torch import (
    apply,
    escapes,
    optimizers,
    parallel,
    passes,
    private,
    sharded,
    swaps,
    training,
)
from gradtrace.torch.places import OURS, is_hidden
from gradtrace.torch.recorder import WRITTEN, Recorder, _active
from gradtrace.torch.recorder import active as active

Module = torch.nn.Module
SHOW_WARNING = "_showwarnmsg"  # Python's own, which catch_warnings() does not replace
INHERITED = object()  # in place of an attribute that its owner does not have itself
EAGER = "compiled kernels; compiled models ran as they are written"


class Patches:
    """The set of replacements that one recorder makes and restores."""

    def __init__(self, rec: Recorder) -> None:
        self.rec = rec
        self.hooks: private.OptimizerHooks | None = None
        # what has the attribute, its name, its former value, the one in place of it
        self.replaced: list[tuple[Any, str, Any, Any]] = []
        # the variables of a module, what they were
        self.updated: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self.stance: private.EagerStance | None = None
        self.groups_watched = False

    def install(self) -> None:
        _active.append(self.rec)
        engine = getattr(torch.autograd, private.ENGINE)
        self._replace(torch.autograd, private.ENGINE, passes.watched(self.rec, engine))
        # with its other methods: the first replacement in a class is the dear one, and Module has
        # many heirs
        self._replace(Module, private.MODULE_CALL, module_call(self.rec, private.module_call()))
        for patch in list(training.patches()):
            self._replace(*patch)
        function = private.function_base()
        name = private.FUNCTION_APPLY
        self._replace(function, name, classmethod(apply.applied(self.rec)))
        if private.STORES_C:
            self._replace(private.FunctionMeta, "__getattribute__", apply.lookup(self.rec))
        for module, names in private.questions():
            self._update(vars(module), names)
        parameter = torch.nn.Parameter
        constructor = escapes.parameter_made(self.rec, parameter.__new__)
        self._replace(parameter, "__new__", staticmethod(self.watching_groups(constructor)))
        optimizer = torch.optim.Optimizer
        self._replace(optimizer, "zero_grad", self.zeroing(optimizer.zero_grad))
        self._replace(optimizer, "__init__", optimizers.watched_init(self.rec, optimizer.__init__))
        self._replace(torch.amp.GradScaler, "step", self.scaling(torch.amp.GradScaler.step))
        for name in ("__enter__", "__exit__"):
            self._replace(
                private.DeviceContext, name, beside(self.rec, getattr(private.DeviceContext, name))
            )
        self._replace(
            torch.utils, "swap_tensors", swaps.swapping(self.rec, torch.utils.swap_tensors)
        )
        self.watch_schedulers()
        self._replace(torch, "compile", self.compiling(torch.compile))
        self._replace(warnings, SHOW_WARNING, placed(getattr(warnings, SHOW_WARNING)))
        self.hooks = private.OptimizerHooks(self.stepping, self.stepped)
        self.hooks.__enter__()
        self.watch_groups()
        data_parallel = torch.nn.parallel.DistributedDataParallel
        stages = private.pipeline_stages()
        if hasattr(data_parallel, private.DDP_SENDS):
            sends = getattr(data_parallel, private.DDP_SENDS)
            self._replace(data_parallel, private.DDP_SENDS, parallel.sending(self.rec, sends))
        if stages is not None:
            for name in private.INFER_SHAPES:
                self._replace(stages, name, sharded.unrecorded(self.rec, getattr(stages, name)))
            self._replace(
                stages, "forward_one_chunk", parallel.staged(self.rec, stages.forward_one_chunk)
            )
        self.run_eager()

    def watch_schedulers(self) -> None:
        """Replace methods of classes of schedulers that the program defines meanwhile."""
        base: Any = training.LRScheduler

        def __init_subclass__(cls: Any, /, **keywords: Any) -> None:
            super(base, cls).__init_subclass__(**keywords)
            for patch in training.patches_of(cls):
                self._replace(*patch)

        self._replace(base, "__init_subclass__", classmethod(__init_subclass__))

    def watch_groups(self) -> None:
        """Replace the methods of FSDP2's class that are not recorded, once it can be used: it is
        loaded, and the processes are connected.
        """
        groups = private.fsdp_groups()
        if groups is None or self.groups_watched or not torch.distributed.is_initialized():
            return
        self.groups_watched = True
        # another PyTorch may name them otherwise
        for name in filter(vars(groups).__contains__, sharded.INTERNAL):
            self._replace(groups, name, sharded.internal(self.rec, getattr(groups, name)))

    def watching_groups(self, new: Any) -> Any:
        """Return a Parameter.__new__ that notices FSDP2's class: each object of it makes
        parameters.
        """

        def __new__(cls: Any, *args: Any, **kwargs: Any) -> Any:
            self.watch_groups()
            return new(cls, *args, **kwargs)

        return __new__

    def _replace(self, owner: Any, name: str, value: Any) -> None:
        self.replaced.append((owner, name, held_by(owner, name), value))
        setattr(owner, name, value)

    def _update(self, variables: dict[str, Any], names: list[str]) -> None:
        """Replace the functions of a module by which it asks for modes."""
        old = {name: variables[name] for name in names}
        self.updated.append((variables, old))
        variables.update(
            {name: private.asking(function, self.rec) for name, function in old.items()}
        )

    def remove(self) -> None:
        """Restore everything. Each part is forgotten only when it is restored, so an interruption
        can be followed by another call.
        """
        while self.updated:
            variables, functions = self.updated[-1]
            variables.update(functions)
            self.updated.pop()
        while self.replaced:
            owner, name, old, own = self.replaced[-1]
            if held_by(owner, name) is own:  # else the program has replaced it meanwhile
                if old is INHERITED:
                    delattr(owner, name)
                else:
                    setattr(owner, name, old)
            self.replaced.pop()
        if self.hooks is not None:
            self.hooks.__exit__()
            self.hooks = None  # it refers to this object
        if self.stance is not None:
            self.stance.end()
            self.stance = None
        while self.rec in _active:
            _active.remove(self.rec)

    # ---- compiled models

    def run_eager(self) -> None:
        """Make compiled models run uncompiled, if torch.compile is loaded."""
        if self.stance is None and "torch._dynamo" in sys.modules:
            self.stance = private.EagerStance()
            self.stance.begin()

    def compiling(self, original: Any) -> Any:
        """Return a torch.compile whose models run uncompiled."""
        # a module that is imported meanwhile may keep the function, which must keep nothing
        patches = weakref.ref(self)

        def compile(*args: Any, **kwargs: Any) -> Any:
            compiled = original(*args, **kwargs)
            owner = patches()
            if owner is not None and active() is owner.rec:
                owner.run_eager()
                owner.rec.problem(EAGER)
            return compiled

        return compile

    # ---- optimisers

    def stepping(self, optimizer: Any, args: Any, kwargs: Any) -> Any:
        """Suspend the recorder before an optimiser's step, which is not recorded except for a
        closure that it calls.
        """
        rec = self.rec
        rec.suspend()
        closure = kwargs.get("closure", args[1] if len(args) > 1 else None)
        if closure is None or not callable(closure):
            if rec.precision is not None:
                with private.unseen():
                    rec.precision.steps.begin(optimizer)
            return None
        watched = resumed(rec, closure)
        if "closure" in kwargs:
            return args, {**kwargs, "closure": watched}
        return (args[0], watched, *args[2:]), kwargs

    def stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        rec = self.rec
        with private.unseen(), rec.lock:
            try:
                if rec.precision is not None:
                    rec.precision.steps.end()
                updated, origin = parameters_with_gradient(optimizer), rec.places.here_and_lead(2)
                written = [sharded.whole(rec, parameter) for parameter in updated]
                rec.written_by("step", written, False, optimizers.note(rec, optimizer))
                # the counters do not count the writes of a fused step
                if any(group.get("fused") for group in optimizer.param_groups):
                    for identity in filter(None, map(rec.find, written)):
                        rec.outdate(identity)
                sharded.outdate(rec, updated, WRITTEN)
                rec.note_update(updated)
                end = (*rec.position(), origin)
                if optimizers.stepped(rec, optimizer, end, idle=not updated):
                    rec.steps.append(end)
            except Exception as error:
                rec.problem(f"an optimiser's step ({type(error).__name__})")
        rec.resume()

    def scaling(self, original: Any) -> Any:
        """Return a GradScaler.step that also notes the end of a step that it skips, for gradients
        that overflow.
        """
        rec = self.rec

        def step(scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            noted = len(rec.steps)
            scale = 0.0
            if rec.precision is not None:
                with private.unseen():
                    scale = scaler.get_scale()
            out = original(scaler, optimizer, *args, **kwargs)
            if active() is rec and rec.precision is not None and scaler.is_enabled():
                with private.unseen(), rec.lock:
                    rec.precision.attempt(
                        rec.precision.steps.scaled, scale, len(rec.steps) == noted, optimizer
                    )
            if active() is rec and len(rec.steps) == noted and not rec.here.quiet:
                with private.without_torch_function(), rec.lock:
                    rec.steps.append((*rec.position(), rec.places.here()))
            return out

        return step

    def zeroing(self, original: Any) -> Any:
        """Return an Optimizer.zero_grad that is recorded as one change of each gradient."""
        rec = self.rec

        def zero_grad(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if active() is not rec or not rec.suspend():
                return original(optimizer, *args, **kwargs)
            try:
                with private.without_torch_function():
                    held = parameters_with_gradient(optimizer)
                out = original(optimizer, *args, **kwargs)
                with private.without_torch_function(), rec.lock:
                    gone = [parameter for parameter in held if parameter.grad is None]
                    rec.written_by(
                        "cleared", [sharded.whole(rec, parameter) for parameter in gone], True
                    )
                    rec.written_by(
                        "zero_",
                        [parameter for parameter in held if parameter.grad is not None],
                        True,
                    )
            finally:
                rec.resume()
            return out

        return zero_grad


def held_by(owner: Any, name: str) -> Any:
    """Return an attribute that an object itself has, or the contents of a cell."""
    if name == private.CELL:
        return owner.cell_contents
    return owner.__dict__.get(name, INHERITED)


def parameters_with_gradient(optimizer: Any) -> list[Any]:
    return [
        parameter
        for group in optimizer.param_groups
        for parameter in group["params"]
        if parameter.grad is not None
    ]


def placed(show: Any) -> Any:
    """Return what shows a warning, with the line of the program in place of one of the recorder's,
    which called PyTorch for it.
    """

    def _showwarnmsg(message: Any) -> None:
        frame = sys._getframe(1) if message.filename.startswith(OURS) else None
        while frame is not None and is_hidden(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is not None:
            message.filename = frame.f_code.co_filename
            message.lineno = frame.f_lineno
        show(message)

    return _showwarnmsg


def beside(rec: Recorder, original: Any) -> Any:
    """Return a method that changes the stack of modes while the recorder is not on it: a default
    device takes the lowest place, and expects itself there when it leaves.
    """

    def method(self: Any, *args: Any) -> Any:
        with rec.unrecorded():
            return original(self, *args)

    return method


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
    recorder = weakref.ref(
        rec
    )  # torch._dynamo keeps the function that it finds when it is imported

    def _call_impl(self: Any, *args: Any, **kwargs: Any) -> Any:
        rec = recorder()
        if rec is None or not rec.is_on():
            if rec is not None and threading.get_ident() != rec.thread and not rec.watching:
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
