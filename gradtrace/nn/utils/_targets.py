"""Setting the tensor attribute of a module that is computed from parameters."""

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


def check_tensor(value: Any) -> Tensor:
    """Return a tensor; raise TypeError for any other value, which the tables of a module may hold in place of one."""
    if not isinstance(value, Tensor):
        raise TypeError(f"a value of a module's parameter must be a Tensor, not {typename(value)}")
    return value
