"""The private names of PyTorch that a recording replaces or calls, with a fallback where a version
does not have one.

Public names are used elsewhere directly. Tested with PyTorch 2.4, 2.13 and 2.15.
"""

from __future__ import annotations

import functools
import operator
import sys
import threading
from collections import deque
from collections.abc import Callable
from importlib import import_module
from itertools import starmap
from types import ClassMethodDescriptorType
from typing import Any, TypeVar

import torch
from torch import _C
from torch.optim import optimizer
from torch.utils import _device, _python_dispatch

F = TypeVar("F", bound=Callable[..., Any])

# ---- the stacks of modes of this thread: the highest mode sees a call first, the lowest what the others make of it


push_mode = _C._push_on_torch_function_stack
pop_mode = _C._pop_torch_function_stack
mode_at = _C._get_function_stack_at
mode_depth = _C._len_torch_function_stack
# a context manager: neither modes nor subclasses see a call
without_torch_function: Any = _C.DisableTorchFunction
without_torch_dispatch: Any = _C._DisableTorchDispatch


def modes() -> list[Any]:
    """Return the function modes, the lowest first."""
    return [mode_at(index) for index in range(mode_depth())]


def put_lowest(mode: Any) -> None:
    """Put a function mode below all others."""
    if mode_depth():
        set_modes([mode, *modes()])
    else:
        push_mode(mode)


def remove_mode(mode: Any) -> None:
    """Remove a function mode, wherever it is on the stack; the others keep their order."""
    if mode_depth() == 1 and mode_at(0) is mode:
        pop_mode()
        return
    set_modes([stacked_mode for stacked_mode in modes() if stacked_mode is not mode])


def set_modes(replacement: list[Any]) -> None:
    """Replace the function modes."""
    call_each([(pop_mode,)] * mode_depth() + [(push_mode, mode) for mode in replacement])


def call_each(changes: list[Any]) -> None:
    """Call functions with their arguments, in one call into C: no signal interrupts it, which would
    lose a mode.
    """
    deque(starmap(operator.call, changes), 0)


# the mode of a default device, which takes the lowest place
DeviceContext: Any = _device.DeviceContext

# ---- autograd


# by which backward(), autograd.grad() and the checkpoints call the engine
ENGINE = "_engine_run_backward"


def is_batched(tensors: Any) -> bool:
    """Whether gradients are a batch of several, as autograd.grad(is_grads_batched=True) gives to
    the engine.
    """
    return any(
        isinstance(tensor, torch.Tensor) and _C._functorch.is_legacy_batchedtensor(tensor)
        for tensor in tensors
    )


def sequence_of(node: Any) -> int:
    """Return a node's number in the order of creation, within its thread."""
    return int(node._sequence_nr())


def in_transform() -> bool:
    """Whether a transform of torch.func (vmap, grad, ...) is active, or torch.jit.trace, which
    would also trace what the recorder computes and gives tensors for the numbers of a shape.
    """
    return _C._functorch.peek_interpreter_stack() is not None or _C._get_tracing_state() is not None


def transform() -> str:
    """Return the name of the transform that is active."""
    return "torch.jit.trace" if _C._get_tracing_state() is not None else "a transform of torch.func"


# not in PyTorch 2.4
top_hooks: Any = getattr(_C._autograd, "_top_saved_tensors_default_hooks", None)


class HooksOfThread(threading.local):
    """How many pairs of hooks for saved tensors this thread has, counted where PyTorch does not say
    it.
    """

    depth = 0


hooks_of_thread = HooksOfThread()


def counted(change: Any, step: int) -> Any:
    """Return a function of PyTorch that adds or removes a pair of hooks, and counts it."""

    @functools.wraps(change)
    def count(*hooks: Any) -> None:
        change(*hooks)
        hooks_of_thread.depth += step

    return count


if top_hooks is None:
    for name, step in (
        ("_push_saved_tensors_default_hooks", 1),
        ("_pop_saved_tensors_default_hooks", -1),
    ):
        setattr(_C._autograd, name, counted(getattr(_C._autograd, name), step))


