"""Convolutions and transposed convolutions over 1, 2 or 3 dimensions.

The classes differ only in their number of dimensions; `_ConvNd` implements the rest.
"""

from __future__ import annotations

import math
from typing import Any

from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn import functional as F
from gradtrace.nn import init
from gradtrace.nn.modules.module import Module
from gradtrace.nn.modules.utils import (
    add_parameter,
    attributes,
    new_parameter,
    repeated,
    store,
    unusual,
)

PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    spatial = 0  # number of dimensions convolved over, a keyword of the class statement
    transposed = False
    padding: Any

    def __init_subclass__(cls, spatial: int = 0, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        cls.spatial = spatial or cls.spatial

    def _setup(self, options: dict[str, Any]) -> None:
        """Set the attributes and create the parameters; `options` has the arguments of
        `__init__`.
        """
        store(self, options, "in_channels out_channels groups padding_mode")
        for name in ("kernel_size", "stride", "dilation", "output_padding"):
            setattr(self, name, repeated(options[name], self.spatial))
        padding = options["padding"]
        self.padding = padding if isinstance(padding, str) else repeated(padding, self.spatial)
        self._check()
        channels = (self.in_channels, self.out_channels)
        a, b = channels if self.transposed else channels[::-1]
        device = options["device"]
        dtype = options["dtype"]
        self.weight = new_parameter((a, b // self.groups, *self.kernel_size), device, dtype)
        add_parameter(self, "bias", self.out_channels if options["bias"] else None, device, dtype)
        self.reset_parameters()

    def _check(self) -> None:
        if self.groups <= 0:
            raise ValueError("groups must be a positive integer")
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if self.out_channels % self.groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(self.padding, str):
            if self.padding not in ("same", "valid"):
                raise ValueError(
                    f"Invalid padding string {self.padding!r}, should be one of {{'same', 'valid'}}"
                )
            if self.padding == "same" and any(s != 1 for s in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if self.padding_mode not in PADDING_MODES:
            modes = "{" + ", ".join(map(repr, PADDING_MODES)) + "}"
            raise ValueError(
                f"padding_mode must be one of {modes}, but got padding_mode='{self.padding_mode}'"
            )

    def reset_parameters(self) -> None:
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        init.fan_in_uniform_(self.bias, self.weight)

    def _edges(self) -> list[int]:
        """Return the padding in F.pad's order: last dimension first, before and after."""
        if isinstance(self.padding, str):
            totals = [
                d * (k - 1) if self.padding == "same" else 0
                for d, k in zip(self.dilation, self.kernel_size, strict=True)
            ]
            return [side for t in reversed(totals) for side in (t // 2, t - t // 2)]
        return [p for p in reversed(self.padding) for _ in range(2)]

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        convolve = (F.conv1d, F.conv2d, F.conv3d)[self.spatial - 1]
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._edges(), mode=self.padding_mode)
            padding = (0,) * self.spatial
        return convolve(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        text = (
            f"{self.in_channels}, {self.out_channels}, {attributes(self, 'kernel_size', 'stride')}"
        )
        zeros = (0,) * self.spatial
        ones = (1,) * self.spatial
        text += unusual(
            self, padding=(0,) * len(self.padding), dilation=ones, output_padding=zeros, groups=1
        )
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class _Conv(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._setup({**locals(), "output_padding": 0})


class Conv1d(_Conv, spatial=1):
    """Cross-correlation of (N, C, L) or (C, L) with weight (out, in/groups, k)."""


class Conv2d(_Conv, spatial=2):
    """Cross-correlation of (N, C, H, W) or (C, H, W) with weight (out, in/groups, kH, kW)."""


class Conv3d(_Conv, spatial=3):
    """Cross-correlation of (N, C, D, H, W) or (C, D, H, W) with weight (out, in/groups, kD, kH,
    kW).
    """


class _ConvTranspose(_ConvNd):
    transposed = True
    padding: tuple[int, ...]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        self._setup(locals())

    def _output_padding(self, input: Tensor, output_size: Any) -> Any:
        """Return the output padding that produces `output_size` (the spatial sizes, or the whole
        shape).
        """
        if output_size is None:
            return self.output_padding
        n = self.spatial
        others = 2 if input.dim() == n + 2 else 1
        if len(output_size) == others + n:
            output_size = output_size[others:]
        if len(output_size) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or "
                f"{others + n} elements (got {len(output_size)})"
            )
        sizes = input.shape[others:]
        smallest = [
            (sizes[i] - 1) * self.stride[i]
            - 2 * self.padding[i]
            + self.dilation[i] * (self.kernel_size[i] - 1)
            + 1
            for i in range(n)
        ]
        largest = [low + s - 1 for low, s in zip(smallest, self.stride, strict=True)]
        if any(
            not low <= size <= high
            for low, size, high in zip(smallest, output_size, largest, strict=True)
        ):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {smallest} "
                f"to {largest} (for an input of {input.shape[2:]})"
            )
        return [size - low for size, low in zip(output_size, smallest, strict=True)]

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        convolve = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[self.spatial - 1]
        more = self._output_padding(input, output_size)
        return convolve(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            more,
            self.groups,
            self.dilation,
        )


class ConvTranspose1d(_ConvTranspose, spatial=1):
    """The gradient of Conv1d with respect to its input, as a layer; weight (in, out/groups, k)."""


class ConvTranspose2d(_ConvTranspose, spatial=2):
    """The gradient of Conv2d with respect to its input, as a layer; weight (in, out/groups, kH,
    kW).
    """


class ConvTranspose3d(_ConvTranspose, spatial=3):
    """The gradient of Conv3d with respect to its input, as a layer; weight (in, out/groups, kD, kH,
    kW).
    """
