"""Optimisers that follow the direction or sign of the gradient: SGD, ASGD, Rprop."""

from __future__ import annotations

from typing import Any

from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.optim.optimizer import ElementwiseOptimizer, Group, check, options
from gradtrace.optim.updates import (
    Array,
    advance,
    copied,
    counter_tensor,
    plus_product,
    scalar,
    subtract_product,
    writable,
    xp,
    zeros_like,
)


def refuse_negative(value: Any, label: str) -> None:
    """Raise ValueError for a negative value; unlike the other checks it accepts nan, as in
    PyTorch.
    """
    if isinstance(value, Tensor) and value.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if scalar(value) < 0.0:
        raise ValueError(f"Invalid {label}: {value}")


class SGD(ElementwiseOptimizer):
    """Gradient descent with momentum
    (https://pytorch.org/docs/stable/generated/torch.optim.SGD.html).
    """

    _options = "lr momentum dampening weight_decay nesterov maximize foreach differentiable fused"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: Any = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        for value, label in (
            (lr, "learning rate"),
            (momentum, "momentum value"),
            (weight_decay, "weight_decay value"),
        ):
            refuse_negative(value, label)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        self._set_up(locals())

    def _update(self, param: Tensor, array: Array, grad: Array, group: Group) -> Any:
        momentum = group["momentum"]
        if momentum != 0:
            grad = self._with_momentum(param, group, grad, momentum)
        subtract_product(array, group["lr"], grad)

    def _with_momentum(self, param: Tensor, group: Group, grad: Any, momentum: float) -> Any:
        state = self.state[param]
        kept = state.get("momentum_buffer")
        if kept is None:
            detached = np.array(getattr(grad, "array", grad))
            kept = state["momentum_buffer"] = Tensor._wrap(detached)
            buffer = writable(kept)
        else:
            buffer = writable(kept)
            buffer *= momentum
            subtract_product(buffer, group["dampening"] - 1, grad)
        return plus_product(grad, momentum, buffer) if group["nesterov"] else buffer


class ASGD(ElementwiseOptimizer):
    """Averaged gradient descent: `ax` in the state is the running average of the parameters."""

    _options = "lr lambd alpha t0 weight_decay foreach maximize differentiable capturable"
    _checked = "lr weight_decay"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        self._set_up(locals())

    def _update(self, param: Tensor, array: Array, grad: Array, group: Group) -> Any:
        lr = scalar(group["lr"])
        lambd = group["lambd"]
        state = self._state_of(param, "ax", eta=lr, mu=1.0)
        step = advance(state)
        eta = state["eta"].item()
        mu = state["mu"].item()
        average = writable(state["ax"])
        array *= 1 - lambd * eta
        subtract_product(array, eta, grad)
        average[...] = array if mu == 1 else average + (array - average) * mu
        state["eta"].array[...] = lr / ((1 + lambd * lr * step) ** group["alpha"])
        state["mu"].array[...] = 1 / max(1, step - group["t0"])
        return 2


class Rprop(ElementwiseOptimizer):
    """Resilient backpropagation: each element has its own step size, which follows the gradient's
    sign.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check(locals(), "lr")
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(
            params,
            options(locals(), "lr etas step_sizes foreach maximize differentiable capturable"),
        )

    def _update(self, param: Tensor, array: Array, grad: Array, group: Group) -> Any:
        state = self.state[param]
        if not state:
            size = zeros_like(param, scalar(group["lr"]))
            state.update(step=counter_tensor(), prev=zeros_like(param), step_size=size)
        advance(state)
        previous = writable(state["prev"])
        size = writable(state["step_size"])
        agreement = grad * copied(previous)
        down, up = group["etas"]
        new = xp.where(agreement > 0, size * up, xp.where(agreement < 0, size * down, size))
        size[...] = xp.clamp(new, *group["step_sizes"])
        grad = xp.where(agreement < 0, writable(zeros_like(param)), grad)
        array -= xp.sign(grad) * copied(size)
        previous[...] = grad
