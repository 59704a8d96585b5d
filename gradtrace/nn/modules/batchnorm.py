"""Batch normalisation, and the base class that keeps running statistics, also for instance
normalisation.
"""

from __future__ import annotations

from typing import Any

from gradtrace.engine.data.dtypes import int64
from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn import functional as F
from gradtrace.nn import init
from gradtrace.nn.modules.module import Module
from gradtrace.nn.modules.utils import add_parameter, attributes, function, store


class _NormBase(Module):
    """Scale and shift (parameters) and running mean and variance (buffers) of `num_features`
    channels.
    """

    _version = 2  # version 2 added the buffer num_batches_tracked

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        store(self, locals(), "num_features eps momentum affine track_running_stats")
        add_parameter(self, "weight", num_features if affine else None, device, dtype)
        add_parameter(self, "bias", num_features if affine and bias else None, device, dtype)
        self._register_statistics(device, dtype)
        self.reset_parameters()

    def _register_statistics(self, device: Any, dtype: Any) -> None:
        n = self.num_features
        tracked = self.track_running_stats
        self.register_buffer(
            "running_mean", function("zeros")(n, device=device, dtype=dtype) if tracked else None
        )
        self.register_buffer(
            "running_var", function("ones")(n, device=device, dtype=dtype) if tracked else None
        )
        count = function("tensor")(0, device=device, dtype=int64) if tracked else None
        self.register_buffer("num_batches_tracked", count)

    def reset_running_stats(self) -> None:
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any
    ) -> None:
        version = local_metadata.get("version")
        if (version is None or version < 2) and self.track_running_stats:
            state_dict.setdefault(prefix + "num_batches_tracked", self.num_batches_tracked)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, {attributes(self, 'eps', 'momentum', 'affine')}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


def check_dims(input: Tensor, allowed: tuple[int, ...]) -> None:
    """Raise ValueError unless the input has one of the allowed numbers of dimensions."""
    if input.dim() not in allowed:
        wanted = " or ".join(f"{n}D" for n in allowed)
        raise ValueError(f"expected {wanted} input (got {input.dim()}D input)")


class _BatchNorm(_NormBase):
    """Normalise by the batch's statistics in training, which update the running ones; otherwise by
    the running ones.
    """

    dims: tuple[int, ...] = ()

    def _check_input_dim(self, input: Tensor) -> None:
        check_dims(input, self.dims)

    def _average_factor(self) -> float:
        """Return the weight of this batch in the running statistics; without momentum, the
        cumulative average.
        """
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                factor = 1.0 / float(self.num_batches_tracked)
        return float(factor)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        factor = self._average_factor()
        use_batch = self.training or (self.running_mean is None and self.running_var is None)
        keep = not self.training or self.track_running_stats
        mean, variance = (self.running_mean, self.running_var) if keep else (None, None)
        return F.batch_norm(
            input, mean, variance, self.weight, self.bias, use_batch, factor, self.eps
        )


class BatchNorm1d(_BatchNorm):
    """Normalise each channel of (N, C) or (N, C, L) over the batch."""

    dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalise each channel of (N, C, H, W) over the batch and the image."""

    dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalise each channel of (N, C, D, H, W) over the batch and the volume."""

    dims = (5,)


class SyncBatchNorm(_BatchNorm):
    """Normalise each channel of (N, C, ...) over the batches of all processes, of which there is
    one.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Replace each batch normalisation in a module by a SyncBatchNorm with the same tensors."""
        result = module
        if isinstance(module, _BatchNorm):
            numbers = (
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
            )
            result = cls(*numbers, process_group, bias=module.bias is not None)
            for tensors in ("_parameters", "_buffers"):
                getattr(result, tensors).update(getattr(module, tensors))
            result.training = module.training
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result
