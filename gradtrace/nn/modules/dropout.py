"""Dropout: random zeros in training, the identity otherwise."""

from __future__ import annotations

from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn import functional as F
from gradtrace.nn.modules.utils import FunctionModule


class _DropoutNd(FunctionModule, passes="p training inplace"):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__(p, inplace)
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


class Dropout(_DropoutNd, function="dropout"):
    """Zero elements with probability p and scale the others by 1/(1-p)."""


class Dropout1d(_DropoutNd, function="dropout1d"):
    """Zero whole channels of (N, C, L) or (C, L)."""


class Dropout2d(_DropoutNd, function="dropout2d"):
    """Zero whole channels of (N, C, H, W)."""


class Dropout3d(_DropoutNd, function="dropout3d"):
    """Zero whole channels of (N, C, D, H, W)."""


class AlphaDropout(_DropoutNd):
    """Dropout that preserves mean and variance, for SELU networks."""

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """AlphaDropout of whole channels."""

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
