"""Distributions that are transforms of simpler ones."""

from __future__ import annotations

import math
from typing import Any

import gradtrace as torch
from gradtrace.distributions import constraints
from gradtrace.distributions.categorical import Categorical, _OverCategorical
from gradtrace.distributions.composed import TransformedDistribution
from gradtrace.distributions.distribution import (
    ProbsOrLogits,
    broadcast_all,
    clamp_probs,
    derived,
    is_number,
    shape_of,
)
from gradtrace.distributions.intervals import Exponential, Uniform
from gradtrace.distributions.normal import Cauchy, Normal
from gradtrace.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    StickBreakingTransform,
)
from gradtrace.engine.data.tensor import Tensor

__all__ = [
    "Gumbel", "HalfCauchy", "HalfNormal", "LogNormal", "LogisticNormal", "Pareto", "RelaxedBernoulli",
    "RelaxedOneHotCategorical", "Weibull",
]  # fmt: skip
EULER = 0.57721566490153286060  # the Euler-Mascheroni constant


class LogNormal(TransformedDistribution):
    """The exponential of a normal number."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args), ExpTransform(), validate_args)

    loc = derived(lambda self: self.base_dist.loc)
    scale = derived(lambda self: self.base_dist.scale)
    mean = derived(lambda self: (self.loc + self.scale.pow(2) / 2).exp())
    mode = derived(lambda self: (self.loc - self.scale.square()).exp())

    @property
    def variance(self) -> Tensor:
        squared = self.scale.pow(2)
        return squared.expm1() * (2 * self.loc + squared).exp()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc


class LogisticNormal(TransformedDistribution):
    """Vectors of n + 1 probabilities made of n normal numbers by stick breaking."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base: Any = Normal(loc, scale, validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args)

    loc = derived(lambda self: self.base_dist.base_dist.loc)
    scale = derived(lambda self: self.base_dist.base_dist.scale)


class _Half(TransformedDistribution):
    """The absolute value of a symmetric distribution around 0."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative

    scale = derived(lambda self: self.base_dist.scale)
    mode = derived(lambda self: torch.zeros_like(self.scale))

    def _log_prob_of_checked(self, value: Any) -> Tensor:
        return torch.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Any) -> Tensor:
        self._check_value(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Any) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """The absolute value of a normal number."""

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args)

    mean = derived(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = derived(lambda self: self.scale.pow(2) * (1 - 2 / math.pi))


class HalfCauchy(_Half):
    """The absolute value of a Cauchy number."""

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args)

    mean = derived(lambda self: torch.full(self._extended_shape(), math.inf, dtype=self.scale.dtype))
    variance = derived(lambda self: self.base_dist.variance)


class Gumbel(TransformedDistribution):
    """The Gumbel distribution: loc - scale * log(-log(uniform))."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        info = torch.finfo(self.loc.dtype)
        low, high = info.tiny, 1 - info.eps
        if is_number(loc) and is_number(scale):
            base = Uniform(low, high, validate_args)
        else:
            base = Uniform(torch.full_like(self.loc, low), torch.full_like(self.loc, high), validate_args)
        transforms = [
            ExpTransform().inv,
            AffineTransform(0, -torch.ones_like(self.scale)),
            ExpTransform().inv,
            AffineTransform(loc, -self.scale),
        ]
        super().__init__(base, transforms, validate_args)

    mean = derived(lambda self: self.loc + self.scale * EULER)
    mode = derived(lambda self: self.loc)
    stddev = derived(lambda self: (math.pi / math.sqrt(6)) * self.scale)
    variance = derived(lambda self: self.stddev.pow(2))

    def _log_prob_of_checked(self, value: Any) -> Tensor:
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + EULER)


class Pareto(TransformedDistribution):
    """The Pareto distribution: numbers of at least `scale`, with exponent `alpha`."""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        transforms = [ExpTransform(), AffineTransform(0, self.scale)]
        super().__init__(Exponential(self.alpha, validate_args), transforms, validate_args)

    support = derived(lambda self: constraints.greater_than_eq(self.scale))

    @property
    def mean(self) -> Tensor:
        alpha = self.alpha.clamp(min=1)
        return alpha * self.scale / (alpha - 1)

    mode = derived(lambda self: self.scale)

    @property
    def variance(self) -> Tensor:
        alpha = self.alpha.clamp(min=2)
        return self.scale.pow(2) * alpha / ((alpha - 1).pow(2) * (alpha - 2))

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class Weibull(TransformedDistribution):
    """The Weibull distribution: scale * exponential ** (1 / concentration)."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        transforms = [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)]
        super().__init__(Exponential(torch.ones_like(self.scale), validate_args), transforms, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Weibull:
        scale, concentration = self.scale.expand(batch_shape), self.concentration.expand(batch_shape)
        new = Weibull(scale, concentration, validate_args=False)
        new._validate_args = self._validate_args
        return new

    mean = derived(lambda self: self.scale * torch.exp(torch.lgamma(1 + self.concentration_reciprocal)))

    @property
    def mode(self) -> Tensor:
        share = (self.concentration - 1) / self.concentration
        return self.scale * share ** self.concentration.reciprocal()

    @property
    def variance(self) -> Tensor:
        second = torch.exp(torch.lgamma(1 + 2 * self.concentration_reciprocal))
        return self.scale.pow(2) * (second - torch.exp(2 * torch.lgamma(1 + self.concentration_reciprocal)))

    def entropy(self) -> Tensor:
        logarithm = torch.log(self.scale * self.concentration_reciprocal)
        return EULER * (1 - self.concentration_reciprocal) + logarithm + 1


# ---- relaxed discrete distributions


class LogitRelaxedBernoulli(ProbsOrLogits):
    """A relaxed Bernoulli distribution before its sigmoid (https://arxiv.org/abs/1611.00712)."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        self._set_either(probs, logits)
        super().__init__(shape_of(self._param, logits if probs is None else probs), validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        drawn = clamp_probs(torch.rand(shape, dtype=probs.dtype))
        return (drawn.log() - (-drawn).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def _log_prob_of_checked(self, value: Any) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        difference = logits - value.mul(self.temperature)
        return self.temperature.log() + difference - 2 * difference.exp().log1p()


class ExpRelaxedCategorical(_OverCategorical):
    """A relaxed categorical distribution before its exponential (https://arxiv.org/abs/1611.00712)."""

    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        temperature: Any,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical, self.temperature = Categorical(probs, logits), temperature
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        drawn = clamp_probs(torch.rand(self._extended_shape(sample_shape), dtype=self.logits.dtype))
        scores = (self.logits + -((-(drawn.log())).log())) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def _log_prob_of_checked(self, value: Any) -> Tensor:
        count = self.param_shape[-1]
        logits, value = broadcast_all(self.logits, value)
        scale = torch.full_like(self.temperature, float(count)).lgamma() - self.temperature.log().mul(-(count - 1))
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + scale


class _Relaxed(TransformedDistribution):
    """A relaxed distribution: its parameters are those of the base distribution."""

    temperature = derived(lambda self: self.base_dist.temperature)
    logits = derived(lambda self: self.base_dist.logits)
    probs = derived(lambda self: self.base_dist.probs)


class RelaxedBernoulli(_Relaxed):
    """Numbers in (0, 1), near 0 or 1 for a low temperature, differentiable with respect to the probability."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args)


class RelaxedOneHotCategorical(_Relaxed):
    """Vectors of probabilities, near one-hot for a low temperature: the Gumbel-softmax distribution."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex

    def __init__(
        self,
        temperature: Any,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args)
        super().__init__(base, ExpTransform(), validate_args)
