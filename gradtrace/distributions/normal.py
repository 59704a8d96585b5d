"""Normal, Laplace and multivariate normal distributions: a location and a scale."""

from __future__ import annotations

import math
from typing import Any

import gradtrace as torch
from gradtrace.distributions import constraints
from gradtrace.distributions.distribution import (
    Distribution,
    ExponentialFamily,
    broadcast_all,
    computed_once,
    derived,
    shape_of,
    standard_normal,
)
from gradtrace.engine.data.tensor import Tensor

__all__ = ["Laplace", "MultivariateNormal", "Normal"]


class _LocationScale(Distribution):
    """A distribution of `loc + scale * x`."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(shape_of(self.loc, loc, scale), validate_args=validate_args)

    mean = derived(lambda self: self.loc)
    mode = derived(lambda self: self.loc)


class Normal(_LocationScale, ExponentialFamily):
    """The normal distribution with mean `loc` and standard deviation `scale`."""

    stddev = derived(lambda self: self.scale)
    variance = derived(lambda self: self.stddev.pow(2))

    def _sample_without_graph(self, sample_shape: Any) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return torch.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.loc + standard_normal(self._extended_shape(sample_shape), self.loc) * self.scale

    def _log_prob_of_checked(self, value: Any) -> Tensor:
        variance = self.scale**2
        log_scale = self.scale.log()
        return (
            -((value - self.loc) ** 2) / (2 * variance)
            - log_scale
            - math.log(math.sqrt(2 * math.pi))
        )

    def cdf(self, value: Any) -> Tensor:
        self._check_value(value)
        return 0.5 * (1 + torch.erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value: Any) -> Tensor:
        return self.loc + self.scale * torch.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * math.log(2 * math.pi) + torch.log(self.scale)


class Laplace(_LocationScale):
    """The Laplace distribution: density exp(-abs(x - loc) / scale) / (2 scale)."""

    variance = derived(lambda self: 2 * self.scale.pow(2))
    stddev = derived(lambda self: 2**0.5 * self.scale)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        low = torch.finfo(self.loc.dtype).eps - 1
        drawn = torch.empty(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        uniform = drawn.uniform_(low, 1)
        return self.loc - self.scale * uniform.sign() * torch.log1p(-uniform.abs())

    def _log_prob_of_checked(self, value: Any) -> Tensor:
        return -torch.log(2 * self.scale) - torch.abs(value - self.loc) / self.scale

    def cdf(self, value: Any) -> Tensor:
        self._check_value(value)
        centred = value - self.loc
        return 0.5 - 0.5 * centred.sign() * torch.expm1(-centred.abs() / self.scale)

    def icdf(self, value: Any) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * torch.log1p(-2 * term.abs())

    def entropy(self) -> Tensor:
        return 1 + torch.log(2 * self.scale)


# ---- vectors


class MultivariateNormal(Distribution):
    """The normal distribution of vectors with mean `loc` [..., n] and one matrix [..., n, n].

    The matrix is the covariance, its inverse (the precision) or its lower Cholesky factor
    (`scale_tril`). Raises ValueError unless exactly one is given.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.ndim < 1:
            raise ValueError("loc must be at least one-dimensional.")
        matrices = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        arguments = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
        if len(arguments) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
                "specified."
            )
        [(name, matrix)] = arguments
        if matrix.ndim < 2:
            shown = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(
                f"{shown} must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch_shape = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args)
        self._factor = factor_of(name, matrix)

    @computed_once
    def scale_tril(self) -> Tensor:
        return self._expanded(self._factor)

    @computed_once
    def covariance_matrix(self) -> Tensor:
        return self._expanded(torch.matmul(self._factor, self._factor.mT))

    @computed_once
    def precision_matrix(self) -> Tensor:
        return self._expanded(torch.cholesky_inverse(self._factor))

    def _expanded(self, matrix: Tensor) -> Tensor:
        return matrix.expand((*self._batch_shape, *self._event_shape, *self._event_shape))

    mean = derived(lambda self: self.loc)
    mode = derived(lambda self: self.loc)
    variance = derived(lambda self: self._factor.pow(2).sum(-1).expand(self._extended_shape()))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        drawn = standard_normal(self._extended_shape(sample_shape), self.loc)
        return self.loc + torch.matmul(self._factor, drawn.unsqueeze(-1)).squeeze(-1)

    def half_log_det(self) -> Tensor:
        """Return half of the logarithm of the covariance's determinant."""
        return self._factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def _log_prob_of_checked(self, value: Any) -> Tensor:
        distance = squared_distance(self._factor, value - self.loc)
        return (
            -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - self.half_log_det()
        )

    def entropy(self) -> Tensor:
        entropies = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self.half_log_det()
        return entropies.expand(self._batch_shape) if self._batch_shape else entropies


def factor_of(name: str, matrix: Tensor) -> Tensor:
    """Return the lower Cholesky factor of the covariance, from the matrix that is given."""
    if name == "scale_tril":
        return matrix
    if name == "covariance_matrix":
        return torch.linalg.cholesky(matrix)
    # The factor of a matrix's inverse is the inverse of the factor of the flipped matrix, flipped.
    flipped = torch.linalg.cholesky(torch.flip(matrix, (-2, -1)))
    inverse = torch.transpose(torch.flip(flipped, (-2, -1)), -2, -1)
    unit = torch.eye(matrix.shape[-1], dtype=matrix.dtype)
    return torch.linalg.solve_triangular(inverse, unit, upper=False)


def squared_distance(factor: Tensor, x: Tensor) -> Tensor:
    """Return the squared Mahalanobis distance of vectors [..., n] from 0, for Cholesky factors
    [..., n, n].

    The vectors that share a factor become the columns of one triangular solve, as in PyTorch.
    """
    n = x.shape[-1]
    outer = x.ndim - 1 - (factor.ndim - 2)
    # Split each batch dim of x in two: the vectors that share a factor, and the factors.
    shape: list[int] = list(x.shape[:outer])
    for factor_size, x_size in zip(factor.shape[:-2], x.shape[outer:-1]):
        shape += [x_size // factor_size, factor_size]
    last = len(shape)
    # Move the dims of the factors behind the others.
    order = [*range(outer), *range(outer, last, 2), *range(outer + 1, last, 2)]
    grouped = x.reshape((*shape, n)).permute((*order, last))
    flat_factor = factor.reshape(-1, n, n)
    columns = grouped.reshape(-1, flat_factor.shape[0], n).permute(1, 2, 0)
    squares = torch.linalg.solve_triangular(flat_factor, columns, upper=False).pow(2).sum(-2).t()
    distances = squares.reshape(grouped.shape[:-1])
    inverse_order = sorted(range(last), key=order.index)
    return distances.permute(inverse_order).reshape(x.shape[:-1])
