"""torch.autograd's names."""

from __future__ import annotations

from importlib import import_module
from typing import Any

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
from gradtrace.engine import Tensor as Variable

__all__ = [  # noqa: F822 - `__getattr__` makes some
    "Function", "Variable", "backward", "detect_anomaly", "enable_grad", "function", "functional", "grad", "gradcheck",
    "gradgradcheck", "inference_mode", "no_grad", "set_detect_anomaly", "set_grad_enabled",
]

_LATER = {
    "functional": ("gradtrace.func.functional", None),
    "function": ("gradtrace.engine.function", None),
    "gradcheck": ("gradtrace.func.gradcheck", "gradcheck"),
    "gradgradcheck": ("gradtrace.func.gradcheck", "gradgradcheck"),
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'torch.autograd' has no attribute '{name}'")
    module, attribute = _LATER[name]
    found = import_module(module)
    return found if attribute is None else getattr(found, attribute)
