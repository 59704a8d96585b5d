"""Module: a tree of layers with their parameters, buffers and children.

Attributes that are Parameters, Buffers or Modules live in `_parameters`, `_buffers` and `_modules`
and are found there by `__getattr__`; all others are plain attributes. Hooks and the state_dict are
in files of their own (https://pytorch.org/docs/stable/generated/torch.nn.Module.html).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gradtrace import ops
from gradtrace.engine.data import describe, dtypes
from gradtrace.engine.data.modes import no_grad
from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn.homes import OwnConstructor
from gradtrace.nn.modules._hooks import (
    Hooked,
    _global_buffer_hooks,
    _global_module_hooks,
    _global_parameter_hooks,
    _registered,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from gradtrace.nn.modules._state_dict import Stateful
from gradtrace.nn.modules._text import indent, typename
from gradtrace.nn.parameter import NO_SHARED_MEMORY, Buffer, Parameter, clear_grad, is_lazy

__all__ = [
    "Module", "register_module_backward_hook", "register_module_buffer_registration_hook",
    "register_module_forward_hook", "register_module_forward_pre_hook", "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]  # fmt: skip


def _forward_unimplemented(self: Module, *input: Any) -> Any:
    raise NotImplementedError(
        f'Module [{type(self).__name__}] is missing the required "forward" function'
    )


class Module(Hooked, Stateful, OwnConstructor):
    """Base of all layers and models: assign parameters and modules in `__init__`, compute in
    `forward`.
    """

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _non_persistent_buffers_set: set[str]
    forward: Callable[..., Any] = _forward_unimplemented

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        name = type(self).__name__
        if kwargs:
            raise TypeError(
                f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
            )
        if args:
            raise TypeError(
                f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given"
            )
        state = self.__dict__
        state["training"] = True
        state["_parameters"] = {}
        state["_buffers"] = {}
        state["_modules"] = {}
        state["_non_persistent_buffers_set"] = set()
        self._init_hooks()

    # ---- registration

    def _check_name(self, kind: str, name: Any, own: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self.__dict__[own]:
            raise KeyError(f"attribute '{name}' already exists")

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a buffer; with `persistent=False` it stays out of the state_dict."""
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name("buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or "
                "None required)"
            )
        self._buffers[name] = _registered(_global_buffer_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter; with None, register its name as an absent parameter."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name("parameter", name, "_parameters")
        if param is None:
            self._parameters[name] = None
            return
        if not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        if param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                f"created explicitly. To express '{name}' as a function of another Tensor, compute "
                "the value in the forward() method."
            )
        self._parameters[name] = _registered(_global_parameter_hooks, self, name, param)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child module."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {typename(name)}")
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'module name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError('module name can\'t be empty string ""')
        self._modules[name] = _registered(_global_module_hooks, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Add a child module, as `add_module` does."""
        self.add_module(name, module)

    # ---- attributes

    def __getattr__(self, name: str) -> Any:
        # copy and numpy look up special names, and must not get a parameter for one.
        if name[:2] == "__" == name[-2:]:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        state = self.__dict__
        try:
            return state["_parameters"][name]
        except KeyError:
            pass
        for own in ("_modules", "_buffers"):
            members = state.get(own)
            if members is not None and name in members:
                return members[name]
        if name in (state.get("_modules") or {}).get("parametrizations", ()):
            from gradtrace.nn.utils.parametrize import value_of

            return value_of(self, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        state = self.__dict__
        parametrized: Any = getattr(
            (state.get("_modules") or {}).get("parametrizations"), "_modules", ()
        )
        if name in parametrized:
            from gradtrace.nn.utils.parametrize import list_of

            list_of(self, name).right_inverse(value)
        elif isinstance(value, Parameter):
            if "_parameters" not in state:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, state, self._buffers, self._modules)
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._set_module(name, value)
        elif name in state.get("_parameters", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter "
                    "or None expected)"
                )
            self.register_parameter(name, None)
        elif name in state.get("_modules", ()):
            self._set_module(name, value)
        elif isinstance(value, Buffer) or name in state.get("_buffers", ()):
            self._set_buffer(name, value)
        else:
            object.__setattr__(self, name, value)

    def _forget(self, name: str, *places: dict[str, Any]) -> None:
        for place in places:
            place.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def _set_module(self, name: str, value: Any) -> None:
        state = self.__dict__
        if "_modules" not in state:
            raise AttributeError("cannot assign module before Module.__init__() call")
        if isinstance(value, Module):
            if name in self._parameters:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter "
                    "or None expected)"
                )
            self._forget(name, state, self._buffers)
        elif value is not None:
            raise TypeError(
                f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or "
                "None expected)"
            )
        self._modules[name] = _registered(_global_module_hooks, self, name, value)

    def _set_buffer(self, name: str, value: Any) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, "
                "torch.Tensor or None expected)"
            )
        persistent = name not in self._non_persistent_buffers_set
        self.register_buffer(
            name, value, value.persistent if isinstance(value, Buffer) else persistent
        )

    def __delattr__(self, name: str) -> None:
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = [
            *dir(type(self)),
            *self.__dict__,
            *self._parameters,
            *self._modules,
            *self._buffers,
        ]
        return sorted({name for name in names if not name[:1].isdigit()})

    # ---- by dotted name

    def get_submodule(self, target: str) -> Module:
        """Return the submodule at a dotted path; raise AttributeError for a name that does not
        exist.
        """
        module = self
        for item in target.split(".") if target else ():
            if not hasattr(module, item):
                raise AttributeError(f"{module._get_name()} has no attribute `{item}`")
            module = getattr(module, item)
            if not isinstance(module, Module):
                raise AttributeError(f"`{item}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put `module` at a dotted path whose parent exists; `strict` requires an existing
        submodule there.
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, last = target.rpartition(".")
        parent = self.get_submodule(path)
        if not hasattr(parent, last):
            if strict:
                raise AttributeError(f"{parent._get_name()} has no attribute `{last}`")
        elif not isinstance(getattr(parent, last), Module):
            raise AttributeError(f"`{last}` is not an nn.Module")
        setattr(parent, last, module)

    def _get_member(self, target: str) -> tuple[Module, str]:
        path, _, last = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, last):
            raise AttributeError(f"{module._get_name()} has no attribute `{last}`")
        return module, last

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter at a dotted path; raise AttributeError if there is none."""
        module, last = self._get_member(target)
        param = getattr(module, last)
        if not isinstance(param, Parameter):
            raise AttributeError(f"`{last}` is not an nn.Parameter")
        return param

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer at a dotted path; raise AttributeError if there is none."""
        module, last = self._get_member(target)
        buffer = getattr(module, last)
        if last not in module._buffers or not isinstance(buffer, Tensor):
            raise AttributeError(f"`{last}` is not a buffer")
        return buffer

    # ---- iteration over the tree, in order of registration; each object once by default

    def _named_members(
        self, own: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        modules = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for path, module in modules:
            for name, member in module.__dict__[own].items():
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield (f"{path}.{name}" if path else name), member

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield (dotted name, parameter) of this module and, if `recurse`, of its descendants."""
        yield from self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield the parameters of this module and, if `recurse`, of its descendants."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield (dotted name, buffer) of this module and, if `recurse`, of its descendants."""
        yield from self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield the buffers of this module and, if `recurse`, of its descendants."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield (name, module) of the immediate children."""
        seen: set[int] = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self) -> Iterator[Module]:
        """Yield the immediate children."""
        for _, module in self.named_children():
            yield module

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Yield (dotted name, module) of this module, named `prefix`, and its descendants."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(
                    memo, f"{prefix}.{name}" if prefix else name, remove_duplicate
                )

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Yield this module and its descendants."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    # ---- changes of the whole tree

    def apply(self, fn: Callable[[Module], None]) -> Any:
        """Call `fn` on every submodule, children first, then on self; return self."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        if recurse:
            for module in self.children():
                module._apply(fn)
        with no_grad():
            for param in self._parameters.values():
                if param is None:
                    continue
                grad = param.grad
                applied = fn(param)
                param.data = applied
                if grad is not None:
                    grad.data = fn(grad)
            for name, buffer in self._buffers.items():
                if buffer is not None:
                    self._buffers[name] = fn(buffer)
        return self

    def _cast(self, dtype: Any) -> Any:
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def type(self, dst_type: Any) -> Any:
        """Cast all parameters and buffers to a dtype; return self."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Any:
        """Cast floating-point parameters and buffers to float32; return self."""
        return self._cast(dtypes.float32)

    def double(self) -> Any:
        """Cast floating-point parameters and buffers to float64; return self."""
        return self._cast(dtypes.float64)

    def half(self) -> Any:
        """Cast floating-point parameters and buffers to float16; return self."""
        return self._cast(dtypes.float16)

    def cpu(self) -> Any:
        """Return self: all parameters and buffers are on the CPU already."""
        return self.to("cpu")

    def share_memory(self) -> Any:
        """Return self; there are no other processes to share memory with."""
        for tensor in (*self.parameters(), *self.buffers()):
            if is_lazy(tensor):
                raise RuntimeError(NO_SHARED_MEMORY)
        return self

    def compile(self, *args: Any, **options: Any) -> None:
        """Do nothing: the module runs without being compiled."""

    def cuda(self, device: Any = None) -> Any:
        """Raise PyTorch's error unless there is nothing to move: the only device is the CPU."""
        return self._apply(lambda t: t.cuda(device))

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Cast floating-point parameters and buffers to a dtype or a tensor's dtype; the only
        device is the CPU.

        A `memory_format` has no effect.
        """
        dtype = kwargs.get("dtype")
        device = None
        if "device" in kwargs:
            args += (kwargs["device"],)
        for arg in args:
            if isinstance(arg, Tensor):
                dtype = arg.dtype
                device = arg.device
            elif isinstance(arg, (dtypes.dtype, type)):
                dtype = arg
            elif not isinstance(arg, bool):
                device = arg
        if device is not None:
            describe.check_device(device)
        dtype = dtypes.as_dtype(dtype)
        if dtype is None:
            return self
        if not dtype.is_floating_point:
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype="
                + str(dtype)
            )
        return self._cast(dtype)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Any:
        """Give all parameters and buffers new memory on a device, without setting the values."""
        empty_like = ops.find(ops.api.functions, "empty_like")
        return self._apply(lambda t: empty_like(t, device=device), recurse)

    def train(self, mode: bool = True) -> Any:
        """Set training mode on self and all submodules."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Any:
        """Set evaluation mode on self and all submodules."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Set whether the parameters require grad; return self."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients of all parameters."""
        for param in self.parameters():
            clear_grad(param, set_to_none)

    # ---- text

    def _get_name(self) -> str:
        name = type(self).__name__
        return f"Parametrized{name}" if "parametrizations" in self._modules else name

    def extra_repr(self) -> str:
        """Return the text in the parentheses of the repr; override in subclasses."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        child_lines = [
            f"({name}): {indent(repr(child), 2)}" for name, child in self._modules.items()
        ]
        if len(extra_lines) == 1 and not child_lines:
            return f"{self._get_name()}({extra})"
        lines = extra_lines + child_lines
        body = "\n  " + "\n  ".join(lines) + "\n" if lines else ""
        return f"{self._get_name()}({body})"
