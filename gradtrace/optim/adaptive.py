"""Optimisers that scale each element by the squares of its past gradients: RMSprop, Adagrad,
Adadelta.
"""

from __future__ import annotations

from typing import Any

from gradtrace.engine.data.tensor import Tensor
from gradtrace.optim.optimizer import ElementwiseOptimizer, Group, check
from gradtrace.optim.updates import (
    Array,
    add_quotient,
    advance,
    copied,
    counter_tensor,
    decay_square,
    lerp,
    plus_product,
    subtract_product,
    writable,
    xp,
    zeros_like,
)


class RMSprop(ElementwiseOptimizer):
    """Gradient / running root mean square
    (https://pytorch.org/docs/stable/generated/torch.optim.RMSprop.html).
    """

    _options = (
        "lr momentum alpha eps centered weight_decay capturable foreach maximize differentiable"
    )
    _checked = "lr eps momentum weight_decay alpha"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        self._set_up(locals())

    def _update(self, param: Tensor, array: Array, grad: Array, group: Group) -> Any:
        momentum = group["momentum"] > 0
        centered = group["centered"]
        names = ["square_avg"]
        if momentum:
            names.append("momentum_buffer")
        if centered:
            names.append("grad_avg")
        state = self._state_of(param, *names)
        advance(state)
        square = writable(state["square_avg"])
        alpha = group["alpha"]
        lr = group["lr"]
        decay_square(square, grad, alpha)
        if centered:
            mean = writable(state["grad_avg"])
            lerp(mean, grad, 1 - alpha)
            square = plus_product(square, -mean, copied(mean))
        root = xp.sqrt(square) + group["eps"]
        if momentum:
            buffer = writable(state["momentum_buffer"])
            buffer *= group["momentum"]
            add_quotient(buffer, grad, root)
            subtract_product(array, lr, buffer)
        else:
            add_quotient(array, grad, root, -lr)


class Adagrad(ElementwiseOptimizer):
    """Gradient divided by the root of the sum of all past squared gradients."""

    _options = (
        "lr lr_decay eps weight_decay initial_accumulator_value foreach maximize "
        "differentiable fused"
    )
    _checked = "lr lr_decay weight_decay initial_accumulator_value eps"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        self._set_up(locals())
        for group in self.param_groups:
            for param in group["params"]:
                self._start(param, group)

    def _start(self, param: Tensor, group: Group) -> dict[str, Any]:
        state = self.state[param]
        if not state:
            state.update(
                step=counter_tensor(),
                sum=zeros_like(param, self.defaults["initial_accumulator_value"]),
            )
        return state

    def _update(self, param: Tensor, array: Array, grad: Array, group: Group) -> Any:
        state = self._start(param, group)
        step = advance(state)
        total = writable(state["sum"])
        total[...] = plus_product(total, grad, grad)
        rate = group["lr"] / (1 + (step - 1) * group["lr_decay"])
        add_quotient(array, grad, xp.sqrt(total) + group["eps"], -rate)


class Adadelta(ElementwiseOptimizer):
    """Gradient scaled by the ratio of the root mean squares of past updates and gradients."""

    _options = "lr rho eps weight_decay maximize capturable foreach differentiable"
    _checked = "eps weight_decay"

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check(locals(), "lr")
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        self._set_up(locals())

    def _update(self, param: Tensor, array: Array, grad: Array, group: Group) -> Any:
        state = self._state_of(param, "square_avg", "acc_delta")
        advance(state)
        rho = group["rho"]
        eps = group["eps"]
        square = writable(state["square_avg"])
        accumulated = writable(state["acc_delta"])
        decay_square(square, grad, rho)
        delta = xp.sqrt(accumulated + eps) / xp.sqrt(square + eps) * grad
        decay_square(accumulated, delta, rho)
        subtract_product(array, group["lr"], delta)
