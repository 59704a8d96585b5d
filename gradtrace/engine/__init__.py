"""Reverse-mode autograd with PyTorch's semantics: tensors, nodes, records of operators, backward.

Its floors, from the top; imports go down:

    calls/      calls of a program: operators, changes of a tensor in place, Functions
    reverse/    backward: plans, saved values, evaluation of rules, hooks, the pass, `backward`
                and `grad`
    operators/  properties of operators: the record, the namespaces of rules, promotion,
                broadcasting
    data/       data structures: Tensor and its fields, Node, dtypes, the modes (`state`), a
                tensor's text

The engine contains no operators: `ops` supplies their records. It does not depend on source text:
an expression sets `state.origin`, a number, which the engine copies into nodes.
"""

from gradtrace.annotations import TYPE_CHECKING
from gradtrace.engine.calls import inplace as _inplace  # noqa: F401 - registers how views regenerate their grad_fn
from gradtrace.engine.calls.function import Function, once_differentiable
from gradtrace.engine.data.describe import Size, device, get_default_device, set_default_device
from gradtrace.engine.data.dtypes import dtype, get_default_dtype, set_default_dtype
from gradtrace.engine.data.node import AccumulateGrad, Node, RemovableHandle
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.reverse.gradients import backward, grad
from gradtrace.lazy_names import attach, homes

if TYPE_CHECKING:
    from gradtrace.engine.data.modes import (
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

__all__ = [
    "AccumulateGrad", "Function", "Node", "RemovableHandle", "Size", "Tensor", "backward", "detect_anomaly", "device",
    "dtype", "enable_grad", "get_default_device", "get_default_dtype", "grad", "inference_mode",
    "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "is_grad_enabled", "is_inference_mode_enabled",
    "is_warn_always_enabled", "no_grad", "once_differentiable", "set_default_device", "set_default_dtype",
    "set_detect_anomaly", "set_grad_enabled", "set_warn_always", "state",
]  # fmt: skip

MODES = """detect_anomaly enable_grad inference_mode is_anomaly_check_nan_enabled is_anomaly_enabled is_grad_enabled
    is_inference_mode_enabled is_warn_always_enabled no_grad set_detect_anomaly set_grad_enabled set_warn_always"""
__getattr__, __dir__ = attach(
    __name__, homes("gradtrace.engine.data", {"modes": MODES}), listed=__all__
)
