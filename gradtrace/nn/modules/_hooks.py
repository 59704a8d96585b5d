"""Hooks of a Module: before and after forward, and around backward.

A module without hooks calls `forward` directly. Full backward hooks insert an identity Function at
the inputs and at the outputs of the module; the hooks of those two nodes receive the gradients
(https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_full_backward_hook).
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from gradtrace.engine import Function
from gradtrace.engine.data.node import RemovableHandle, add_hook
from gradtrace.engine.data.state import state, within
from gradtrace.engine.data.tensor import Tensor
from gradtrace.lazy_names import words

Hook = Callable[..., Any]

HOOKS = words("""
    _backward_pre_hooks _backward_hooks _forward_hooks _forward_pre_hooks _state_dict_hooks _state_dict_pre_hooks
    _load_state_dict_pre_hooks _load_state_dict_post_hooks
""")
KINDS_OF_HOOKS = words(
    "_forward_hooks_with_kwargs _forward_hooks_always_called _forward_pre_hooks_with_kwargs"
)
MIXED_HOOKS = (
    "Cannot use both regular backward hooks and full backward hooks {}. Please use only "
    "one of them."
)
OLD_HOOKS = (
    "Using {} is deprecated and will be removed in future versions. This hook will be missing "
    "some {}. Please use register_full_backward_hook to get the documented behavior."
)
NO_INPUT_GRAD_WARNING = (
    "Full backward hook is firing when gradients are computed with respect to module outputs "
    "since no inputs require gradients. See "
    "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.register_full_backward_hook "
    "for more details."
)


# ---- hooks of all modules

_global_forward_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_forward_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_forward_with_kwargs: set[int] = set()
_global_forward_always: set[int] = set()
_global_backward_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_backward_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_is_full_backward_hook: bool | None = None
_global_parameter_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_buffer_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_module_hooks: OrderedDict[int, Hook] = OrderedDict()


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Run `hook(module, args)` before the forward of every module; its result replaces the
    arguments.
    """
    return add_hook(_global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Run `hook(module, args, output)` after the forward of every module; its result replaces the
    output.
    """
    kinds = (_global_forward_with_kwargs, with_kwargs), (_global_forward_always, always_call)
    return _register(_global_forward_hooks, hook, False, *kinds)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Run `hook(module, grad_output)` before the backward of every module; its result replaces
    grad_output.
    """
    return add_hook(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Run `hook(module, grad_input, grad_output)` after the backward of every module."""
    global _global_is_full_backward_hook
    _global_is_full_backward_hook = _same_kind(
        _global_is_full_backward_hook, True, "as a global Module hook"
    )
    return add_hook(_global_backward_hooks, hook)


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """Run `hook(module, grad_input, grad_output)` for the last operation of every module;
    deprecated.
    """
    global _global_is_full_backward_hook
    _global_is_full_backward_hook = _same_kind(
        _global_is_full_backward_hook, False, "as a global Module hook"
    )
    return add_hook(_global_backward_hooks, hook)


def _same_kind(earlier: bool | None, full: bool, where: str = "on a single Module") -> bool:
    """Return `full`; raise RuntimeError if backward hooks of the other kind are registered."""
    if earlier is (not full):
        raise RuntimeError(MIXED_HOOKS.format(where))
    return full


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Run `hook(module, name, parameter)` when a parameter is registered; its result replaces the
    parameter.
    """
    return add_hook(_global_parameter_hooks, hook)


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Run `hook(module, name, buffer)` when a buffer is registered; its result replaces the
    buffer.
    """
    return add_hook(_global_buffer_hooks, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Run `hook(module, name, submodule)` when a child is registered; its result replaces the
    child.
    """
    return add_hook(_global_module_hooks, hook)


def _registered(hooks: OrderedDict[int, Hook], module: object, name: str, value: Any) -> Any:
    """Return what the hooks make of a value that is registered."""
    for hook in list(hooks.values()):
        value = _replaced(hook(module, name, value), value)
    return value


def _register(
    hooks: OrderedDict[int, Hook],
    hook: Hook,
    prepend: bool,
    *kinds: tuple[set[int], bool],
    of: tuple[str, Any] = ("", None),
) -> RemovableHandle:
    """Register a hook, and its id in the sets of its kinds; `remove` takes it out of all of
    them. `of` is what the hook runs at, and its module.
    """
    handle = add_hook(hooks, hook, *of)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    handle.kinds = tuple(
        handles for handles, wanted in kinds if wanted and isinstance(handles, set)
    )
    for handles in handle.kinds:
        handles.add(handle.id)
    return handle


class Hooked:
    """Mixin of Module that implements the module's call and manages its hooks."""

    forward: Callable[..., Any]
    _backward_pre_hooks: OrderedDict[int, Hook]
    _backward_hooks: OrderedDict[int, Hook]
    _is_full_backward_hook: bool | None
    _forward_hooks: OrderedDict[int, Hook]
    _forward_hooks_with_kwargs: set[int]
    _forward_hooks_always_called: set[int]
    _forward_pre_hooks: OrderedDict[int, Hook]
    _forward_pre_hooks_with_kwargs: set[int]

    def _init_hooks(self) -> None:
        own = self.__dict__
        own.update((name, OrderedDict()) for name in HOOKS)
        own.update((name, set()) for name in KINDS_OF_HOOKS)
        own["_is_full_backward_hook"] = None

    # ---- registration

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Run `hook(module, args)` before forward; its result replaces the arguments."""
        return _register(
            self._forward_pre_hooks,
            hook,
            prepend,
            (self._forward_pre_hooks_with_kwargs, with_kwargs),
            of=("forward_pre", self),
        )

    def register_forward_hook(
        self,
        hook: Hook,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Run `hook(module, args, output)` after forward; its result replaces the output."""
        kinds = (
            (self._forward_hooks_with_kwargs, with_kwargs),
            (self._forward_hooks_always_called, always_call),
        )
        return _register(self._forward_hooks, hook, prepend, *kinds, of=("forward", self))

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Run `hook(module, grad_output)` before the module's backward; its result replaces
        grad_output.
        """
        return _register(self._backward_pre_hooks, hook, prepend, of=("backward_pre", self))

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Run `hook(module, grad_input, grad_output)` when the gradients of the inputs are
        complete.
        """
        self._is_full_backward_hook = _same_kind(self._is_full_backward_hook, True)
        return _register(self._backward_hooks, hook, prepend, of=("backward", self))

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """Run `hook(module, grad_input, grad_output)` for the module's last operation only;
        deprecated.
        """
        self._is_full_backward_hook = _same_kind(self._is_full_backward_hook, False)
        return _register(self._backward_hooks, hook, False)

    # ---- the call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        own = self.__dict__
        hooked = (
            own["_forward_hooks"]
            or own["_forward_pre_hooks"]
            or own["_backward_hooks"]
            or own["_backward_pre_hooks"]
            or _global_forward_hooks
            or _global_forward_pre_hooks
            or _global_backward_hooks
            or _global_backward_pre_hooks
        )
        if state.recorder is not None:
            if hooked:
                return within("module", self, _call_with_hooks, self, args, kwargs)
            return within("module", self, self.forward, *args, **kwargs)
        return _call_with_hooks(self, args, kwargs) if hooked else self.forward(*args, **kwargs)


def _call_with_hooks(module: Hooked, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    called: set[int] = set()
    result = None
    try:
        args, kwargs = _run_pre_hooks(module, args, kwargs)
        around = _backward_hook(module)
        if around is not None:
            args = around.on_inputs(args)
        result = module.forward(*args, **kwargs)
        for hook_id, hook in [*_global_forward_hooks.items(), *module._forward_hooks.items()]:
            called.add(hook_id)
            result = _replaced(_forward_hook(module, hook_id, hook, args, kwargs, result), result)
        if around is not None:
            result = around.on_outputs(result)
        old = [*_global_backward_hooks.values()] if _global_is_full_backward_hook is False else []
        old += module._backward_hooks.values() if module._is_full_backward_hook is False else ()
        if old:
            _set_old_hooks(module, old, args, result)
        return result
    except Exception:
        _run_always_called(module, called, args, kwargs, result)
        raise


def _replaced(new: Any, old: Any) -> Any:
    return old if new is None else new


def _run_pre_hooks(module: Hooked, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    for hook_id, hook in [*_global_forward_pre_hooks.items(), *module._forward_pre_hooks.items()]:
        if hook_id in module._forward_pre_hooks_with_kwargs:
            out = hook(module, args, kwargs)
            if out is None:
                continue
            if not (isinstance(out, tuple) and len(out) == 2):
                raise RuntimeError(
                    "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but "
                    f"got {out}."
                )
            args, kwargs = out
            continue
        out = hook(module, args)
        if out is not None:
            args = out if isinstance(out, tuple) else (out,)
    return args, kwargs


def _forward_hook(
    module: Hooked, hook_id: int, hook: Hook, args: Any, kwargs: Any, result: Any
) -> Any:
    if hook_id in module._forward_hooks_with_kwargs or hook_id in _global_forward_with_kwargs:
        return hook(module, args, kwargs, result)
    return hook(module, args, result)


def _run_always_called(
    module: Hooked, called: set[int], args: Any, kwargs: Any, result: Any
) -> None:
    """After an exception, run the remaining hooks registered with always_call; their errors become
    warnings.
    """
    always = module._forward_hooks_always_called | _global_forward_always
    for hook_id, hook in [*_global_forward_hooks.items(), *module._forward_hooks.items()]:
        if hook_id not in always or hook_id in called:
            continue
        try:
            result = _replaced(_forward_hook(module, hook_id, hook, args, kwargs, result), result)
        except Exception as e:
            warnings.warn(
                "module forward hook with ``always_call=True`` raised an exception that was "
                f"silenced as another error was raised in forward: {e}",
                stacklevel=2,
            )


def _set_old_hooks(module: Hooked, hooks: list[Hook], args: tuple[Any, ...], result: Any) -> None:
    tensor = result
    while not isinstance(tensor, Tensor):
        tensor = (
            next(v for v in tensor.values() if isinstance(v, Tensor))
            if isinstance(tensor, dict)
            else tensor[0]
        )
    if tensor.grad_fn is None:
        return
    for hook in hooks:
        tensor.grad_fn.register_hook(
            lambda grads_in, grads_out, hook=hook: hook(module, grads_in, grads_out)
        )
    missed = _missed_by_old_hooks(
        args, (result,) if isinstance(result, Tensor) else result, tensor.grad_fn
    )
    if missed is not None:
        warnings.warn(OLD_HOOKS.format(*missed), FutureWarning, stacklevel=2)


def _missed_by_old_hooks(args: tuple[Any, ...], outs: Any, node: Any) -> tuple[str, str] | None:
    """Return what deprecated hooks are used on, and what of the gradients they do not receive."""
    tensors = "a single Tensor or a tuple of Tensors"
    if not (isinstance(outs, tuple) and all(isinstance(out, Tensor) for out in outs)):
        return (
            f"non-full backward hooks on a Module that does not return {tensors}",
            "of the grad_output",
        )
    if not all(isinstance(arg, Tensor) for arg in args):
        return (
            f"non-full backward hooks on a Module that does not take as input {tensors}",
            "of the grad_input",
        )
    if any(out.grad_fn not in (None, node) for out in outs):
        return (
            "a non-full backward hook when outputs are generated by different autograd Nodes",
            "grad_output",
        )
    if {arg.grad_fn for arg in args} - {None} != {
        following for following, _ in node.next_functions
    }:
        return (
            "a non-full backward hook when the forward contains multiple autograd Nodes",
            "grad_input",
        )
    return None


def _backward_hook(module: Hooked) -> _BackwardHook | None:
    full = [*_global_backward_hooks.values()] if _global_is_full_backward_hook else []
    full += module._backward_hooks.values() if module._is_full_backward_hook else ()
    pre = [*_global_backward_pre_hooks.values(), *module._backward_pre_hooks.values()]
    return _BackwardHook(module, full, pre) if full or pre else None


_identity: Any = None


def _identity_function() -> Any:
    """Return the Function at the inputs and outputs of a hooked module, created for the first such
    hook.
    """
    global _identity
    if _identity is None:

        class BackwardHookFunction(Function):
            @staticmethod
            def forward(ctx: Any, *args: Any) -> Any:
                ctx.mark_non_differentiable(*(a for a in args if not a.requires_grad))
                return args

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                return grads

        _identity = BackwardHookFunction
    return _identity


class _BackwardHook:
    """Full backward hooks of one call of a module."""

    def __init__(self, module: Hooked, hooks: list[Hook], pre_hooks: list[Hook]) -> None:
        self.module = module
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.grad_outputs: tuple[Any, ...] | None = None
        # tensor arguments (indices), and number of arguments
        self.inputs: tuple[list[int] | None, int] = (None, 0)
        self.outputs: tuple[list[int] | None, int] = (None, 0)

    def on_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        args, where = self._through_identity(args, self._after_inputs)
        self.inputs = (where, len(args))
        return args

    def on_outputs(self, result: Any) -> Any:
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of "
                f"Tensors but received {type(result)}",
                stacklevel=2,
            )
        outs = result if isinstance(result, tuple) else (result,)
        self.outputs = ([i for i, out in enumerate(outs) if isinstance(out, Tensor)], len(outs))
        outs, _ = self._through_identity(outs, self._after_outputs)
        return outs if isinstance(result, tuple) else outs[0]

    def _through_identity(self, args: Any, hook: Hook) -> tuple[Any, list[int] | None]:
        where = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        if not (state.grad_enabled and any(args[i].requires_grad for i in where)):
            return args, None
        new = _identity_function().apply(*(args[i] for i in where))
        new = new if isinstance(new, tuple) else (new,)
        next(t for t in new if t.grad_fn is not None).grad_fn.register_hook(hook)
        replaced = list(args)
        for i, t in zip(where, new, strict=True):
            replaced[i] = t
        return tuple(replaced) if type(args) is tuple else type(args)(*replaced), where

    def _after_outputs(self, _: Any, grads: tuple[Any, ...]) -> Any:
        """Called at the outputs' node when the gradients of the outputs are complete."""
        where, n = self.outputs
        assert where is not None
        self.grad_outputs = _spread(where, grads, n)
        for hook in self.pre_hooks:
            new = hook(self.module, self.grad_outputs)
            if new is None:
                continue
            new = new if isinstance(new, tuple) else (new,)
            if len(new) != n:
                raise RuntimeError(
                    f"Backward pre hook returned an invalid number of grad_output, got {len(new)}, "
                    f"but expected {n}"
                )
            self.grad_outputs = new
        gradients = self.grad_outputs
        if self.inputs[0] is None:
            self._without_inputs()
        return tuple(gradients[i] for i in where)

    def _without_inputs(self) -> None:
        warnings.warn(NO_INPUT_GRAD_WARNING, stacklevel=5)
        nothing = (None,) * self.inputs[1]
        for hook in self.hooks:
            out = hook(self.module, nothing, self.grad_outputs)
            if out is not None and not (isinstance(out, tuple) and all(e is None for e in out)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )
        self.grad_outputs = None

    def _after_inputs(self, grads: tuple[Any, ...], _: Any) -> Any:
        """Called at the inputs' node when the gradients of the inputs are complete."""
        if self.grad_outputs is None:
            return None
        where, n = self.inputs
        assert where is not None
        result = _spread(where, grads, n)
        for hook in self.hooks:
            out = hook(self.module, result, self.grad_outputs)
            if out is None:
                continue
            if len(out) != len(result):  # of a tensor, as in PyTorch, its first dim counts
                raise RuntimeError(
                    f"Backward hook returned an invalid number of grad_input, got {len(out)}, but "
                    f"expected {len(result)}"
                )
            result = out
        self.grad_outputs = None
        return tuple(result[i] for i in where)


def _spread(where: list[int], values: Any, n: int) -> tuple[Any, ...]:
    """Return a tuple of n with `values` at the positions `where`, None elsewhere."""
    spread = [None] * n
    for i, value in zip(where, values, strict=True):
        spread[i] = value
    return tuple(spread)
