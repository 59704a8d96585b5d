"""Distributions over n categories, by their probabilities [..., n] or logits."""

from __future__ import annotations

import math
from typing import Any

import gradtrace as torch
from gradtrace.distributions import constraints
from gradtrace.distributions.counts import Binomial
from gradtrace.distributions.distribution import (
    EITHER,
    Distribution,
    broadcast_all,
    computed_once,
    derived,
    logits_to_probs,
    probs_to_logits,
)
from gradtrace.engine.data.describe import Size
from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn import functional as F

__all__ = ["Categorical", "Multinomial", "OneHotCategorical", "OneHotCategoricalStraightThrough"]


class Categorical(Distribution):
    """One of the categories 0 .. n-1; `probs` are divided by their sum."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        if (probs is None) == (logits is None):
            raise ValueError(EITHER)
        for name, given in (("probs", probs), ("logits", logits)):
            if given is not None and given.ndim < 1:
                raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if probs is not None:
            self._param = self.probs = probs / probs.sum(-1, keepdim=True)
        elif logits is not None:
            self._param = self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        self._num_events = self._param.shape[-1]
        super().__init__(self._param.shape[:-1], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Categorical:
        new: Categorical = super().expand(batch_shape)
        new._param = new.probs if self._param is vars(self).get("probs") else new.logits
        return new

    @computed_once
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs)

    @computed_once
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits)

    support = derived(lambda self: constraints.integer_interval(0, self._num_events - 1))
    param_shape = derived(lambda self: self._param.size())
    mean = derived(lambda self: torch.full(self._extended_shape(), math.nan, dtype=self.probs.dtype))
    mode = derived(lambda self: self.probs.argmax(dim=-1))
    variance = derived(lambda self: self.mean)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        rows = self.probs.reshape(-1, self._num_events)
        drawn = torch.multinomial(rows, Size(sample_shape).numel(), True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    def _log_prob_of_checked(self, value: Any) -> Tensor:
        index, logits = torch.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = torch.clamp(self.logits, min=torch.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = torch.arange(self._num_events).view((-1, *(1 for _ in self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values


class _OverCategorical(Distribution):
    """A distribution of vectors over the categories of `_categorical`."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _parts = ("_categorical",)
    _categorical: Categorical

    probs = derived(lambda self: self._categorical.probs)
    logits = derived(lambda self: self._categorical.logits)
    param_shape = derived(lambda self: self._categorical.param_shape)


class OneHotCategorical(_OverCategorical):
    """One of n categories, as a vector with a single 1."""

    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    mean = derived(lambda self: self.probs)
    mode = derived(lambda self: F.one_hot(self.probs.argmax(dim=-1), num_classes=self.probs.shape[-1]).to(self.probs))
    variance = derived(lambda self: self.probs * (1 - self.probs))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        probs = self.probs
        return F.one_hot(self._categorical.sample(sample_shape), probs.shape[-1]).to(probs)

    def _log_prob_of_checked(self, value: Any) -> Tensor:
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self._event_shape[0]
        values = torch.eye(n, dtype=self.probs.dtype).view((n, *(1 for _ in self._batch_shape), n))
        return values.expand((n, *self._batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One of n categories as a one-hot vector, whose gradient is passed to the probabilities unchanged."""

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Multinomial(_OverCategorical):
    """The distribution of the number of times that each category is drawn in `total_count` draws."""

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    support = derived(lambda self: constraints.multinomial(self.total_count))
    mean = derived(lambda self: self.probs * self.total_count)
    variance = derived(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        drawn = self._categorical.sample((self.total_count, *sample_shape))
        drawn = drawn.permute(*range(1, drawn.ndim), 0)
        counts = torch.zeros(self._extended_shape(sample_shape), dtype=drawn.dtype)
        counts.scatter_add_(-1, drawn, torch.ones_like(drawn))
        return counts.type_as(self.probs)

    def entropy(self) -> Tensor:
        n = torch.tensor(self.total_count)
        of_draws = n * self._categorical.entropy() - torch.lgamma(n + 1)
        each = Binomial(self.total_count, self.probs)
        support = each.enumerate_support(expand=False)[1:]
        weights = torch.exp(each.log_prob(support)) * torch.lgamma(support + 1)
        return of_draws + weights.sum([0, -1])

    def _log_prob_of_checked(self, value: Any) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        logits = logits.clone(memory_format=torch.contiguous_format)
        orders = torch.lgamma(value.sum(-1) + 1) - torch.lgamma(value + 1).sum(-1)
        logits[(value == 0) & (logits == -math.inf)] = 0  # 0 * log(0) is 0
        return orders + (logits * value).sum(-1)
