"""torch.distributions.transforms: invertible functions with the logarithm of their Jacobian's
determinant.
"""

from __future__ import annotations

import math
from typing import Any

import gradtrace as torch
from gradtrace.distributions import constraints
from gradtrace.distributions.distribution import derived, is_number
from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn import functional as F

__all__ = ["AffineTransform", "ExpTransform", "SigmoidTransform", "TanhTransform", "Transform"]


class Transform:
    """A function of tensors. A subclass gives `_call`, `_inverse`, `log_abs_det_jacobian(x, y)`,
    domain and codomain.

    With `cache_size=1` the inverse of the last result returns the original argument itself, without
    rounding.
    """

    bijective = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._last: tuple[Any, Any] = (None, None)
        self._inv: Any = None

    @property
    def event_dim(self) -> int:
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Any:
        """The inverse Transform."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> Any:
        """1 where the function rises, -1 where it falls."""
        raise NotImplementedError

    def __call__(self, x: Any) -> Any:
        if self._cache_size and self._last[0] is x and x is not None:
            return self._last[1]
        y = self._call(x)
        self._last = (x, y) if self._cache_size else (None, None)
        return y

    def _inv_call(self, y: Any) -> Any:
        if self._cache_size and self._last[1] is y and y is not None:
            return self._last[0]
        x = self._inverse(y)
        self._last = (x, y) if self._cache_size else (None, None)
        return x

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return log(abs(dy / dx)), summed over the dims of one event."""
        raise NotImplementedError

    def forward_shape(self, shape: Any) -> Any:
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        return shape

    def __eq__(self, other: object) -> bool:
        return self._equals(other)

    __hash__ = object.__hash__

    def _equals(self, other: Any) -> bool:
        return self is other

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    def __init__(self, transform: Transform) -> None:
        super().__init__(transform._cache_size)
        self._inv = transform

    domain = derived(lambda self: self._inv.codomain)
    codomain = derived(lambda self: self._inv.domain)

    bijective = derived(lambda self: self._inv.bijective)
    sign = derived(lambda self: self._inv.sign)

    def __call__(self, x: Any) -> Any:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)

    def _equals(self, other: Any) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __repr__(self) -> str:
        return f"_InverseTransform({self._inv!r})"


class _Elementwise(Transform):
    """A rising function of numbers without parameters: two of one class are equal."""

    domain = constraints.real
    bijective = True
    sign = 1

    def _equals(self, other: Any) -> bool:
        return isinstance(other, type(self))


class ExpTransform(_Elementwise):
    """y = exp(x)."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x


class SigmoidTransform(_Elementwise):
    """y = sigmoid(x), kept inside (0, 1)."""

    codomain = constraints.unit_interval

    def _call(self, x: Any) -> Any:
        info = torch.finfo(x.dtype)
        return torch.clamp(torch.sigmoid(x), min=info.tiny, max=1.0 - info.eps)

    def _inverse(self, y: Any) -> Any:
        info = torch.finfo(y.dtype)
        y = y.clamp(min=info.tiny, max=1.0 - info.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -F.softplus(-x) - F.softplus(x)


class TanhTransform(_Elementwise):
    """y = tanh(x)."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return torch.atanh(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x))


class AffineTransform(Transform):
    """y = loc + scale * x, for numbers or for events of `event_dim` dims."""

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    event_dim = derived(lambda self: self._event_dim)
    domain = derived(
        lambda self: (
            constraints.independent(constraints.real, self._event_dim)
            if self._event_dim
            else constraints.real
        )
    )
    codomain = domain

    @property
    def sign(self) -> Any:
        if is_number(self.scale):
            scale = float(self.scale)
            return (scale > 0) - (scale < 0)
        return self.scale.sign()

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if is_number(self.scale):
            logarithm = torch.full_like(x, math.log(abs(self.scale)))
        else:
            logarithm = torch.abs(self.scale).log()
        if self._event_dim:
            logarithm = logarithm.view((*logarithm.shape[: -self._event_dim], -1)).sum(-1)
        return logarithm.expand(x.shape[: x.ndim - self._event_dim])

    def forward_shape(self, shape: Any) -> Any:
        return torch.broadcast_shapes(
            shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ())
        )

    inverse_shape = forward_shape

    def _equals(self, other: Any) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        pairs = ((self.loc, other.loc), (self.scale, other.scale))
        return all(
            bool((a == b).all()) if isinstance(a == b, Tensor) else bool(a == b) for a, b in pairs
        )
