"""Pooling layers over 1, 2 or 3 dimensions; each calls the function of `nn.functional`."""

from __future__ import annotations

from typing import Any

from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn.modules.utils import FunctionModule, function_of, repeated, store


class _MaxPoolNd(
    FunctionModule,
    passes="kernel_size stride padding dilation ceil_mode return_indices",
    shows="kernel_size stride padding dilation ceil_mode",
):
    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__(kernel_size, kernel_size if stride is None else stride, padding, dilation)
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode


class MaxPool1d(_MaxPoolNd, function="max_pool1d"):
    """Maximum of each window; of equal values the first gets the gradient."""


class MaxPool2d(_MaxPoolNd, function="max_pool2d"):
    """Maximum of each window; of equal values the first gets the gradient."""


class MaxPool3d(_MaxPoolNd, function="max_pool3d"):
    """Maximum of each window; of equal values the first gets the gradient."""


class _MaxUnpool(FunctionModule, shows="kernel_size stride padding"):
    spatial = 0

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        n = self.spatial
        self.kernel_size = repeated(kernel_size, n)
        self.stride = repeated(stride if stride is not None else kernel_size, n)
        self.padding = repeated(padding, n)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        function = function_of(self)
        return function(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpool, function="max_unpool1d"):
    """Write values back to the positions that MaxPool1d took them from; zeros elsewhere."""

    spatial = 1


class MaxUnpool2d(_MaxUnpool, function="max_unpool2d"):
    """Write values back to the positions that MaxPool2d took them from; zeros elsewhere."""

    spatial = 2


class MaxUnpool3d(_MaxUnpool, function="max_unpool3d"):
    """Write values back to the positions that MaxPool3d took them from; zeros elsewhere."""

    spatial = 3


class AvgPool1d(
    FunctionModule,
    function="avg_pool1d",
    passes="kernel_size stride padding ceil_mode count_include_pad",
    shows="kernel_size stride padding",
):
    """Mean of each window."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        windows = (
            repeated(n, 1)
            for n in (kernel_size, kernel_size if stride is None else stride, padding)
        )
        super().__init__(*windows, ceil_mode, count_include_pad)


class _AvgPool(
    FunctionModule,
    passes="kernel_size stride padding ceil_mode count_include_pad divisor_override",
    shows="kernel_size stride padding",
):
    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        stride = kernel_size if stride is None else stride
        super().__init__(
            kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        )


class AvgPool2d(_AvgPool, function="avg_pool2d"):
    """Mean of each window."""


class AvgPool3d(_AvgPool, function="avg_pool3d"):
    """Mean of each window."""


class _FractionalMaxPool(FunctionModule):
    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        n = 2 if self._function.endswith("2d") else 3
        sizes = kernel_size if isinstance(kernel_size, (tuple, list)) else (kernel_size,)
        if n == 3 and not all(size > 0 for size in sizes):
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        self.kernel_size = repeated(kernel_size, n)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else repeated(output_size, n)
        self.output_ratio = None if output_ratio is None else repeated(output_ratio, n)
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"{name} requires specifying either an output size, or a pooling ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(
            0 < self.output_ratio[i] < 1 for i in range(n)
        ):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Tensor:
        sizes = self.output_size, self.output_ratio, self.return_indices
        return function_of(self)(
            input, self.kernel_size, *sizes, _random_samples=self._random_samples
        )


class FractionalMaxPool2d(_FractionalMaxPool, function="fractional_max_pool2d"):
    """Maximum of each window; the distances of the windows are random."""


class FractionalMaxPool3d(_FractionalMaxPool, function="fractional_max_pool3d"):
    """Maximum of each window; the distances of the windows are random."""


class _LPPoolNd(FunctionModule, shows="norm_type kernel_size stride ceil_mode"):
    def __init__(
        self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        store(self, locals(), "norm_type kernel_size stride ceil_mode")

    def forward(self, input: Tensor) -> Tensor:
        function = function_of(self)
        return function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool1d(_LPPoolNd, function="lp_pool1d"):
    """p-norm of each window."""


class LPPool2d(_LPPoolNd, function="lp_pool2d"):
    """p-norm of each window."""


class _AdaptiveMaxPoolNd(FunctionModule, passes="output_size return_indices", shows="output_size"):
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size, return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd, function="adaptive_max_pool1d"):
    """Max pooling to a given output size."""


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd, function="adaptive_max_pool2d"):
    """Max pooling to a given output size."""


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd, function="adaptive_max_pool3d"):
    """Max pooling to a given output size."""


class _AdaptiveAvgPoolNd(FunctionModule, passes="output_size"):
    def __init__(self, output_size: Any) -> None:
        super().__init__(output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd, function="adaptive_avg_pool1d"):
    """Average pooling to a given output size."""


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd, function="adaptive_avg_pool2d"):
    """Average pooling to a given output size."""


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd, function="adaptive_avg_pool3d"):
    """Average pooling to a given output size."""
