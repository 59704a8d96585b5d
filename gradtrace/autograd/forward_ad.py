"""The public names of torch.autograd.forward_ad, for `import gradtrace.autograd.forward_ad as fwAD`."""

from gradtrace.annotations import Any
from gradtrace.func import forward_ad
from gradtrace.func.forward_ad import (
    UnpackedDualTensor,
    dual_level,
    enter_dual_level,
    exit_dual_level,
    make_dual,
    unpack_dual,
)

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


def __getattr__(name: str) -> Any:
    return getattr(forward_ad, name)  # `_current_level` changes