def hooked_saves() -> bool:
    """Whether tensors saved for backward go through hooks (a checkpoint, offloading), which reading
    them would call.
    """
    return hooks_of_thread.depth > 0 if top_hooks is None else top_hooks(True) is not None


# whether a saved tensor says that it has hooks (not in PyTorch 2.4)
SHOWS_HOOKS = hasattr(_C._autograd.SavedTensor, "unpack_hook")


def is_hooked(raw: Any) -> bool:
    """Whether reading what a node saved (a tensor, several, or a number) calls a hook of the
    program.
    """
    if isinstance(raw, (tuple, list)):
        return any(is_hooked(element) for element in raw)
    return getattr(raw, "unpack_hook", None) is not None


def saved_tensors(node: Any) -> tuple[Any, ...]:
    """Return what the node of a custom Function saved; nothing if reading it would call a hook."""
    raw = node._raw_saved_tensors
    if is_hooked(raw):
        return ()
    clears = "clear_saved_tensors_on_access"  # only the first access gives them; not in PyTorch 2.4
    if hasattr(torch.autograd.Function, clears) and getattr(node._forward_cls, clears):
        return tuple(saved.data for saved in raw)
    return tuple(node.saved_tensors)


def saved_names(kind: Any) -> list[str]:
    """Return the attributes in which a class of nodes has its saved tensors and the exponent of a
    power.
    """
    tensors = [n.removeprefix("_raw") for n in dir(kind) if n.startswith("_raw_saved_")]
    return tensors + [n for n in ("_saved_exponent",) if hasattr(kind, n) and n not in tensors]


def name_of(node: Any) -> str:
    """Return a node's name; a custom Function's `ctx.name = ...` hides the method."""
    return str(type(node).name(node))


class NodeKind:
    """The properties that all nodes of one class share."""

    __slots__ = ("accumulates", "custom", "name", "saved")

    def __init__(self, node: Any) -> None:
        self.name = name_of(node).rpartition("::")[2]
        self.accumulates = hasattr(node, "variable")
        self.custom = isinstance(node, torch.autograd.function.BackwardCFunction)
        names = [] if self.custom else saved_names(type(node))
        self.saved = [(name, "_raw" + name, name.removeprefix("_saved_")) for name in names]


_kinds: dict[Any, NodeKind] = {}


def kind_of(node: Any) -> NodeKind:
    """Return the kind of a node; found once for each class."""
    kind = _kinds.get(type(node))
    if kind is None:
        kind = NodeKind(node)
        if type(node).__name__ != "CppFunction":  # the class of every node that has none of its own
            _kinds[type(node)] = kind
    return kind


def results_of(node: Any) -> Any:
    """Return the shapes and dtypes of what the operation of a node gave; () before PyTorch 2.1."""
    return getattr(node, "_input_metadata", ())


def module_call() -> Any:
    """Return the function that Module.__call__ calls. (Replacing __call__ would rebuild a slot of
    every subclass.)
    """
    return torch.nn.Module._call_impl


MODULE_CALL = "_call_impl"


def is_compiled(module: Any) -> bool:
    """Whether a module was compiled by its method compile()."""
    return getattr(module, "_compiled_call_impl", None) is not None


def is_initialized(module: Any) -> bool:
    """Whether a module's class has called the __init__ of Module, which makes the tables of its
    parts.
    """
    return all(hasattr(module, table) for table in ("_modules", "_parameters", "_buffers"))


def local_of(tensor: Any) -> Any:
    """Return the part of a DTensor that this process holds, without a graph."""
    return tensor._local_tensor


def gathered(held: Any) -> Any:
    """Return the whole parameter of one of FSDP2's; None before it was gathered for the first
    time.
    """
    return getattr(held, "_unsharded_param", None)


def fsdp_groups() -> Any:
    """Return the class of FSDP2 that gathers and reduces the parameters of a module; None if it is
    not loaded.
    """
    module = sys.modules.get("torch.distributed.fsdp._fully_shard._fsdp_param_group")
    return getattr(module, "FSDPParamGroup", None)


