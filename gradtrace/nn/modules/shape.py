"""Layers that reshape, resize or compare: Flatten, Unflatten, PixelShuffle, Fold, Upsample,
distances.
"""

from __future__ import annotations

from typing import Any

from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn import functional as F
from gradtrace.nn.modules.module import Module
from gradtrace.nn.modules.utils import FunctionModule, attributes, store


class Flatten(Module):
    """Flatten the dimensions start_dim to end_dim into one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return attributes(self, "start_dim", "end_dim")


class Unflatten(Module):
    """Split dimension `dim` into the sizes `unflattened_size`."""

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                "unflattened_size must be a tuple of ints, but found type "
                f"{type(unflattened_size).__name__}"
            )
        for i, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {i}"
                )
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return attributes(self, "dim", "unflattened_size")


class PixelShuffle(FunctionModule, function="pixel_shuffle", passes="upscale_factor"):
    """Rearrange (*, C r^2, H, W) to (*, C, H r, W r)."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__(upscale_factor)


class PixelUnshuffle(FunctionModule, function="pixel_unshuffle", passes="downscale_factor"):
    """Rearrange (*, C, H r, W r) to (*, C r^2, H, W)."""

    def __init__(self, downscale_factor: int) -> None:
        super().__init__(downscale_factor)


class ChannelShuffle(FunctionModule, function="channel_shuffle", passes="groups"):
    """Interleave the channels of `groups` groups."""

    def __init__(self, groups: int) -> None:
        super().__init__(groups)


class Fold(
    FunctionModule, function="fold", passes="output_size kernel_size dilation padding stride"
):
    """Sum sliding blocks (N, C k, L) into an image."""

    def __init__(
        self,
        output_size: Any,
        kernel_size: Any,
        dilation: Any = 1,
        padding: Any = 0,
        stride: Any = 1,
    ) -> None:
        super().__init__(output_size, kernel_size, dilation, padding, stride)


class Unfold(FunctionModule, function="unfold", passes="kernel_size dilation padding stride"):
    """Extract the sliding blocks of an image as (N, C k, L)."""

    def __init__(
        self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__(kernel_size, dilation, padding, stride)


class Upsample(Module):
    """Resize the spatial dimensions to `size` or by `scale_factor`."""

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        store(self, locals(), "size mode align_corners recompute_scale_factor")
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None

    def forward(self, input: Tensor) -> Tensor:
        options = (self.size, self.scale_factor, self.mode, self.align_corners)
        return F.interpolate(input, *options, recompute_scale_factor=self.recompute_scale_factor)

    def extra_repr(self) -> str:
        which = "size" if self.scale_factor is None else "scale_factor"
        return f"{which}={getattr(self, which)!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Upsample with nearest-neighbour interpolation."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Upsample bilinearly with aligned corners."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


class PairwiseDistance(Module):
    """p-norm of x1 - x2 along the last dimension."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """Cosine similarity of x1 and x2 along `dim`."""

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
