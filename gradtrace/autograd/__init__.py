"""torch.autograd's names."""

from __future__ import annotations

from importlib import import_module

from gradtrace.annotations import Any
from gradtrace.engine import (
    Function,
    backward,
    detect_anomaly,
    enable_grad,
    grad,
    inference_mode,
    no_grad,
    set_detect_anomaly,
    set_grad_enabled,
)
from gradtrace.engine.tensor import Tensor

__all__ = [
    "Function",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]


class _TensorsAreVariables(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_TensorsAreVariables):
    """The old name of a tensor with a history: Variable(data, requires_grad) is a leaf that shares data's storage."""

    def __new__(cls, data: Tensor, requires_grad: bool = False) -> Any:
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        leaf = data.detach()
        return leaf.requires_grad_() if requires_grad else leaf


_LATER = {
    "forward_ad": ("gradtrace.func.forward_ad", None),
    "grad_mode": ("gradtrace.engine.modes", None),
    "functional": ("gradtrace.func.functional", None),
    "function": ("gradtrace.engine.function", None),
    "graph": ("gradtrace.autograd.graph", None),
    "gradcheck": ("gradtrace.func.gradcheck", "gradcheck"),
    "gradgradcheck": ("gradtrace.func.gradcheck", "gradgradcheck"),
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'torch.autograd' has no attribute '{name}'")
    module, attribute = _LATER[name]
    found = import_module(module)
    return found if attribute is None else getattr(found, attribute)
