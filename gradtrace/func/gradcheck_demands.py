"""Further checks of gradcheck: zero and undefined gradients in backward."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from gradtrace.engine import Function, Tensor, grad
from gradtrace.engine.data.lazy import np
from gradtrace.func.pytree import torch_function
from gradtrace.ops.fused import as_tuple

UNDEFINED_NOTE = (
    'Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
)
COMPATIBILITY = (
    "Backwards compatibility: New undefined gradient support checking feature is enabled by "
    "default, but it may break "
    "existing callers of this function. If this is true for you, you can call this function with "
    '"check_undefined_grad=False" to disable the feature'
)


class GradcheckError(RuntimeError):
    """Raised if a gradient does not match finite differences, or another check of gradcheck
    fails.
    """


def differentiable(outputs: Any) -> tuple[Tensor, ...]:
    return tuple(out for out in as_tuple(outputs) if out.requires_grad)


def requiring_grad(inputs: Iterable[Any]) -> list[Tensor]:
    return [x for x in inputs if isinstance(x, Tensor) and x.requires_grad]


def check_zero_gives_zero(outputs: tuple[Tensor, ...], inputs: list[Tensor]) -> None:
    zeros_like = torch_function("zeros_like")
    grads = grad(
        outputs, inputs, [zeros_like(out) for out in outputs], allow_unused=True, retain_graph=True
    )
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
    """Check that undefined gradients act like zeros: first for all outputs at once, then for each
    output alone.
    """
    zeros_like = torch_function("zeros_like")
    tensors = requiring_grad(inputs)
    for left_out in [set(range(count)), *({k} for k in range(count if count > 1 else 0))]:
        outputs = [
            Undefined.apply(out) if k in left_out else out
            for k, out in enumerate(differentiable(func(*inputs)))
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
                "Expected all input grads to be undefined or zero when all output grads are "
                "undefined or zero. " + UNDEFINED_NOTE
            )
