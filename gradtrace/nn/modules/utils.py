"""Helpers of several layer families: repeated sizes and new parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gradtrace import ops
from gradtrace.engine.tensor import Tensor
from gradtrace.nn.modules._text import typename
from gradtrace.nn.modules.module import Module
from gradtrace.nn.parameter import Parameter


def repeated(value: Any, n: int) -> tuple[Any, ...]:
    """Return a tuple: a number repeated n times, or the items of an iterable."""
    return tuple(value) if isinstance(value, Iterable) else (value,) * n


def _ntuple(n: int) -> Any:
    """Return the function that repeats a number n times, under PyTorch's private name, which scripts import."""
    return lambda value: repeated(value, n)


_single, _pair, _triple, _quadruple = (_ntuple(n) for n in (1, 2, 3, 4))


def new_parameter(shape: Any, dtype: Any, requires_grad: bool = True) -> Parameter:
    """Create an uninitialised parameter."""
    return Parameter(function("empty")(shape, dtype=dtype), requires_grad)


def register_bias(module: Module, size: Any, dtype: Any) -> None:
    """Register `bias` with the given size, or as None."""
    if size is None:
        module.register_parameter("bias", None)
    else:
        module.bias = new_parameter(size, dtype)


def tensor_of(module: Any, name: str) -> Any:
    """Return the tensor `module.name`. TypeError for any other attribute, which a program may not get by its name."""
    if not isinstance(module, Module):
        raise TypeError(f"{typename(module)} is not a Module")
    value = getattr(module, name)
    if not isinstance(value, Tensor):
        raise TypeError(f"'{name}' of {typename(module)} must be a Tensor, not {typename(value)}")
    return value


def attributes(module: Module, *names: str) -> str:
    """Return "name=value, ..." for extra_repr."""
    return ", ".join(f"{name}={getattr(module, name)}" for name in names)


def function(name: str) -> Any:
    """Return the public function `torch.NAME`, importing its family if necessary."""
    return ops.find(ops.api.functions, name)
