"""Normalisation within one sample: LayerNorm, GroupNorm, RMSNorm, LocalResponseNorm."""

from __future__ import annotations

from typing import Any

from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn import functional as F
from gradtrace.nn import init
from gradtrace.nn.modules.module import Module
from gradtrace.nn.modules.utils import FunctionModule, add_parameter, attributes, store


class _ScaleAndShift(FunctionModule):
    """A norm with a learnable scale and shift, initially ones and zeros."""

    def _register(self, shape: Any, scale: bool, shift: bool, device: Any, dtype: Any) -> None:
        add_parameter(self, "weight", shape if scale else None, device, dtype)
        add_parameter(self, "bias", shape if scale and shift else None, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class LayerNorm(_ScaleAndShift, function="layer_norm", passes="normalized_shape weight bias eps"):
    """Normalise the last dimensions, of shape `normalized_shape`, to mean 0 and variance 1."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = (
            (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        )
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._register(self.normalized_shape, elementwise_affine, bias, device, dtype)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, {attributes(self, 'eps', 'elementwise_affine')}, "
            f"bias={self.bias is not None}"
        )


class GroupNorm(_ScaleAndShift, function="group_norm", passes="num_groups weight bias eps"):
    """Normalise groups of channels of (N, C, *) to mean 0 and variance 1."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        store(self, locals(), "num_groups num_channels eps affine")
        self._register(num_channels, affine, bias, device, dtype)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, {attributes(self, 'eps', 'affine')}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divide the last dimensions by their root mean square; eps None is the dtype's machine
    epsilon.
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = (
            (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        )
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        add_parameter(
            self, "weight", self.normalized_shape if elementwise_affine else None, device, dtype
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, {attributes(self, 'eps', 'elementwise_affine')}"


class LocalResponseNorm(FunctionModule, function="local_response_norm", passes="size alpha beta k"):
    """Divide each channel by a power of the sum of squares of its neighbours."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__(size, alpha, beta, k)

    def extra_repr(self) -> str:
        return f"{self.size}, {attributes(self, 'alpha', 'beta', 'k')}"