DDP_SENDS = "_sync_buffers"  # DistributedDataParallel's method that overwrites buffers
INFER_SHAPES = ("_prepare_forward_infra", "_prepare_backward_infra")  # of a pipeline's stage


def pipeline_stages() -> Any:
    """Return the class of a pipeline's stages; None if it is not loaded."""
    return getattr(sys.modules.get("torch.distributed.pipelining.stage"), "PipelineStage", None)


def received(stage: Any) -> list[Any]:
    """Return the tensors in which a stage of a pipeline receives what the one before sends."""
    infos = [info for some in stage.args_recv_info.values() for info in some]
    return [
        tensor
        for info in infos
        if isinstance(tensor := getattr(info, "buffer", None), torch.Tensor)
    ]


def function_base() -> Any:
    """Return the class whose `apply` to replace.

    Function.apply calls that of `_SingleLevelFunction`, also if the program has stored it: `swish =
    Swish.apply`. In PyTorch 2.15 it is the function in C itself.
    """
    function: Any = torch.autograd.Function
    return function if is_in_c(function) else torch.autograd.function._SingleLevelFunction


def is_in_c(function: Any) -> bool:
    return isinstance(vars(function).get(FUNCTION_APPLY), ClassMethodDescriptorType)


FUNCTION_APPLY = "apply"
# whether a program that stores `apply` stores the function in C
STORES_C = is_in_c(torch.autograd.Function)
FUNCTION_NODE = "_backward_cls"  # of a Function: the class of its nodes
FunctionMeta: Any = torch.autograd.function.FunctionMeta


def apply_of(function: Any) -> Any:
    """Return PyTorch's original `apply`, bound to a Function."""
    return _C._FunctionBase.__dict__["apply"].__get__(None, function)


# ---- tensors


def storage_of(tensor: Any) -> int | None:
    """Return the address of a tensor's storage; None if it has none (sparse, fake)."""
    if tensor.layout is not torch.strided:
        return None
    try:
        return int(tensor.untyped_storage()._cdata)
    except (RuntimeError, NotImplementedError):
        return None


def base_of(tensor: Any) -> Any:
    """Return the tensor that this one is a view of, or None."""
    return tensor._base


def version_of(tensor: Any) -> int:
    """Return the version counter of a tensor's storage; 0 for an inference tensor, which has
    none.
    """
    try:
        return tensor._version
    except RuntimeError:
        return 0


def versions_of(tensors: list[Any]) -> list[int]:
    """Return the version counters of several tensors, which costs less than asking for each."""
    try:
        return [tensor._version for tensor in tensors]
    except RuntimeError:
        return [version_of(tensor) for tensor in tensors]


def tensor_of(reference: Any) -> Any:
    """Return the tensor of a weak reference, which then stays whole while it is used; None if there
    is none.

    Where only PyTorch itself held the tensor, a strong reference from Python alone would not keep
    its contents.
    """
    tensor = reference()
    if tensor is not None:
        tensor._fix_weakref()
    return tensor


def is_leaf(tensor: Any) -> bool:
    """Whether a tensor is a leaf.

    PyTorch raises for a view made under no_grad and changed in place; such a tensor is a leaf if it
    does not require grad.
    """
    try:
        return bool(tensor.is_leaf)
    except RuntimeError:
        return not tensor.requires_grad


def needs_gradient(tensor: Any) -> bool:
    """Return `requires_grad`, unseen by a subclass of Tensor."""
    with without_torch_function():
        return bool(tensor.requires_grad)


def retains_grad(tensor: Any) -> bool:
    """Whether retain_grad() was called on a tensor; False if PyTorch raises (see `is_leaf`)."""
    try:
        return bool(tensor.retains_grad)
    except RuntimeError:
        return False


def kept_gradient(tensor: Any, is_set: bool = False) -> Any:
    """Return the gradient that backward keeps for a tensor, or that the program has set, or None.

    PyTorch warns of a read from another tensor.
    """
    return tensor.grad if is_set or is_leaf(tensor) or retains_grad(tensor) else None


def is_dispatched(kind: Any) -> bool:
    """Whether a subclass of Tensor computes in Python (`__torch_dispatch__`), where it would see
    what is read.
    """
    return kind.__torch_dispatch__ is not _C._disabled_torch_dispatch_impl


