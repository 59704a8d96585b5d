"""Uniform and exponential distributions."""

from __future__ import annotations

import math
from typing import Any

import gradtrace as torch
from gradtrace.distributions import constraints
from gradtrace.distributions.distribution import Distribution, ExponentialFamily, broadcast_all, derived, shape_of
from gradtrace.engine.data.tensor import Tensor

__all__ = ["Exponential", "Uniform"]


class Uniform(Distribution):
    """The uniform distribution over [low, high)."""

    has_rsample = True

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(shape_of(self.low, low, high), validate_args=validate_args)

    @property
    def arg_constraints(self) -> Any:
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    support = derived(lambda self: constraints.interval(self.low, self.high))
    mean = derived(lambda self: (self.high + self.low) / 2)
    mode = derived(lambda self: math.nan * self.high)
    stddev = derived(lambda self: (self.high - self.low) / 12**0.5)
    variance = derived(lambda self: (self.high - self.low).pow(2) / 12)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        drawn = torch.rand(self._extended_shape(sample_shape), dtype=self.low.dtype)
        return self.low + drawn * (self.high - self.low)

    def _log_prob_of_checked(self, value: Any) -> Tensor:
        above, below = self.low.le(value).type_as(self.low), self.high.gt(value).type_as(self.low)
        return torch.log(above.mul(below)) - torch.log(self.high - self.low)

    def cdf(self, value: Any) -> Tensor:
        self._check_value(value)
        share: Tensor = (value - self.low) / (self.high - self.low)
        return share.clamp(min=0, max=1)

    def icdf(self, value: Any) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return torch.log(self.high - self.low)


class Exponential(ExponentialFamily):
    """The exponential distribution: density rate * exp(-rate * x)."""

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(shape_of(self.rate, rate), validate_args=validate_args)

    mean = derived(lambda self: self.rate.reciprocal())
    mode = derived(lambda self: torch.zeros_like(self.rate))
    stddev = derived(lambda self: self.rate.reciprocal())
    variance = derived(lambda self: self.rate.pow(-2))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return torch.empty(self._extended_shape(sample_shape), dtype=self.rate.dtype).exponential_() / self.rate

    def _log_prob_of_checked(self, value: Any) -> Tensor:
        return self.rate.log() - self.rate * value

    def cdf(self, value: Any) -> Tensor:
        self._check_value(value)
        return 1 - torch.exp(-self.rate * value)

    def icdf(self, value: Any) -> Tensor:
        return -torch.log1p(-value) / self.rate

    def entropy(self) -> Tensor:
        return 1.0 - torch.log(self.rate)
