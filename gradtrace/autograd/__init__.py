"""The public names of torch.autograd."""

from __future__ import annotations

import warnings

from gradtrace.annotations import Any, Callable
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
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.lazy_names import attach

VOLATILE = "volatile was removed and now has no effect. Use `with torch.no_grad():` instead."
__all__ = [
    "Function", "SavedTensor", "Variable", "backward", "detect_anomaly", "enable_grad", "forward_ad", "function",
    "functional", "grad", "gradcheck", "gradgradcheck", "graph", "inference_mode", "no_grad", "set_detect_anomaly",
    "set_grad_enabled",
]  # fmt: skip


class Engine:
    """The class of `Variable._execution_engine`, through which a hook can queue a callback during a
    backward pass.
    """

    def queue_callback(self, callback: Callable[[], object]) -> None:
        """Call `callback` when the running backward pass ends; RuntimeError outside of a backward
        pass.
        """
        if state.running is None:
            raise RuntimeError("Final callbacks can only be installed during backward pass.")
        state.running.callbacks.append(callback)


class _TensorsAreVariables(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_TensorsAreVariables):
    """The old name of Tensor. `Variable(data, requires_grad)` returns a leaf on the storage of
    `data`.
    """

    def __new__(
        cls, data: Tensor, requires_grad: bool = False, volatile: bool | None = None
    ) -> Any:
        if volatile is not None:
            warnings.warn(VOLATILE, UserWarning, stacklevel=2)
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        leaf = data.detach()
        return leaf.requires_grad_() if requires_grad else leaf

    _execution_engine = Engine()


__getattr__, __dir__ = attach(
    __name__,
    {
        "SavedTensor": "gradtrace.engine.reverse.saved_hooks",
        "_unsafe_preserve_version_counter": "gradtrace.autograd.graph",
        "gradcheck": "gradtrace.func.gradcheck",
        "gradgradcheck": "gradtrace.func.gradcheck",
        "is_multithreading_enabled": "gradtrace.engine.data.modes",
        "set_multithreading_enabled": "gradtrace.engine.data.modes",
    },
    modules={
        "forward_ad": "gradtrace.autograd.forward_ad",
        "grad_mode": "gradtrace.engine.data.modes",
        "functional": "gradtrace.autograd.functional",
        "function": "gradtrace.autograd.function",
        "graph": "gradtrace.autograd.graph",
    },
    listed=__all__,
    shown_as="torch.autograd",
)
