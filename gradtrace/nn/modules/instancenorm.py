"""Instance normalisation: each channel of each sample separately."""

from __future__ import annotations

from typing import Any

from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn import functional as F
from gradtrace.nn.modules.batchnorm import _NormBase, check_dims


class _InstanceNorm(_NormBase):
    unbatched_dims = 0

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def _check_input_dim(self, input: Tensor) -> None:
        check_dims(input, (self.unbatched_dims, self.unbatched_dims + 1))

    def _normalised(self, input: Tensor) -> Tensor:
        use_input = self.training or not self.track_running_stats
        momentum = 0.0 if self.momentum is None else self.momentum
        tensors = (self.running_mean, self.running_var, self.weight, self.bias)
        return F.instance_norm(input, *tensors, use_input, momentum, self.eps)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        dim = input.dim() - self.unbatched_dims
        if self.affine and input.size(dim) != self.num_features:
            raise ValueError(
                f"expected input's size at dim={dim} to match num_features ({self.num_features}), "
                f"but got: {input.size(dim)}."
            )
        if dim == 0:
            return self._normalised(input.unsqueeze(0)).squeeze(0)
        return self._normalised(input)


class InstanceNorm1d(_InstanceNorm):
    """Normalise (N, C, L) or (C, L)."""

    unbatched_dims = 2


class InstanceNorm2d(_InstanceNorm):
    """Normalise (N, C, H, W) or (C, H, W)."""

    unbatched_dims = 3


class InstanceNorm3d(_InstanceNorm):
    """Normalise (N, C, D, H, W) or (C, D, H, W)."""

    unbatched_dims = 4
