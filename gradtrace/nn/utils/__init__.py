"""torch.nn.utils: gradient clipping, parameters as one vector, padding of sequences.

https://pytorch.org/docs/stable/nn.html#utilities
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from inspect import signature
from typing import Any

from gradtrace import linalg
from gradtrace.engine.data.modes import no_grad
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.lazy_names import attach
from gradtrace.nn.modules._text import typename
from gradtrace.nn.modules.utils import function

__all__ = [
    "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm",
    "parameters_to_vector", "rnn", "skip_init", "vector_to_parameters",
]  # fmt: skip

Tensors = Tensor | Iterable[Tensor]


def _listed(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def get_total_norm(
    tensors: Tensors,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Return the norm of all tensors as one vector; optionally raise RuntimeError for inf or
    nan.
    """
    listed = _listed(tensors)
    norm_type = float(norm_type)
    if not listed:
        return function("tensor")(0.0)
    with no_grad():
        norms = [linalg.vector_norm(t, norm_type) for t in listed]
        total: Tensor = linalg.vector_norm(function("stack")(norms), norm_type)
    if error_if_nonfinite and not abs(total.item()) < float("inf"):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, "
            "so it cannot be clipped. To disable this error and scale the gradients by the "
            "non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Any, foreach: bool | None = None
) -> None:
    """Scale the gradients by max_norm / total_norm if that is below 1."""
    with no_grad():
        factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        for grad in _grads(_listed(parameters)):
            grad.mul_(factor)


def _grads(parameters: list[Tensor]) -> list[Tensor]:
    return [p.grad for p in parameters if p.grad is not None]


def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients so that their total norm is at most `max_norm`; return the norm before
    scaling.
    """
    listed = _listed(parameters)
    state.watcher.clipping("norm", listed, max_norm)
    total = get_total_norm(_grads(listed), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(listed, max_norm, total)
    state.watcher.clipped(total)
    return total


def clip_grad_norm(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Do the same as `clip_grad_norm_`, with PyTorch's warning that the name is old."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of "
        "`torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite)


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Clamp every element of every gradient to [-clip_value, clip_value]."""
    limit = float(clip_value)
    listed = _listed(parameters)
    state.watcher.clipping("value", listed, limit)
    with no_grad():
        for grad in _grads(listed):
            grad.clamp_(min=-limit, max=limit)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Flatten all parameters into one vector."""
    return function("cat")([p.view(-1) for p in parameters])


def vector_to_parameters(vec: Any, parameters: Iterable[Tensor]) -> None:
    """Set each parameter's data to its slice of the vector."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {typename(vec)}")
    start = 0
    for param in parameters:
        end = start + param.numel()
        param.data = vec.narrow(0, start, end - start).view_as(param).data
        start = end


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a layer of a class whose parameters have memory, but are not initialised."""
    if "device" not in signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    return module_cls(*args, **kwargs).to_empty(device=kwargs.get("device", "cpu"))


FUSION = (
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
)
__getattr__, __dir__ = attach(
    __name__,
    {
        **dict.fromkeys(FUSION, f"{__name__}.fusion"),
        "remove_spectral_norm": f"{__name__}.parametrizations",
        "remove_weight_norm": f"{__name__}.parametrizations",
        "spectral_norm": f"{__name__}.parametrizations:spectral_norm_by_hook",
        "weight_norm": f"{__name__}.parametrizations:weight_norm_by_hook",
    },
    modules={
        name: f"{__name__}.{name}" for name in ("fusion", "parametrizations", "parametrize", "rnn")
    },
    listed=__all__,
    shown_as="torch.nn.utils",
)
