"""Padding layers, for each mode and number of dimensions."""

from __future__ import annotations

from typing import Any

from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn import functional as F
from gradtrace.nn.modules.batchnorm import check_dims
from gradtrace.nn.modules.module import Module
from gradtrace.nn.modules.utils import repeated


class _Pad(Module):
    """`padding` is one number or (left, right, top, bottom, front, back) for the last dimensions.

    Keywords of the class statement say over how many, and in which mode of `nn.functional.pad`.
    """

    spatial = 0
    mode = "constant"

    def __init_subclass__(cls, spatial: int = 0, mode: str = "", **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        cls.spatial = spatial or cls.spatial
        cls.mode = mode or cls.mode

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = repeated(padding, 2 * self.spatial)

    def forward(self, input: Tensor) -> Tensor:
        if self.mode == "circular":
            check_dims(input, (self.spatial + 1, self.spatial + 2))
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_ConstantPad):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ConstantPad1d(_ConstantPad, spatial=1): ...


class ConstantPad2d(_ConstantPad, spatial=2): ...


class ConstantPad3d(_ConstantPad, spatial=3): ...


class ZeroPad1d(_ZeroPad, spatial=1): ...


class ZeroPad2d(_ZeroPad, spatial=2): ...


class ZeroPad3d(_ZeroPad, spatial=3): ...


class ReflectionPad1d(_Pad, spatial=1, mode="reflect"): ...


class ReflectionPad2d(_Pad, spatial=2, mode="reflect"): ...


class ReflectionPad3d(_Pad, spatial=3, mode="reflect"): ...


class ReplicationPad1d(_Pad, spatial=1, mode="replicate"): ...


class ReplicationPad2d(_Pad, spatial=2, mode="replicate"): ...


class ReplicationPad3d(_Pad, spatial=3, mode="replicate"): ...


class CircularPad1d(_Pad, spatial=1, mode="circular"): ...


class CircularPad2d(_Pad, spatial=2, mode="circular"): ...


class CircularPad3d(_Pad, spatial=3, mode="circular"): ...
