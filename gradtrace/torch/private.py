"""Every private name of PyTorch that the recorder uses, in one place, with a fallback where a version does not have it.

Public names are used elsewhere directly. Tested with PyTorch 2.4, 2.13 and 2.15.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Iterator
from types import ClassMethodDescriptorType
from typing import Any

import torch
from torch import _C
from torch.optim import optimizer

# ---- the stack of function modes of this thread


def push_mode(mode: Any) -> None:
    _C._push_on_torch_function_stack(mode)


def pop_mode() -> Any:
    return _C._pop_torch_function_stack()


mode_depth = _C._len_torch_function_stack
without_torch_function: Any = _C.DisableTorchFunction  # a context manager: neither modes nor subclasses see a call

# ---- autograd


ENGINE = "_engine_run_backward"  # by which backward(), autograd.grad() and the checkpoints call the engine


def is_batched(tensors: Any) -> bool:
    """Whether gradients are a batch of several, as autograd.grad(is_grads_batched=True) gives to the engine."""
    return any(isinstance(one, torch.Tensor) and _C._functorch.is_legacy_batchedtensor(one) for one in tensors)


def sequence_of(node: Any) -> int:
    """Return a node's number in the order of creation, within its thread."""
    return int(node._sequence_nr())


def in_transform() -> bool:
    """Whether a transform of torch.func (vmap, grad, ...) is active, or torch.jit.trace, which would also trace what
    the recorder computes and gives tensors for the numbers of a shape.
    """
    return _C._functorch.peek_interpreter_stack() is not None or _C._get_tracing_state() is not None


def transform() -> str:
    """Return the name of the transform that is active."""
    return "torch.jit.trace" if _C._get_tracing_state() is not None else "a transform of torch.func"


top_hooks: Any = getattr(_C._autograd, "_top_saved_tensors_default_hooks", lambda ignore: None)


def hooked_saves() -> bool:
    """Whether tensors saved for backward go through hooks (a checkpoint, offloading), which reading them would call."""
    return top_hooks(True) is not None


# whether a saved tensor says that it has hooks (not in PyTorch 2.4)
SHOWS_HOOKS = hasattr(_C._autograd.SavedTensor, "unpack_hook")


def is_hooked(raw: Any) -> bool:
    """Whether reading what a node saved (a tensor, several, or a number) calls a hook of the program."""
    if isinstance(raw, (tuple, list)):
        return any(is_hooked(one) for one in raw)
    return getattr(raw, "unpack_hook", None) is not None


def saved_tensors(node: Any) -> tuple[Any, ...]:
    """Return what the node of a custom Function saved; nothing if reading it would call a hook."""
    raw = node._raw_saved_tensors
    if is_hooked(raw):
        return ()
    clears = "clear_saved_tensors_on_access"  # only the first access gives them; not in PyTorch 2.4
    if hasattr(torch.autograd.Function, clears) and getattr(node._forward_cls, clears):
        return tuple(one.data for one in raw)
    return tuple(node.saved_tensors)


def saved_names(kind: Any) -> list[str]:
    """Return the attributes in which a class of nodes has its saved tensors and the exponent of a power."""
    tensors = [n.removeprefix("_raw") for n in dir(kind) if n.startswith("_raw_saved_")]
    return tensors + [n for n in ("_saved_exponent",) if hasattr(kind, n) and n not in tensors]


class NodeKind:
    """The properties that all nodes of one class share."""

    __slots__ = ("accumulates", "custom", "name", "saved")

    def __init__(self, node: Any) -> None:
        self.name = node.name().rpartition("::")[2]
        self.accumulates = hasattr(node, "variable")
        self.custom = isinstance(node, torch.autograd.function.BackwardCFunction)
        names = [] if self.custom else saved_names(type(node))
        self.saved = [(name, "_raw" + name, name.removeprefix("_saved_")) for name in names]


_kinds: dict[Any, NodeKind] = {}


def kind_of(node: Any) -> NodeKind:
    """Return the kind of a node; found once for each class."""
    found = _kinds.get(type(node))
    if found is None:
        found = NodeKind(node)
        if type(node).__name__ != "CppFunction":  # the class of every node that has none of its own
            _kinds[type(node)] = found
    return found


def module_call() -> Any:
    """Return the function that Module.__call__ calls. (Replacing __call__ would rebuild a slot of every subclass.)"""
    return torch.nn.Module._call_impl


MODULE_CALL = "_call_impl"


def own_parameters(module: Any) -> Any:
    """Return the parameters of a module without those of its parts: names with a Parameter or None."""
    return module._parameters.items()


