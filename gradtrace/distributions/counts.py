"""Distributions over two outcomes and over counts: Bernoulli, binomial, Poisson."""

from __future__ import annotations

from typing import Any

import gradtrace as torch
from gradtrace.distributions import constraints
from gradtrace.distributions.distribution import (
    ExponentialFamily,
    ProbsOrLogits,
    broadcast_all,
    derived,
    shape_of,
)
from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn import functional as F

__all__ = ["Bernoulli", "Binomial", "Poisson"]


def enumerated(count: int, distribution: ProbsOrLogits, expand: bool) -> Tensor:
    """Return 0 .. count-1 along a new first dim; the batch dims follow, with size 1 unless
    `expand`.
    """
    batch = distribution.batch_shape
    values = torch.arange(count, dtype=distribution._param.dtype).view((-1, *(1 for _ in batch)))
    return values.expand((-1, *batch)) if expand else values


class Bernoulli(ProbsOrLogits, ExponentialFamily):
    """1 with probability `probs`, else 0."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._set_either(probs, logits)
        super().__init__(
            shape_of(self._param, logits if probs is None else probs), validate_args=validate_args
        )

    mean = derived(lambda self: self.probs)

    @property
    def mode(self) -> Tensor:
        mode = (self.probs >= 0.5).to(self.probs)
        mode[self.probs == 0.5] = torch.nan
        return mode

    variance = derived(lambda self: self.probs * (1 - self.probs))

    def _sample_without_graph(self, sample_shape: Any) -> Tensor:
        return torch.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def _log_prob_of_checked(self, value: Any) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return enumerated(2, self, expand)


class Binomial(ProbsOrLogits):
    """The number of successes in `total_count` independent trials."""

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(
        self,
        total_count: Any = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        (count,) = self._set_either(probs, logits, total_count)
        self.total_count = count.type_as(self._param)
        super().__init__(self._param.shape, validate_args=validate_args)

    support = derived(lambda self: constraints.integer_interval(0, self.total_count))
    mean = derived(lambda self: self.total_count * self.probs)
    mode = derived(
        lambda self: ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)
    )
    variance = derived(lambda self: self.total_count * self.probs * (1 - self.probs))

    def _sample_without_graph(self, sample_shape: Any) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def _log_prob_of_checked(self, value: Any) -> Tensor:
        count = self.total_count
        logits = self.logits
        of_all = torch.lgamma(count + 1)
        of_value = torch.lgamma(value + 1)
        of_rest = torch.lgamma(count - value + 1)
        # n log(1 + exp(logit)), in the form that does not overflow.
        positive = (logits.clamp(min=0) + logits - logits.clamp(max=0)) / 2
        normaliser = count * positive + count * torch.log1p(torch.exp(-torch.abs(logits))) - of_all
        return value * logits - of_value - of_rest - normaliser

    def _same_count(self, wanted: str) -> int:
        count = int(self.total_count.max())
        if not self.total_count.min() == count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{wanted}`.")
        return count

    def entropy(self) -> Tensor:
        self._same_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(torch.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return enumerated(1 + self._same_count("enumerate_support"), self, expand)


class Poisson(ExponentialFamily):
    """The Poisson distribution with mean `rate`."""

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(shape_of(self.rate, rate), validate_args=validate_args)

    mean = derived(lambda self: self.rate)
    mode = derived(lambda self: self.rate.floor())
    variance = derived(lambda self: self.rate)

    def _sample_without_graph(self, sample_shape: Any) -> Tensor:
        return torch.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def _log_prob_of_checked(self, value: Any) -> Tensor:
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()
