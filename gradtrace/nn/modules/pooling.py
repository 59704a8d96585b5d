"""Pooling layers over 1, 2 or 3 dimensions; each calls the function of `nn.functional`."""

from __future__ import annotations

from typing import Any

from gradtrace.engine.tensor import Tensor
from gradtrace.nn import functional as F
from gradtrace.nn.modules.module import Module
from gradtrace.nn.modules.utils import attributes, repeated


class _Pool(Module):
    """`function` is the name in nn.functional, looked up when called, so families are imported lazily."""

    function = ""

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(F, self.function)(*args, **kwargs)


class _MaxPool(_Pool):
    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        return self._call(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        return attributes(self, "kernel_size", "stride", "padding", "dilation", "ceil_mode")


class MaxPool1d(_MaxPool):
    """Maximum of each window; of equal values the first gets the gradient."""

    function = "max_pool1d"


class MaxPool2d(_MaxPool):
    """Maximum of each window; of equal values the first gets the gradient."""

    function = "max_pool2d"


class MaxPool3d(_MaxPool):
    """Maximum of each window; of equal values the first gets the gradient."""

    function = "max_pool3d"


class _MaxUnpool(_Pool):
    spatial = 0

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        n = self.spatial
        self.kernel_size = repeated(kernel_size, n)
        self.stride = repeated(stride if stride is not None else kernel_size, n)
        self.padding = repeated(padding, n)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return self._call(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return attributes(self, "kernel_size", "stride", "padding")


class MaxUnpool1d(_MaxUnpool):
    """Write values back to the positions that MaxPool1d took them from; zeros elsewhere."""

    spatial = 1
    function = "max_unpool1d"


class MaxUnpool2d(_MaxUnpool):
    """Write values back to the positions that MaxPool2d took them from; zeros elsewhere."""

    spatial = 2
    function = "max_unpool2d"


class MaxUnpool3d(_MaxUnpool):
    """Write values back to the positions that MaxPool3d took them from; zeros elsewhere."""

    spatial = 3
    function = "max_unpool3d"


class AvgPool1d(_Pool):
    """Mean of each window."""

    function = "avg_pool1d"

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = repeated(kernel_size, 1)
        self.stride = repeated(stride if stride is not None else kernel_size, 1)
        self.padding = repeated(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return self._call(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)

    def extra_repr(self) -> str:
        return attributes(self, "kernel_size", "stride", "padding")


class _AvgPool(_Pool):
    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return self._call(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        return attributes(self, "kernel_size", "stride", "padding")


class AvgPool2d(_AvgPool):
    """Mean of each window."""

    function = "avg_pool2d"


class AvgPool3d(_AvgPool):
    """Mean of each window."""

    function = "avg_pool3d"


class _LPPool(_Pool):
    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return self._call(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return attributes(self, "norm_type", "kernel_size", "stride", "ceil_mode")


class LPPool1d(_LPPool):
    """p-norm of each window."""

    function = "lp_pool1d"


class LPPool2d(_LPPool):
    """p-norm of each window."""

    function = "lp_pool2d"


class _AdaptiveMaxPool(_Pool):
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        return self._call(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return attributes(self, "output_size")


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """Max pooling to a given output size."""

    function = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """Max pooling to a given output size."""

    function = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """Max pooling to a given output size."""

    function = "adaptive_max_pool3d"


class _AdaptiveAvgPool(_Pool):
    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return self._call(input, self.output_size)

    def extra_repr(self) -> str:
        return attributes(self, "output_size")


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """Average pooling to a given output size."""

    function = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """Average pooling to a given output size."""

    function = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """Average pooling to a given output size."""

    function = "adaptive_avg_pool3d"
