"""Forward-mode check of gradcheck: Jacobians from dual tensors, one column for each input element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtrace.engine import Tensor
from gradtrace.engine.lazy import np
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
            dual = make_dual(x.detach(), Tensor._wrap(unit.reshape(tuple(x.shape))))
            outs = func(*inputs[:at], dual, *inputs[at + 1 :])
            rows.append([_tangent(out) for out in (outs if isinstance(outs, (tuple, list)) else (outs,))])
    return [np.stack(column) for column in zip(*rows, strict=True)]


def _tangent(out: Tensor) -> Array:
    tangent = unpack_dual(out).tangent
    return np.zeros(out.numel(), out.dtype.np) if tangent is None else np.array(tangent._data).reshape(-1)
