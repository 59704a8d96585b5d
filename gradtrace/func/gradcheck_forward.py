"""Forward-mode check of gradcheck: Jacobians from dual tensors, one column for each input element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtrace.engine import Tensor
from gradtrace.engine.data.lazy import np
from gradtrace.func.forward_ad import dual_level, make_dual, unpack_dual

Array = Any


def forward_jacobians(func: Callable[..., Any], inputs: tuple[Any, ...]) -> list[list[Array]]:
    """Return, for each input that requires grad and each output, a Jacobian (input elements, output elements)."""
    wanted = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    return [_jacobians(func, inputs, i) for i in wanted]


def _jacobians(func: Callable[..., Any], inputs: tuple[Any, ...], at: int) -> list[Array]:
    x = inputs[at]
    rows = []
    for j in range(x.numel()):
        unit = np.zeros(x.numel(), x.dtype.np)
        unit[j] = 1.0
        with dual_level():
            duals = [_dual(each) for each in inputs]
            duals[at] = make_dual(x.detach(), Tensor._wrap(unit.reshape(tuple(x.shape))))
            outs = func(*duals)
            rows.append([_tangent(out) for out in (outs if isinstance(outs, (tuple, list)) else (outs,))])
    return [np.stack(column) for column in zip(*rows, strict=True)]


def _dual(x: Any) -> Any:
    """Return a differentiable input with a tangent of zeros, as PyTorch's check gives it to the function."""
    if not isinstance(x, Tensor) or not x.requires_grad:
        return x
    return make_dual(x.detach(), Tensor._wrap(np.zeros(tuple(x.shape), x.dtype.np)))


def _tangent(out: Tensor) -> Array:
    tangent = unpack_dual(out).tangent
    return np.zeros(out.numel(), out.dtype.np) if tangent is None else np.array(tangent._data).reshape(-1)
