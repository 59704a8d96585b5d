"""Schedules that depend only on the epoch. Most are chainable: they scale the current rate, as in
PyTorch.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from gradtrace.optim.lr_scheduler.base import LRScheduler, load_attributes, saved_attributes

UNCHANGED: Any = object()  # in place of a factor: the rate stays as it is


class _ByFunction(LRScheduler):
    """A schedule defined by a function of the epoch, one for all groups or a list."""

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        count = len(optimizer.param_groups)
        functions = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * count
        if len(functions) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(functions)}")
        self.lr_lambdas: list[Callable[[int], float]] = functions
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return the state without the optimiser; functions are not saved, attributes of callable
        objects are.
        """
        state = {k: v for k, v in super().state_dict().items() if k != "lr_lambdas"}
        state["lr_lambdas"] = [saved_attributes(function) for function in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._load_fields(state_dict, "lr_lambdas")
        for function, saved in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            load_attributes(function, saved)


class LambdaLR(_ByFunction):
    """The initial rate times lr_lambda(epoch)."""

    def get_lr(self) -> list[Any]:
        self._check_called_within_step()
        return [
            base * f(self.last_epoch)
            for f, base in zip(self.lr_lambdas, self.base_lrs, strict=True)
        ]


class MultiplicativeLR(_ByFunction):
    """Multiply the rate by lr_lambda(epoch) at each epoch."""

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: int = -1) -> None:
        for function in lr_lambda if isinstance(lr_lambda, (list, tuple)) else [lr_lambda]:
            if not callable(function):
                raise TypeError(
                    f"lr_lambda should be a function, but got {type(function).__name__}"
                )
        super().__init__(optimizer, lr_lambda, last_epoch)

    def get_lr(self) -> list[Any]:
        self._check_called_within_step()
        if self._is_initial:
            return self._current()
        groups = self.optimizer.param_groups
        return [
            group["lr"] * f(self.last_epoch)
            for f, group in zip(self.lr_lambdas, groups, strict=True)
        ]


class _ByFactor(LRScheduler):
    """A schedule that multiplies the current rate by a factor, and in its closed form the initial
    rate by another.
    """

    def _step_factor(self) -> Any:
        """Return the factor of the current rate in epoch `last_epoch`, or UNCHANGED."""
        raise NotImplementedError

    def _factor_since_start(self) -> float:
        """Return the factor of the initial rate in epoch `last_epoch`."""
        raise NotImplementedError

    def get_lr(self) -> list[Any]:
        self._check_called_within_step()
        factor = self._step_factor()
        return self._current() if factor is UNCHANGED else self._scaled(factor)

    def _get_closed_form_lr(self) -> list[Any]:
        factor = self._factor_since_start()
        return [base * factor for base in self.base_lrs]


class StepLR(_ByFactor):
    """Multiply the rate by gamma every step_size epochs."""

    def __init__(
        self, optimizer: Any, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _step_factor(self) -> Any:
        return (
            UNCHANGED
            if self.last_epoch == 0 or self.last_epoch % self.step_size != 0
            else self.gamma
        )

    def _factor_since_start(self) -> float:
        return self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(_ByFactor):
    """Multiply the rate by gamma at each milestone."""

    def __init__(
        self, optimizer: Any, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _step_factor(self) -> Any:
        epoch = self.last_epoch
        return self.gamma ** self.milestones[epoch] if epoch in self.milestones else UNCHANGED

    def _factor_since_start(self) -> float:
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class ConstantLR(_ByFactor):
    """Multiply the rate by `factor` for the first total_iters epochs."""

    def __init__(
        self, optimizer: Any, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _step_factor(self) -> Any:
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else UNCHANGED

    def _factor_since_start(self) -> float:
        return self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)


class LinearLR(_ByFactor):
    """Scale the rate from start_factor to end_factor in equal steps over total_iters epochs."""

    def __init__(
        self,
        optimizer: Any,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal "
                "to 1."
            )
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _step_factor(self) -> Any:
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return UNCHANGED
        rise = self.end_factor - self.start_factor
        return 1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)

    def _factor_since_start(self) -> float:
        done = min(self.total_iters, self.last_epoch)
        return self.start_factor + (self.end_factor - self.start_factor) * done / self.total_iters


class ExponentialLR(_ByFactor):
    """Multiply the rate by gamma at each epoch."""

    def __init__(self, optimizer: Any, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _step_factor(self) -> Any:
        return UNCHANGED if self._is_initial else self.gamma

    def _factor_since_start(self) -> float:
        return self.gamma**self.last_epoch


class PolynomialLR(_ByFactor):
    """Decay the rate to 0 over total_iters epochs as (1 - epoch / total_iters) ** power."""

    def __init__(
        self, optimizer: Any, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _step_factor(self) -> Any:
        if self._is_initial or self.last_epoch > self.total_iters:
            return UNCHANGED
        now = 1.0 - self.last_epoch / self.total_iters
        return (now / (1.0 - (self.last_epoch - 1) / self.total_iters)) ** self.power

    def _factor_since_start(self) -> float:
        done = min(self.total_iters, self.last_epoch)
        return (1.0 - done / self.total_iters) ** self.power


class CosineAnnealingLR(LRScheduler):
    """Anneal the rate along half a cosine from the initial rate to eta_min over T_max epochs, and
    back.
    """

    def __init__(
        self, optimizer: Any, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def _cosine(self, epoch: int) -> float:
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def get_lr(self) -> list[Any]:
        self._check_called_within_step()
        if self._is_initial:
            return self._current()
        pairs = list(zip(self.base_lrs, self.optimizer.param_groups, strict=True))
        if self._step_count == 1 and self.last_epoch > 0:
            height = (1 + math.cos(self.last_epoch * math.pi / self.T_max)) / 2
            return [self.eta_min + (base - self.eta_min) * height for base, _ in pairs]
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            fall = 1 - math.cos(math.pi / self.T_max)
            return [group["lr"] + (base - self.eta_min) * fall / 2 for base, group in pairs]
        ratio = self._cosine(self.last_epoch) / self._cosine(self.last_epoch - 1)
        return [ratio * (group["lr"] - self.eta_min) + self.eta_min for _, group in pairs]

    def _get_closed_form_lr(self) -> list[Any]:
        height = self._cosine(self.last_epoch)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]
