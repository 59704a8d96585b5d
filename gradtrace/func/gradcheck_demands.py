"""Further checks of gradcheck: zero and undefined gradients in backward, and Jacobians of the forward mode."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from gradtrace.engine import Function, Tensor, grad
from gradtrace.engine.data.lazy import np
from gradtrace.func.forward_ad import dual_level, make_dual, unpack_dual
from gradtrace.func.pytree import torch_function

UNDEFINED_NOTE = 'Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
COMPATIBILITY = (
    "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break "
    "existing callers of this function. If this is true for you, you can call this function with "
    '"check_undefined_grad=False" to disable the feature'
)


class GradcheckError(RuntimeError):
    """Raised if a gradient does not match finite differences, or another check of gradcheck fails."""


def as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def differentiable(outputs: Any) -> tuple[Tensor, ...]:
    return tuple(out for out in as_tuple(outputs) if out.requires_grad)


def requiring_grad(inputs: Iterable[Any]) -> list[Tensor]:
    return [x for x in inputs if isinstance(x, Tensor) and x.requires_grad]


def check_zero_gives_zero(outputs: tuple[Tensor, ...], inputs: list[Tensor]) -> None:
    zeros_like = torch_function("zeros_like")
    grads = grad(outputs, inputs, [zeros_like(out) for out in outputs], allow_unused=True, retain_graph=True)
    for g, x in zip(grads, inputs, strict=True):
        if g is None:
            continue
        if np.asarray(g._data).any():
            raise GradcheckError("backward not multiplied by grad_output")
        if g.dtype is not x.dtype:
            raise GradcheckError("grad is incorrect type")
        if g.shape != x.shape:
            raise GradcheckError("grad is incorrect size")


class Undefined(Function):
    """The identity function, whose backward returns an undefined gradient (None)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> None:
        return None


def check_undefined(func: Callable[..., Any], count: int, inputs: tuple[Any, ...]) -> None:
    """Check that undefined gradients act like zeros: first for all outputs at once, then for each output alone."""
    zeros_like, tensors = torch_function("zeros_like"), requiring_grad(inputs)
    for left_out in [set(range(count)), *({k} for k in range(count if count > 1 else 0))]:
        outputs = [
            Undefined.apply(out) if k in left_out else out for k, out in enumerate(differentiable(func(*inputs)))
        ]
        try:
            grads = grad(outputs, tensors, [zeros_like(out) for out in outputs], allow_unused=True)
        except RuntimeError as e:
            warnings.warn(COMPATIBILITY, stacklevel=4)
            raise GradcheckError(
                "Expected backward function to handle undefined output grads. " + UNDEFINED_NOTE
            ) from e
        if any(g is not None and np.asarray(g._data).any() for g in grads):
            warnings.warn(COMPATIBILITY, stacklevel=4)
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are undefined or zero. "
                + UNDEFINED_NOTE
            )


# ---- Jacobians from dual tensors, one column for each input element


def forward_jacobians(func: Callable[..., Any], inputs: tuple[Any, ...]) -> list[list[Any]]:
    """Return, for each input that requires grad and each output, a Jacobian (input elements, output elements)."""
    wanted = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    return [_jacobians(func, inputs, i) for i in wanted]


def _jacobians(func: Callable[..., Any], inputs: tuple[Any, ...], at: int) -> list[Any]:
    x = inputs[at]
    rows = []
    for j in range(x.numel()):
        unit = np.zeros(x.numel(), x.dtype.np)
        unit[j] = 1.0
        with dual_level():
            duals = [_dual(each) for each in inputs]
            duals[at] = make_dual(x.detach(), Tensor._wrap(unit.reshape(tuple(x.shape))))
            rows.append([_tangent(out) for out in as_tuple(func(*duals))])
    return [np.stack(column) for column in zip(*rows, strict=True)]


def _dual(x: Any) -> Any:
    """Return a differentiable input with a tangent of zeros, as PyTorch's check gives it to the function."""
    if not isinstance(x, Tensor) or not x.requires_grad:
        return x
    return make_dual(x.detach(), Tensor._wrap(np.zeros(tuple(x.shape), x.dtype.np)))


def _tangent(out: Tensor) -> Any:
    tangent = unpack_dual(out).tangent
    return np.zeros(out.numel(), out.dtype.np) if tangent is None else np.array(tangent._data).reshape(-1)
