"""torch.distributions.Distribution, and what its subclasses share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from numbers import Number
from typing import Any, Self

import gradtrace as torch
from gradtrace.engine.data.describe import Size
from gradtrace.engine.data.modes import enable_grad, no_grad
from gradtrace.engine.data.state import unobserved, using
from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn import functional as F

Shape = Iterable[int]
EITHER = "Either `probs` or `logits` must be specified, but not both."


def derived(rule: Callable[[Any], Any]) -> Any:
    """Return a read-only property that is computed by `rule(self)`."""
    return property(rule)


class Distribution:
    """A random variable over batches of events.

    A sample has the shape `sample_shape + batch_shape + event_shape`. A subclass gives
    `arg_constraints` (parameter -> Constraint), its `support`, `_log_prob_of_checked`, and
    `rsample` or `_sample_without_graph`. Parameters or values outside these raise ValueError,
    unless `validate_args` is False.
    """

    has_rsample = False
    has_enumerate_support = False
    arg_constraints: Any = {}
    _validate_args = True
    _parts: tuple[str, ...] = ()  # attributes that are distributions of the same batch

    def __init__(
        self,
        batch_shape: Any = Size(()),
        event_shape: Any = Size(()),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether distributions check their arguments where `validate_args` is not given."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def _check_parameters(self) -> None:
        for name, constraint in self.arg_constraints.items():
            declared = getattr(type(self), name, None)
            if name not in vars(self) and isinstance(declared, computed_once):
                continue  # Computed from a parameter that was checked.
            value = getattr(self, name)
            if not holds(constraint, value):
                raise ValueError(
                    f"Expected parameter {name} ({kind_and_shape(value)}) of distribution {self!r} "
                    f"to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    # ---- shapes

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters, without the dims of one event."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample of one distribution of the batch."""
        return self._event_shape

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        """Return the distribution with its parameters expanded to another batch shape."""
        new = self._copy()
        batch_shape = Size(batch_shape)
        for name in self.arg_constraints:
            if name in vars(self):
                value = vars(self)[name]
                event_shape = value.shape[len(self._batch_shape) :]
                setattr(new, name, value.expand((*batch_shape, *event_shape)))
        for name in self._parts:
            setattr(new, name, getattr(self, name).expand(batch_shape))
        new._batch_shape = batch_shape
        return new

    def _copy(self) -> Self:
        new = type(self).__new__(type(self))
        vars(new).update(vars(self))
        return new

    # ---- samples

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Return samples without a history, of shape `sample_shape + batch_shape + event_shape`."""
        with no_grad():
            return self._sample_without_graph(sample_shape)

    def _sample_without_graph(self, sample_shape: Any) -> Tensor:
        return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Return samples that are a differentiable function of the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """Return n samples; deprecated in PyTorch."""
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.",
            FutureWarning,
            stacklevel=2,
        )
        return self.sample((n,))

    # ---- defined by subclasses

    @property
    def support(self) -> Any:
        """The Constraint of the samples."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean, of shape `batch_shape + event_shape`."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most probable value, of shape `batch_shape + event_shape`."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance of each element, of shape `batch_shape + event_shape`."""
        raise NotImplementedError

    stddev = derived(lambda self: self.variance.sqrt())

    def log_prob(self, value: Any) -> Tensor:
        """Return the logarithm of the density, or of the probability, of each event."""
        if type(self)._log_prob_of_checked is not Distribution._log_prob_of_checked:
            self._check_value(value)
        return self._log_prob_of_checked(value)

    def _log_prob_of_checked(self, value: Any) -> Tensor:
        raise NotImplementedError

    def cdf(self, value: Any) -> Tensor:
        """Return the cumulative distribution function: the probability of at most `value`."""
        raise NotImplementedError

    def icdf(self, value: Any) -> Tensor:
        """Return the inverse of `cdf`: the quantile of the probability `value`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all values of a discrete distribution, along a new first dim."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """Return the entropy in nats, of shape `batch_shape`."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """Return exp(entropy), of shape `batch_shape`."""
        return torch.exp(self.entropy())

    # ---- checks and text

    def _check_value(self, value: Any) -> None:
        if self._validate_args:
            self._validate_sample(value)

    def _validate_sample(self, value: Any) -> None:
        """Raise ValueError unless the value is a tensor of events within the support."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        actual = value.shape
        expected = self._extended_shape()
        if Size(actual[len(actual) - len(self._event_shape) :]) != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {actual} vs "
                f"{self._event_shape}."
            )
        if any(i != 1 and j != 1 and i != j for i, j in zip(reversed(actual), reversed(expected))):
            raise ValueError(
                f"Value is not broadcastable with batch_shape+event_shape: {actual} vs {expected}."
            )
        support = self.support
        if not holds(support, value):
            raise ValueError(
                f"Expected value argument ({kind_and_shape(value)}) to be within the support "
                f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        shown = {name: vars(self)[name] for name in self.arg_constraints if name in vars(self)}
        texts = (
            f"{name}: {value if value.numel() == 1 else value.size()}"
            for name, value in shown.items()
        )
        return f"{type(self).__name__}({', '.join(texts)})"


class ExponentialFamily(Distribution):
    """The distributions whose density is exp(parameters . statistics - normaliser)."""


class computed_once:
    """Descriptor of a parameter that is computed from another parameter on first use and then
    cached.
    """

    def __init__(self, compute: Callable[[Any], Tensor]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.compute(instance)
        vars(instance)[self.compute.__name__] = value
        return value


def unrecorded() -> using:
    """Return a context manager that keeps checks and conversions of arguments out of the program's
    graph.
    """
    return unobserved(grad_enabled=False)


def holds(constraint: Any, value: Tensor) -> bool:
    """Return whether a constraint holds for all events of a value."""
    with unrecorded():
        return bool(constraint.check(value).all())


def kind_and_shape(value: Tensor) -> str:
    return f"{type(value).__name__} of shape {tuple(value.shape)}"


def is_number(value: Any) -> bool:
    return isinstance(value, Number)


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Broadcast tensors and numbers; a number takes the dtype of the first tensor, or the default
    one.
    """
    if not all(isinstance(v, Tensor) or is_number(v) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing "
            "__torch_function__."
        )
    tensors = [v for v in values if isinstance(v, Tensor)]
    dtype = tensors[0].dtype if tensors else torch.get_default_dtype()
    shape = torch.broadcast_shapes(*(v.shape for v in tensors))
    with unrecorded():
        operands = [
            v if isinstance(v, Tensor) else torch.tensor(v, dtype=dtype).expand(shape)
            for v in values
        ]
    return tuple(torch.broadcast_tensors(*operands))


def shape_of(tensor: Tensor, *parameters: Any) -> Any:
    """Return the batch shape of `parameters`: () if all are numbers, else that of the
    broadcast `tensor`.
    """
    return Size(()) if all(map(is_number, parameters)) else tensor.shape


def standard_normal(shape: Any, like: Tensor) -> Tensor:
    return torch.empty(tuple(shape), dtype=like.dtype).normal_()


def sum_rightmost(value: Any, dims: int) -> Any:
    """Sum over the last `dims` dims, flattened to one dim."""
    return value if dims == 0 else value.reshape((*value.shape[:-dims], -1)).sum(-1)


# ---- probabilities and their logarithms


def clamp_probs(probs: Tensor) -> Tensor:
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    return torch.sigmoid(logits) if is_binary else F.softmax(logits, dim=-1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    clamped = clamp_probs(probs)
    if is_binary:
        return torch.log(clamped) - torch.log1p(-clamped)
    return torch.log(clamped)


class ProbsOrLogits(Distribution):
    """Base of distributions over two outcomes, which computes `probs` from `logits` or the reverse
    when needed.
    """

    @computed_once
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=True)

    @computed_once
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, is_binary=True)

    def _set_either(self, probs: Any, logits: Any, *others: Any) -> tuple[Tensor, ...]:
        """Set `probs` or `logits`, whichever is given, broadcast with `others`; return the
        broadcast `others`. Raises ValueError unless exactly one of the two is given.
        """
        if (probs is None) == (logits is None):
            raise ValueError(EITHER)
        *rest, parameter = broadcast_all(*others, logits if probs is None else probs)
        setattr(self, "logits" if probs is None else "probs", parameter)
        return tuple(rest)

    @property
    def _param(self) -> Tensor:
        fields = vars(self)
        return fields["probs"] if "probs" in fields else fields["logits"]

    param_shape = derived(lambda self: self._param.size())
