"""Adam and its variants: AdamW, Adamax, NAdam, RAdam."""

from __future__ import annotations

from typing import Any, NamedTuple

from gradtrace.engine.data.state import state as modes
from gradtrace.engine.data.tensor import Tensor
from gradtrace.optim.optimizer import ElementwiseOptimizer, Group, check, options
from gradtrace.optim.updates import (
    Array,
    add_quotient,
    advance,
    copied,
    decay_square,
    lerp,
    scalar,
    writable,
    xp,
)


class _Moments(NamedTuple):
    """The moments of a gradient after a step, and the count of writes to the parameter so far."""

    step: Any
    mean: Array
    square: Array
    writes: int

    @classmethod
    def updated(cls, state: dict[str, Any], array: Array, grad: Array, group: Group) -> _Moments:
        """Apply decoupled weight decay to the parameter and update the moments in its state."""
        beta1, beta2 = group["betas"]
        decays = bool(group["weight_decay"] and group.get("decoupled_weight_decay"))
        if decays:
            array *= 1 - group["lr"] * group["weight_decay"]
        mean = writable(state["exp_avg"])
        square = writable(state["exp_avg_sq"])
        lerp(mean, grad, 1 - beta1)
        decay_square(square, grad, beta2)
        return cls(advance(state), mean, square, int(decays))


class Adam(ElementwiseOptimizer):
    """Adam: adaptive moment estimation
    (https://pytorch.org/docs/stable/generated/torch.optim.Adam.html).
    """

    _options = (
        "lr betas eps weight_decay amsgrad maximize foreach capturable differentiable fused "
        "decoupled_weight_decay"
    )

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check(locals(), "lr eps betas weight_decay")
        if not any(all(isinstance(beta, kind) for beta in betas) for kind in (float, Tensor)):
            raise ValueError("betas must be either both floats or both Tensors")
        if not differentiable:
            betas = scalar(betas[0]), scalar(betas[1])
        self._set_up(locals())

    def _update(self, param: Tensor, array: Array, grad: Array, group: Group) -> Any:
        largest_squares = ["max_exp_avg_sq"] if group["amsgrad"] else []
        state = self._state_of(param, "exp_avg", "exp_avg_sq", *largest_squares)
        step, mean, square, writes = _Moments.updated(state, array, grad, group)
        if modes.grad_enabled:
            # PyTorch computes with the tensor here, often of float32.
            step = state["step"].clone()
        if group["amsgrad"]:
            largest = writable(state["max_exp_avg_sq"])
            square = xp.maximum(copied(largest), copied(square))
            largest[...] = square
        beta1, beta2 = group["betas"]
        denominator = xp.sqrt(square) / (1 - beta2**step) ** 0.5 + group["eps"]
        add_quotient(array, mean, denominator, -(group["lr"] / (1 - beta1**step)))
        return writes + 1


class AdamW(Adam):
    """Adam with decoupled weight decay, which does not enter the moments."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        switches = options(locals(), "foreach maximize capturable differentiable fused")
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, **switches, decoupled_weight_decay=True
        )


class Adamax(ElementwiseOptimizer):
    """Adam with the infinity norm of past gradients instead of the second moment."""

    _options = "lr betas eps weight_decay foreach maximize differentiable capturable"
    _checked = "lr eps betas weight_decay"

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        self._set_up(locals())

    def _update(self, param: Tensor, array: Array, grad: Array, group: Group) -> Any:
        state = self._state_of(param, "exp_avg", "exp_inf")
        beta1, beta2 = group["betas"]
        step = advance(state)
        mean = writable(state["exp_avg"])
        largest = writable(state["exp_inf"])
        lerp(mean, grad, 1 - beta1)
        largest[...] = xp.maximum(largest * beta2, xp.abs(grad) + group["eps"])
        add_quotient(array, mean, copied(largest), -(group["lr"] / (1 - beta1**step)))


class NAdam(ElementwiseOptimizer):
    """Adam with Nesterov momentum."""

    _options = (
        "lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize foreach "
        "capturable differentiable"
    )
    _checked = "lr eps betas weight_decay momentum_decay"

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        self._set_up(locals())

    def _update(self, param: Tensor, array: Array, grad: Array, group: Group) -> Any:
        state = self._state_of(param, "exp_avg", "exp_avg_sq", mu_product=1.0)
        step, mean, square, writes = _Moments.updated(state, array, grad, group)
        beta1, beta2 = group["betas"]
        decay = group["momentum_decay"]
        mu = beta1 * (1.0 - 0.5 * 0.96 ** (step * decay))
        mu_next = beta1 * (1.0 - 0.5 * 0.96 ** ((step + 1) * decay))
        product = writable(state["mu_product"])
        product *= mu
        if not modes.grad_enabled:
            product = float(product)
        lr = group["lr"]
        denominator = xp.sqrt(square / (1 - beta2**step)) + group["eps"]
        add_quotient(array, grad, denominator, -lr * (1.0 - mu) / (1.0 - product))
        add_quotient(array, mean, denominator, -lr * mu_next / (1.0 - product * mu_next))
        return writes + 2


class RAdam(ElementwiseOptimizer):
    """Adam with rectified variance: no adaptive rate while the variance is undefined."""

    _options = (
        "lr betas eps weight_decay maximize foreach capturable decoupled_weight_decay "
        "differentiable"
    )
    _checked = "lr eps betas weight_decay"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        self._set_up(locals())

    def _update(self, param: Tensor, array: Array, grad: Array, group: Group) -> Any:
        state = self._state_of(param, "exp_avg", "exp_avg_sq")
        step, mean, square, writes = _Moments.updated(state, array, grad, group)
        beta1, beta2 = group["betas"]
        correction = 1 - beta2**step
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * step * (beta2**step) / correction
        update = mean / (1 - beta1**step) * group["lr"]
        if length > 5.0:
            numerator = (length - 4) * (length - 2) * longest
            rectification = (numerator / ((longest - 4) * (longest - 2) * length)) ** 0.5
            rate = correction**0.5 / (xp.sqrt(square) + group["eps"])
            update = update * rate * rectification
        array -= update
        return writes + 1