OpOverload: Any = torch._ops.OpOverload
DETACH: Any = torch.ops.aten.detach.default


def is_below_autograd() -> bool:
    """Whether this is a part of an operation that autograd has seen: a TorchDispatchMode that calls
    the operation.
    """
    key = _C.DispatchKey.AutogradFunctionality
    return _C._dispatch_tls_is_dispatch_key_excluded(key) and not torch.is_inference_mode_enabled()


DispatchMode: Any = _python_dispatch.TorchDispatchMode
dispatch_depth = _C._len_torch_dispatch_stack


def is_undispatched() -> bool:
    """Whether `without_torch_dispatch` is at work: no TorchDispatchMode sees operations."""
    return _C._dispatch_tls_is_dispatch_key_excluded(_C.DispatchKey.Python)


def dispatch_modes() -> list[Any]:
    """Return the TorchDispatchModes, the lowest first."""
    return [_C._get_dispatch_stack_at(index) for index in range(dispatch_depth())]


def set_dispatch_modes(replacement: list[Any]) -> None:
    """Replace the TorchDispatchModes, those of pre-dispatch excepted."""
    pops: list[Any] = [(_C._pop_torch_dispatch_stack, None)] * dispatch_depth()
    call_each(pops + [(_C._push_on_torch_dispatch_stack, mode) for mode in replacement])


class without_dispatch_modes:
    """A context in which no TorchDispatchMode sees operations, those of pre-dispatch excepted."""

    def __enter__(self) -> None:
        self.modes = dispatch_modes()
        if self.modes:
            set_dispatch_modes([])

    def __exit__(self, *error: Any) -> None:
        if self.modes:
            set_dispatch_modes(self.modes)


class unseen:
    """A context in which no mode of the program, and no subclass of Tensor, sees an operation."""

    def __enter__(self) -> None:
        self.function, self.dispatch = without_torch_function(), without_torch_dispatch()
        self.function.__enter__()
        self.dispatch.__enter__()

    def __exit__(self, *error: Any) -> None:
        try:
            self.dispatch.__exit__(*error)
        finally:
            self.function.__exit__(*error)


def modeless(work: F) -> F:
    """Return a function whose operations no mode of the program sees; those of subclasses (DTensor)
    stay seen.
    """

    @functools.wraps(work)
    def hidden(*args: Any, **kwargs: Any) -> Any:
        with without_torch_function(), without_dispatch_modes():
            return work(*args, **kwargs)

    return hidden  # type: ignore[return-value]


def buffers_of(module: Any) -> dict[str, Any]:
    """Return the dict in which a module itself (not those in it) has its buffers."""
    return module._buffers


def copy_each(targets: list[Any], sources: list[Any]) -> None:
    """Copy each tensor into its target, in one call."""
    torch._foreach_copy_(targets, sources)


def norms(tensors: list[Any], dtype: Any = None) -> list[Any]:
    """Return the 2-norm of each tensor, as 0-d tensors of the tensors' dtype or of `dtype`, in one
    call.
    """
    plain = [torch.view_as_real(t.resolve_conj()) if t.is_complex() else t for t in tensors]
    return list(torch._foreach_norm(plain, 2, dtype=dtype))


def states_of_optimizers(scaler: Any) -> Any:
    """Return the dict in which a GradScaler keeps, by optimiser, what it has done since its last
    update.
    """
    return scaler._per_optimizer_states


# ---- functions that are written in Python


ASKING = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")


@functools.cache
def questions() -> list[tuple[Any, list[str]]]:
    """Return where the modules of PyTorch whose Python functions should be seen as the operators
    that they call ask for modes: each module, and the names in it.
    """
    import torch.functional
    import torch.nn.functional
    import torch.nn.init
    import torch.overrides

    # torch.overrides: layers ask there whether they may take their fused path for inference
    modules = [
        torch.functional,
        torch.nn.functional,
        torch.nn.init,
        torch.autograd,
        torch.overrides,
    ]
    return [(module, [name for name in ASKING if hasattr(module, name)]) for module in modules]


