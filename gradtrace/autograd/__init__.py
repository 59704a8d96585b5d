"""torch.autograd's names."""

from __future__ import annotations

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
from gradtrace.lazy_names import attach

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


__getattr__, __dir__ = attach(
    __name__,
    {"gradcheck": "gradtrace.func.gradcheck", "gradgradcheck": "gradtrace.func.gradcheck"},
    modules={
        "forward_ad": "gradtrace.func.forward_ad",
        "grad_mode": "gradtrace.engine.modes",
        "functional": "gradtrace.func.functional",
        "function": "gradtrace.engine.function",
        "graph": "gradtrace.autograd.graph",
    },
    listed=__all__,
    shown_as="torch.autograd",
)
