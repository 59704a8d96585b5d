"""The tensor attribute of a module that is computed from parameters, and the hook that computes it."""

from __future__ import annotations

from typing import Any

from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn.modules._text import typename
from gradtrace.nn.modules.module import Module


def put_tensor(module: Any, name: str, tensor: Any) -> None:
    """Set `module.name`; raise TypeError unless `module` is a Module and `tensor` a Tensor."""
    if not isinstance(module, Module):
        raise TypeError(f"{typename(module)} is not a Module")
    if not isinstance(tensor, Tensor):
        raise TypeError(f"'{name}' of a module must be a Tensor, not {typename(tensor)}")
    setattr(module, name, tensor)


def hook_of(module: Module, name: str, kind: type, field: str = "name") -> tuple[Any, Any]:
    """Return the key and the forward pre-hook of a class for a parameter, whose name the hook has in `field`."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and getattr(hook, field, None) == name:
            return key, hook
    return None, None


def check_tensor(value: Any) -> Tensor:
    """Return a tensor; raise TypeError for any other value, which the tables of a module may hold in place of one."""
    if not isinstance(value, Tensor):
        raise TypeError(f"a value of a module's parameter must be a Tensor, not {typename(value)}")
    return value
