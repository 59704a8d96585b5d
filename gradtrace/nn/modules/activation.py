"""Activation functions as modules; most call the function of `nn.functional`.

Classes with the same arguments share a base.
"""

from __future__ import annotations

from typing import Any

from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn import functional as F
from gradtrace.nn import init
from gradtrace.nn.modules.module import Module
from gradtrace.nn.modules.utils import FunctionModule, attributes, new_parameter


class _Activation(FunctionModule):
    """An activation with the option `inplace`, which is shown if it is on."""

    def extra_repr(self) -> str:
        shown = attributes(self, *(name for name in self._shows if name != "inplace"))
        return ", ".join(filter(None, (shown, self.inplace and "inplace=True")))


class _Inplace(_Activation, passes="inplace"):
    """An activation whose only option is `inplace`."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace)


class ReLU(_Inplace, function="relu"):
    """max(0, x); the gradient at 0 is 0."""


class SiLU(_Inplace, function="silu"):
    """x * sigmoid(x), also known as swish."""


class Mish(_Inplace, function="mish"):
    """x * tanh(softplus(x))."""


class SELU(_Inplace, function="selu"):
    """Scaled ELU with the self-normalising constants."""


class Hardswish(_Inplace, function="hardswish"):
    """x * relu6(x + 3) / 6."""

    def extra_repr(self) -> str:
        return ""


class Hardsigmoid(_Inplace, function="hardsigmoid"):
    """relu6(x + 3) / 6."""

    def extra_repr(self) -> str:
        return ""


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, input: Tensor) -> Tensor:
        return input.sigmoid()


class Tanh(Module):
    """tanh(x)."""

    def forward(self, input: Tensor) -> Tensor:
        return input.tanh()


class LogSigmoid(Module):
    """log(sigmoid(x))."""

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softsign(Module):
    """x / (1 + |x|)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class Threshold(_Activation, function="threshold", passes="threshold value inplace"):
    """x where x > threshold, else `value`."""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(threshold, value, inplace)


class RReLU(_Activation, function="rrelu", passes="lower upper training inplace"):
    """Leaky ReLU with a random slope in training, else the mean slope."""

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__(lower, upper, inplace)


class Hardtanh(_Activation, function="hardtanh", passes="min_val max_val inplace"):
    """x clipped to [min_val, max_val]; the gradient at the bounds is 0."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__(min_val, max_val, inplace)
        if max_val <= min_val:
            raise AssertionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")


class ReLU6(Hardtanh, shows="inplace"):
    """min(max(0, x), 6)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


class ELU(_Activation, function="elu", passes="alpha inplace"):
    """x above 0, alpha * (exp(x) - 1) below."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(alpha, inplace)


class CELU(ELU, function="celu"):
    """x above 0, alpha * (exp(x / alpha) - 1) below."""


class LeakyReLU(_Activation, function="leaky_relu", passes="negative_slope inplace"):
    """x above 0, negative_slope * x below."""

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__(negative_slope, inplace)


class GELU(Module):
    """x times the normal distribution function; `approximate` is "none" or "tanh"."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Softplus(FunctionModule, function="softplus", passes="beta threshold"):
    """log(1 + exp(beta * x)) / beta; x where beta * x exceeds `threshold`."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__(beta, threshold)


class _Shrink(FunctionModule, passes="lambd"):
    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class Softshrink(_Shrink, function="softshrink"):
    """x moved towards 0 by lambd; 0 where |x| <= lambd."""


class Hardshrink(_Shrink, function="hardshrink"):
    """x where |x| > lambd, else 0."""


class PReLU(FunctionModule, function="prelu", passes="weight", shows="num_parameters"):
    """Leaky ReLU with a learnable slope, one for all or one per channel (dim 1)."""

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = new_parameter(num_parameters, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.constant_(self.weight, self.init)


class _AlongDim(FunctionModule, passes="dim"):
    """An activation over one dimension."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__(dim)


class Softmax(_AlongDim, function="softmax"):
    """exp(x) / sum(exp(x)) over `dim`."""


class Softmin(_AlongDim, function="softmin"):
    """softmax(-x)."""


class LogSoftmax(_AlongDim, function="log_softmax"):
    """log(softmax(x)), computed without overflow."""


class Softmax2d(Module):
    """Softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(
                f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead"
            )
        return F.softmax(input, -3)


class GLU(_AlongDim, function="glu"):
    """a * sigmoid(b) for the two halves a, b of the input along `dim`."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__(dim)
