"""Reverse-mode autograd with PyTorch's semantics: tensors, nodes, records of operators, backward.

The engine contains no operators: `ops` supplies their records. It does not depend on source text: the language sets
`state.origin`, a number, which the engine copies into nodes.
"""

from gradtrace.engine import inplace as _inplace  # noqa: F401 - registers how views regenerate their grad_fn
from gradtrace.engine.describe import Size, device
from gradtrace.engine.dtypes import dtype, get_default_dtype, set_default_dtype
from gradtrace.engine.function import Function, once_differentiable
from gradtrace.engine.gradients import backward, grad
from gradtrace.engine.modes import (
    detect_anomaly,
    enable_grad,
    inference_mode,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    is_grad_enabled,
    is_inference_mode_enabled,
    is_warn_always_enabled,
    no_grad,
    set_detect_anomaly,
    set_grad_enabled,
    set_warn_always,
)
from gradtrace.engine.node import AccumulateGrad, Node, RemovableHandle
from gradtrace.engine.state import state
from gradtrace.engine.tensor import Tensor

__all__ = [
    "AccumulateGrad", "Function", "Node", "RemovableHandle", "Size", "Tensor", "backward", "detect_anomaly", "device",
    "dtype", "enable_grad", "get_default_dtype", "grad", "inference_mode", "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled", "is_grad_enabled", "is_inference_mode_enabled", "is_warn_always_enabled", "no_grad",
    "once_differentiable", "set_default_dtype", "set_detect_anomaly", "set_grad_enabled", "set_warn_always", "state",
]  # fmt: skip
