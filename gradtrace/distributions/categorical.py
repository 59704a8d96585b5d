"""Distributions over n categories, by their probabilities [..., n] or logits."""

from __future__ import annotations

import math
from typing import Any

import gradtrace as torch
from gradtrace.distributions import constraints
from gradtrace.distributions.distribution import (
    EITHER,
    Distribution,
    computed_once,
    derived,
    logits_to_probs,
    probs_to_logits,
)
from gradtrace.engine.data.describe import Size
from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn import functional as F

__all__ = ["Categorical", "OneHotCategorical"]


class Categorical(Distribution):
    """One of the categories 0 .. n-1; `probs` are divided by their sum."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if (probs is None) == (logits is None):
            raise ValueError(EITHER)
        for name, parameter in (("probs", probs), ("logits", logits)):
            if parameter is not None and parameter.ndim < 1:
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
    mean = derived(
        lambda self: torch.full(self._extended_shape(), math.nan, dtype=self.probs.dtype)
    )
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


class OneHotCategorical(Distribution):
    """One of n categories, as a vector with a single 1."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True
    _parts = ("_categorical",)

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(
            self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args
        )

    probs = derived(lambda self: self._categorical.probs)
    logits = derived(lambda self: self._categorical.logits)
    param_shape = derived(lambda self: self._categorical.param_shape)
    mean = derived(lambda self: self.probs)
    mode = derived(
        lambda self: F.one_hot(self.probs.argmax(dim=-1), num_classes=self.probs.shape[-1]).to(
            self.probs
        )
    )
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
