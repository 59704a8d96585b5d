"""Distributions built from others: Independent, TransformedDistribution, MixtureSameFamily."""

from __future__ import annotations

from typing import Any

import gradtrace as torch
from gradtrace.distributions import constraints
from gradtrace.distributions.categorical import Categorical
from gradtrace.distributions.distribution import Distribution, derived, sum_rightmost
from gradtrace.distributions.transforms import ComposeTransform, Transform
from gradtrace.engine.data.describe import Size
from gradtrace.engine.data.tensor import Tensor

__all__ = ["Independent", "MixtureSameFamily", "TransformedDistribution"]


class Independent(Distribution):
    """A distribution that treats the last `reinterpreted_batch_ndims` batch dims of another one as event dims."""

    def __init__(
        self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        ndims = len(base_distribution.batch_shape)
        if reinterpreted_batch_ndims > ndims:
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {ndims}"
            )
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        shape, cut = base_distribution._extended_shape(), ndims - reinterpreted_batch_ndims
        super().__init__(shape[:cut], shape[cut:], validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Independent:
        new = self._copy()
        new._batch_shape = Size(batch_shape)
        new.base_dist = self.base_dist.expand((*batch_shape, *self._event_shape[: self.reinterpreted_batch_ndims]))
        return new

    has_rsample = derived(lambda self: self.base_dist.has_rsample)
    has_enumerate_support = derived(
        lambda self: not self.reinterpreted_batch_ndims and self.base_dist.has_enumerate_support
    )

    @property
    def support(self) -> Any:
        support = self.base_dist.support
        if self.reinterpreted_batch_ndims:
            return constraints.independent(support, self.reinterpreted_batch_ndims)
        return support

    mean = derived(lambda self: self.base_dist.mean)
    mode = derived(lambda self: self.base_dist.mode)
    variance = derived(lambda self: self.base_dist.variance)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Tensor:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """The distribution of `transforms` applied, one after the other, to samples of a base distribution."""

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None) -> None:
        if isinstance(transforms, list) and not all(isinstance(t, Transform) for t in transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        if not isinstance(transforms, Transform | list):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        whole, event_dim = ComposeTransform(self.transforms), len(base_distribution.event_shape)
        shape, domain_dim = base_distribution._extended_shape(), whole.domain.event_dim
        if len(shape) < domain_dim:
            raise ValueError(f"base_distribution needs to have shape with size at least {domain_dim}, but got {shape}.")
        forward_shape = whole.forward_shape(shape)
        base_shape = whole.inverse_shape(forward_shape)
        if Size(base_shape) != shape:
            base_distribution = base_distribution.expand(base_shape[: len(base_shape) - event_dim])
        if domain_dim > event_dim:
            base_distribution = Independent(base_distribution, domain_dim - event_dim)
        self.base_dist = base_distribution
        codomain_dim = whole.codomain.event_dim
        cut = len(forward_shape) - max(codomain_dim, event_dim + codomain_dim - domain_dim)
        super().__init__(forward_shape[:cut], forward_shape[cut:], validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape)
        shape: Any = (*batch_shape, *self._event_shape)
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        return new

    @property
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self._event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    has_rsample = derived(lambda self: self.base_dist.has_rsample)

    def _sample_without_graph(self, sample_shape: Any) -> Tensor:
        return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._transformed(self.base_dist.rsample(sample_shape))

    def _transformed(self, x: Any) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def _log_prob_of_checked(self, value: Any) -> Tensor:
        event_dim, total = len(self._event_shape), 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(value)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            logarithm = transform.log_abs_det_jacobian(x, value)
            total = total - sum_rightmost(logarithm, event_dim - transform.domain.event_dim)
            value = x
        rest: Tensor = sum_rightmost(self.base_dist.log_prob(value), event_dim - len(self.base_dist.event_shape))
        return total + rest

    def _rising(self, probability: Any) -> Any:
        """Return p, or 1 - p where the transforms fall."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        if isinstance(sign, int) and sign == 1:
            return probability
        return sign * (probability - 0.5) + 0.5

    def cdf(self, value: Any) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._rising(self.base_dist.cdf(value))

    def icdf(self, value: Any) -> Tensor:
        return self._transformed(self.base_dist.icdf(self._rising(value)))


class MixtureSameFamily(Distribution):
    """A mixture of the components along the last dim of a distribution's batch, weighted by a Categorical."""

    _event_ndims = 0

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        check_mixture(mixture_distribution, component_distribution)
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(component_distribution.batch_shape[:-1], component_distribution.event_shape, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> MixtureSameFamily:
        new, count = self._copy(), self._component_distribution.batch_shape[-1]
        new._batch_shape = Size(batch_shape)
        new._component_distribution = self._component_distribution.expand((*batch_shape, count))
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        return new

    mixture_distribution = derived(lambda self: self._mixture_distribution)
    component_distribution = derived(lambda self: self._component_distribution)
    support = derived(lambda self: constraints.MixtureSameFamilyConstraint(self._component_distribution.support))

    def _weights(self) -> Any:
        """Return the probabilities of the components, with the dims of the events."""
        weights, batch = self._mixture_distribution.probs, self._mixture_distribution.batch_shape
        added = 0 if len(batch) == 1 else len(self._batch_shape) - len(batch)
        return weights.reshape((*weights.shape[:-1], *[1] * added, weights.shape[-1], *[1] * self._event_ndims))

    def _over_components(self, values: Any) -> Tensor:
        return torch.sum(self._weights() * values, dim=-1 - self._event_ndims)

    mean = derived(lambda self: self._over_components(self._component_distribution.mean))

    @property
    def variance(self) -> Tensor:
        # The law of total variance.
        within = self._over_components(self._component_distribution.variance)
        return within + self._over_components((self._component_distribution.mean - self._pad(self.mean)).pow(2.0))

    def _pad(self, x: Any) -> Any:
        return x.unsqueeze(-1 - self._event_ndims)

    def cdf(self, value: Any) -> Tensor:
        each = self._component_distribution.cdf(self._pad(value))
        return torch.sum(each * self._mixture_distribution.probs, dim=-1)

    def _log_prob_of_checked(self, value: Any) -> Tensor:
        each = self._component_distribution.log_prob(self._pad(value))
        return torch.logsumexp(each + torch.log_softmax(self._mixture_distribution.logits, dim=-1), dim=-1)

    def _sample_without_graph(self, sample_shape: Any) -> Tensor:
        chosen = self._mixture_distribution.sample(sample_shape)
        each = self._component_distribution.sample(sample_shape)
        dim, event = len(sample_shape) + len(self._batch_shape), self._event_shape
        index = chosen.reshape((*chosen.shape, *[1] * (len(event) + 1)))
        index = index.repeat((*[1] * chosen.ndim, 1, *event))
        return torch.gather(each, dim, index).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"


def check_mixture(mixture: Any, component: Any) -> None:
    """Raise ValueError unless the weights fit the components."""
    if not isinstance(mixture, Categorical):
        raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
    if not isinstance(component, Distribution):
        raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
    of_mixture, of_component = mixture.batch_shape, component.batch_shape[:-1]
    if any(i != 1 and j != 1 and i != j for i, j in zip(reversed(of_mixture), reversed(of_component))):
        raise ValueError(
            f"`mixture_distribution.batch_shape` ({of_mixture}) is not compatible with "
            f"`component_distribution.batch_shape`({of_component})"
        )
    weights, count = mixture.logits.shape[-1], component.batch_shape[-1]
    if weights != count:
        raise ValueError(
            f"`mixture_distribution component` ({weights}) does not equal `component_distribution.batch_shape[-1]` "
            f"({count})"
        )