def function_base() -> Any:
    """Return the class whose `apply` to replace.

    Function.apply calls that of `_SingleLevelFunction`, also if the program has stored it: `swish = Swish.apply`. In
    PyTorch 2.15 it is the function in C itself.
    """
    function: Any = torch.autograd.Function
    if isinstance(function.__dict__.get(FUNCTION_APPLY), ClassMethodDescriptorType):
        return function
    return torch.autograd.function._SingleLevelFunction


FUNCTION_APPLY = "apply"
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
    """Return the version counter of a tensor's storage; 0 for an inference tensor, which has none."""
    try:
        return tensor._version
    except RuntimeError:
        return 0


def versions_of(tensors: list[Any]) -> list[int]:
    """Return the version counters of several tensors, which costs less than asking for each."""
    try:
        return [one._version for one in tensors]
    except RuntimeError:
        return [version_of(one) for one in tensors]


def is_leaf(tensor: Any) -> bool:
    """Whether a tensor is a leaf.

    PyTorch raises for a view made under no_grad and changed in place; such a tensor is a leaf if it does not require
    grad.
    """
    try:
        return bool(tensor.is_leaf)
    except RuntimeError:
        return not tensor.requires_grad


def retains_grad(tensor: Any) -> bool:
    """Whether retain_grad() was called on a tensor; False if PyTorch raises (see `is_leaf`)."""
    try:
        return bool(tensor.retains_grad)
    except RuntimeError:
        return False


def kept_gradient(tensor: Any) -> Any:
    """Return the gradient that backward keeps for a tensor, or None."""
    return tensor.grad if is_leaf(tensor) or retains_grad(tensor) else None


def is_dispatched(kind: Any) -> bool:
    """Whether a subclass of Tensor computes in Python (`__torch_dispatch__`), where it would see what is read."""
    return kind.__torch_dispatch__ is not _C._disabled_torch_dispatch_impl


dispatch_depth = _C._len_torch_dispatch_stack


def without_dispatch_modes() -> Any:
    """Return a context in which the program's TorchDispatchModes do not see operations."""
    from torch.utils._python_dispatch import _disable_current_modes

    return _disable_current_modes()


def buffers_of(module: Any) -> dict[str, Any]:
    """Return the dict in which a module itself (not those in it) has its buffers."""
    return module._buffers


def copy_each(targets: list[Any], sources: list[Any]) -> None:
    """Copy each tensor into its target, in one call."""
    torch._foreach_copy_(targets, sources)


def norms(tensors: list[Any]) -> list[Any]:
    """Return the 2-norm of each tensor, as 0-d tensors, in one call."""
    return list(torch._foreach_norm(tensors))


# ---- functions that are written in Python


ASKING = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")


@functools.cache
def questions() -> list[tuple[Any, str]]:
    """Return where the modules of PyTorch whose Python functions should be seen as the operators that they call ask for
    modes: module and name.
    """
    import torch.functional
    import torch.nn.functional
    import torch.nn.init
    import torch.overrides

    # torch.overrides: layers ask there whether they may take their fused path for inference
    modules = [torch.functional, torch.nn.functional, torch.nn.init, torch.autograd, torch.overrides]
    return [(module, name) for module in modules for name in ASKING if hasattr(module, name)]


@functools.cache
def asking(original: Any) -> Any:
    """Return a `has_torch_function` that ignores the recorder's mode and asks only for tensor subclasses.

    With PyTorch's own, a function written in Python would reach the recorder as a single call, and the operators in it
    would not be seen.
    """
    plain = (torch.Tensor, torch.nn.Parameter)

    def ask(*args: Any) -> bool:
        flat = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
        for one in flat:
            kind = type(one)
            if kind not in plain and hasattr(kind, "__torch_function__"):
                return bool(original(*args))
        return False

    return ask


# ---- compiled regions


def eager_stance() -> Any:
    """Return a context in which compiled models run uncompiled."""
    set_stance = getattr(torch.compiler, "set_stance", None)
    return without_dynamo() if set_stance is None else set_stance("force_eager")


@contextlib.contextmanager
def without_dynamo() -> Iterator[None]:
    """Run compiled models uncompiled in PyTorch before 2.6, which has no stances.

    A compiled model sets its compiler as the callback for every Python frame while it runs; here it sets none.
    """
    module: Any = importlib.import_module("torch._dynamo.eval_frame")
    original = module.set_eval_frame
    outer = original(None)
    module.set_eval_frame = lambda callback: original(None)
    try:
        yield
    finally:
        module.set_eval_frame = original
        original(outer)


def is_capturing(device: Any) -> bool:
    """Whether this thread captures a CUDA graph; nothing else may be computed during that."""
    return device.type == "cuda" and torch.cuda.is_current_stream_capturing()


class OptimizerHooks:
    """A context in which every optimiser's step calls functions before and after it. The public way to register one
    makes a handle, which takes ten times as long.
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