def asking(original: Any, recorder: Any) -> Any:
    """Return a `has_torch_function` that ignores the recorder's mode and asks only for tensor
    subclasses.

    With PyTorch's own, a function written in Python would reach the recorder as a single call, and
    the operators in it would not be seen. A mode of the program gets the call as without the
    recorder.
    """
    plain = (torch.Tensor, torch.nn.Parameter)

    def ask(*args: Any) -> bool:
        if mode_depth() != 1 or mode_at(0) is not recorder:
            return bool(original(*args))
        flat = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
        for argument in flat:
            kind = type(argument)
            if kind not in plain and hasattr(kind, "__torch_function__"):
                return bool(original(*args))
        return False

    return ask


# ---- training


CELL = "cell_contents"


def cell_of(function: Any) -> Any:
    """Return the cell in which a decorated function of PyTorch holds the one that it calls: what
    replaces that one is also called by programs that have imported the function before. None if
    there is none.
    """
    inner = getattr(function, "__wrapped__", None)
    cells = getattr(function, "__closure__", None) or ()
    return next((cell for cell in cells if cell.cell_contents is inner), None)


def schedulers_in(scheduler: Any) -> Any:
    """Return the schedulers that one made of several calls."""
    return getattr(scheduler, "_schedulers", ())


# ---- compiled regions


class EagerStance:
    """The setting by which compiled models run uncompiled.

    A signal may interrupt `begin` at any place; `end` restores what was changed up to there, and
    can be repeated.
    """

    # the stance that `set_stance` made the first time, which takes longer than to set it
    eager: Any = None

    def __init__(self) -> None:
        self.module: Any = sys.modules.get("torch._dynamo.eval_frame") or import_module(
            "torch._dynamo.eval_frame"
        )
        # of the program; not before PyTorch 2.6
        self.stance = getattr(self.module, "_stance", None)
        self.set_callback = self.module.set_eval_frame
        self.callbacks: list[Any] = []

    def begin(self) -> None:
        if self.stance is not None:
            if EagerStance.eager is not None:
                self.module._set_stance(EagerStance.eager)
                return
            torch.compiler.set_stance("force_eager")
            EagerStance.eager = self.module._stance
            return
        # a compiled model sets its compiler as the callback for every Python frame while it runs;
        # here it sets none
        self.module.set_eval_frame = lambda callback: self.set_callback(None)
        # no signal comes between the call and the note
        self.callbacks.extend(map(self.set_callback, [None]))

    def end(self) -> None:
        if self.stance is not None:
            self.module._set_stance(self.stance)
            return
        self.module.set_eval_frame = self.set_callback
        for callback in self.callbacks:
            self.set_callback(callback)


def accelerator() -> str:
    """Return the kind of accelerator that this process can use; "" if there is none. With one,
    autograd starts threads at the first backward pass, after which a forked process cannot use
    autograd.
    """
    kinds = {"cuda": torch.cuda, "mps": torch.backends.mps, "xpu": getattr(torch, "xpu", None)}
    return next(
        (name for name, kind in kinds.items() if kind is not None and kind.is_available()), ""
    )


def is_capturing(device: Any) -> bool:
    """Whether this thread captures a CUDA graph; nothing else may be computed during that."""
    return device.type == "cuda" and torch.cuda.is_current_stream_capturing()


class OptimizerHooks:
    """A context in which every optimiser's step calls functions before and after it. The public way
    to register one makes a handle, which takes ten times as long.
    """

    def __init__(self, before: Any, after: Any = None) -> None:
        self.before = before
        self.after = after

    def __enter__(self) -> None:
        optimizer._global_optimizer_pre_hooks[self] = self.before  # type: ignore[index]
        if self.after is not None:
            optimizer._global_optimizer_post_hooks[self] = self.after  # type: ignore[index]

    def __exit__(self, *error: object) -> None:
        optimizer._global_optimizer_pre_hooks.pop(self, None)  # type: ignore[call-overload]
        optimizer._global_optimizer_post_hooks.pop(self, None)  # type: ignore[call-overload]
