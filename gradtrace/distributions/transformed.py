"""Distributions built from others: Independent, TransformedDistribution, LogNormal."""

from __future__ import annotations

from typing import Any

from gradtrace.distributions import constraints
from gradtrace.distributions.distribution import Distribution, derived, sum_rightmost
from gradtrace.distributions.normal import Normal
from gradtrace.distributions.transforms import ExpTransform, Transform
from gradtrace.engine.data.describe import Size
from gradtrace.engine.data.tensor import Tensor

__all__ = ["Independent", "LogNormal", "TransformedDistribution"]


class Independent(Distribution):
    """A distribution that treats the last `reinterpreted_batch_ndims` batch dims of another one as
    event dims.
    """

    def __init__(
        self,
        base_distribution: Any,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        ndims = len(base_distribution.batch_shape)
        if reinterpreted_batch_ndims > ndims:
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {ndims}"
            )
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        shape = base_distribution._extended_shape()
        cut = ndims - reinterpreted_batch_ndims
        super().__init__(shape[:cut], shape[cut:], validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Independent:
        new = self._copy()
        new._batch_shape = Size(batch_shape)
        new.base_dist = self.base_dist.expand(
            (*batch_shape, *self._event_shape[: self.reinterpreted_batch_ndims])
        )
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
    """The distribution of `transforms` applied, one after the other, to samples of a base
    distribution.

    Each transform maps events to events with the same number of dims.
    """

    def __init__(
        self, base_distribution: Any, transforms: Any, validate_args: bool | None = None
    ) -> None:
        if isinstance(transforms, list) and not all(isinstance(t, Transform) for t in transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        if not isinstance(transforms, Transform | list):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        shape = base_distribution._extended_shape()
        base_event_dim = len(base_distribution.event_shape)
        event_dim = max((transform.event_dim for transform in self.transforms), default=0)
        if len(shape) < event_dim:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {event_dim}, but got "
                f"{shape}."
            )
        forward_shape: Any = shape
        for transform in self.transforms:
            forward_shape = transform.forward_shape(forward_shape)
        base_shape = self._inverse_shape(forward_shape)
        if Size(base_shape) != shape:
            base_distribution = base_distribution.expand(
                base_shape[: len(base_shape) - base_event_dim]
            )
        if event_dim > base_event_dim:
            base_distribution = Independent(base_distribution, event_dim - base_event_dim)
        self.base_dist = base_distribution
        cut = len(forward_shape) - max(event_dim, base_event_dim)
        super().__init__(forward_shape[:cut], forward_shape[cut:], validate_args)

    def _inverse_shape(self, shape: Any) -> Any:
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        return shape

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape)
        shape = self._inverse_shape((*batch_shape, *self._event_shape))
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        return new

    @property
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        missing_dims = len(self._event_shape) - support.event_dim
        return constraints.independent(support, missing_dims) if missing_dims > 0 else support

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
        event_dim = len(self._event_shape)
        total = 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(value)
            log_det = transform.log_abs_det_jacobian(x, value)
            total = total - sum_rightmost(log_det, event_dim - transform.event_dim)
            value = x
        base_log_prob: Tensor = sum_rightmost(
            self.base_dist.log_prob(value), event_dim - len(self.base_dist.event_shape)
        )
        return total + base_log_prob

    def _monotonize_cdf(self, probability: Any) -> Any:
        """Return p where the composed transform increases, and 1 - p where it decreases."""
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
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value: Any) -> Tensor:
        return self._transformed(self.base_dist.icdf(self._monotonize_cdf(value)))


class LogNormal(TransformedDistribution):
    """The log-normal distribution: `exp(x)` for a normal x with mean `loc` and standard deviation
    `scale`.
    """

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
