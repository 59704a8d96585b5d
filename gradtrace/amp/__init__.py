"""torch.amp: mixed precision as scripts write it, on a machine whose only device is the CPU.

For "cuda" it is off, as in PyTorch without CUDA: computation stays in the dtypes of the tensors. On
"cpu" `autocast` would compute in bfloat16, which gradtrace does not have; `GradScaler` works.
https://pytorch.org/docs/stable/amp.html
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from gradtrace.amp.grad_scaler import GradScaler
from gradtrace.lazy_names import attach

__all__ = ["GradScaler", "autocast", "cuda", "custom_bwd", "custom_fwd", "is_autocast_available"]

F = TypeVar("F", bound=Callable[..., Any])
DEVICES = (
    "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, "
    "mps, meta, hpu, mtia, privateuseone"
)
NO_BFLOAT16 = (
    "autocast on the CPU computes in bfloat16, which gradtrace does not have; pass enabled=False"
)
NO_CUDA = "CUDA is not available or torch_xla is imported. Disabling autocast."


class autocast:
    """A context manager and decorator that changes nothing.

    device_type "cuda": off, with PyTorch's warning. RuntimeError for "cpu" unless enabled=False,
    and for an unknown device type.
    """

    def __init__(
        self,
        device_type: str,
        dtype: Any = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if device_type not in DEVICES.split(", "):
            raise RuntimeError(
                f"Expected one of {DEVICES} device type at start of device string: {device_type}"
            )
        if enabled and device_type == "cpu":
            raise RuntimeError(NO_BFLOAT16)
        if enabled:
            warnings.warn(NO_CUDA, stacklevel=2)
        self.device = device_type

    def __enter__(self) -> autocast:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def __call__(self, function: F) -> F:
        return function


def is_autocast_available(device_type: str) -> bool:
    """Return whether autocast can be on for a device: always False, without CUDA and bfloat16."""
    return False


def custom_fwd(fwd: Any = None, *, device_type: str = "cuda", cast_inputs: Any = None) -> Any:
    """Decorate the forward of an autograd Function.

    The decorator returns the function unchanged: inputs are cast only where autocast is on.
    """
    return (lambda function: function) if fwd is None else fwd


def custom_bwd(bwd: Any = None, *, device_type: str = "cuda") -> Any:
    """Decorate the backward of an autograd Function; the decorator returns it unchanged."""
    return (lambda function: function) if bwd is None else bwd


__getattr__, __dir__ = attach(
    __name__, {}, modules={"cuda": f"{__name__}.cuda"}, listed=__all__, shown_as="torch.amp"
)
