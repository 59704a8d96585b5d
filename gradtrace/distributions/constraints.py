"""torch.distributions.constraints: which values a parameter or a sample may have.

`check(value)` returns a bool tensor: whether each event, a block of the last `event_dim` dims, is
valid.
"""

from __future__ import annotations

from typing import Any

import gradtrace as torch
from gradtrace.engine.data.tensor import Tensor

__all__ = [
    "Constraint", "boolean", "greater_than", "independent", "integer_interval", "interval", "less_than",
    "lower_cholesky", "nonnegative", "nonnegative_integer", "one_hot", "positive", "positive_definite", "real",
    "real_vector", "simplex", "unit_interval",
]  # fmt: skip


class Constraint:
    """A region of values; `is_discrete` and `event_dim` describe those values."""

    is_discrete = False
    event_dim = 0

    def check(self, value: Any) -> Tensor:
        """Return whether each event of the value is valid."""
        raise NotImplementedError

    def __repr__(self) -> str:
        bounds = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"{type(self).__name__.lstrip('_')}({bounds})"


class _IndependentConstraint(Constraint):
    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Any) -> Tensor:
        valid = self.base_constraint.check(value)
        if valid.ndim < self.reinterpreted_batch_ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.ndim}")
        kept = valid.shape[: valid.ndim - self.reinterpreted_batch_ndims]
        return valid.reshape((*kept, -1)).all(-1)

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


# ---- numbers


class _Real(Constraint):
    def check(self, value: Any) -> Tensor:
        return value == value  # False for nan


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Any) -> Tensor:
        return (value == 0) | (value == 1)


class _GreaterThan(Constraint):
    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Any) -> Tensor:
        return self.lower_bound < value


class _GreaterThanEq(_GreaterThan):
    def check(self, value: Any) -> Tensor:
        return self.lower_bound <= value


class _LessThan(Constraint):
    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Any) -> Tensor:
        return value < self.upper_bound


class _Interval(Constraint):
    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def check(self, value: Any) -> Tensor:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerInterval(_Interval):
    is_discrete = True

    def check(self, value: Any) -> Tensor:
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerGreaterThan(_GreaterThan):
    is_discrete = True

    def check(self, value: Any) -> Tensor:
        return (value % 1 == 0) & (value >= self.lower_bound)


# ---- vectors and matrices


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value: Any) -> Tensor:
        return ((value == 0) | (value == 1)).all(-1) & value.sum(-1).eq(1)


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Any) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _LowerCholesky(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Tensor:
        is_lower_triangular = (value.tril() == value).all(-1).all(-1)
        return is_lower_triangular & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _PositiveDefinite(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Tensor:
        if value.shape[-2] != value.shape[-1]:
            return torch.zeros(tuple(value.shape[:-2]), dtype=torch.bool)
        symmetric = torch.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)
        if not symmetric.all():
            return symmetric
        return torch.linalg.cholesky_ex(value).info.eq(0)


independent = _IndependentConstraint
boolean = _Boolean()
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
less_than = _LessThan
interval = _Interval
unit_interval = _Interval(0.0, 1.0)
integer_interval = _IntegerInterval
nonnegative_integer = _IntegerGreaterThan(0)
one_hot = _OneHot()
simplex = _Simplex()
lower_cholesky = _LowerCholesky()
positive_definite = _PositiveDefinite()
