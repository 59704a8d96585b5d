"""What several layer families share: repeated sizes and new parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gradtrace import ops
from gradtrace.nn.modules.module import Module
from gradtrace.nn.parameter import Parameter


def repeated(value: Any, n: int) -> tuple[Any, ...]:
    """A number as a tuple of n, an iterable as a tuple."""
    return tuple(value) if isinstance(value, Iterable) else (value,) * n


def new_parameter(shape: Any, dtype: Any, requires_grad: bool = True) -> Parameter:
    """A parameter whose values are still to be set."""
    return Parameter(function("empty")(shape, dtype=dtype), requires_grad)


def register_bias(module: Module, size: Any, dtype: Any) -> None:
    """Registers `bias` of the given size, or its absence for None."""
    if size is None:
        module.register_parameter("bias", None)
    else:
        module.bias = new_parameter(size, dtype)


def attributes(module: Module, *names: str) -> str:
    """ "name=value, ..." for extra_repr."""
    return ", ".join(f"{name}={getattr(module, name)}" for name in names)


def function(name: str) -> Any:
    """The public function `torch.NAME`, whose family is loaded on demand."""
    return ops.find(ops.api.functions, name)
