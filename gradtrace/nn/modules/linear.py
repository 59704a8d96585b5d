"""Linear layers: Identity, Linear, Bilinear."""

from __future__ import annotations

import math
from typing import Any

from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn import functional as F
from gradtrace.nn import init
from gradtrace.nn.modules.module import Module
from gradtrace.nn.modules.utils import add_parameter, new_parameter, store


class Identity(Module):
    """Return the input unchanged; all arguments are ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """`x @ weight.T + bias`: (*, in_features) to (*, out_features).

    weight (out_features, in_features) and bias are initialised uniformly in +-1/sqrt(in_features).
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = new_parameter((out_features, in_features), device, dtype)
        add_parameter(self, "bias", out_features if bias else None, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        init.fan_in_uniform_(self.bias, self.weight)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Bilinear(Module):
    """`x1 @ weight[k] @ x2 + bias[k]` for each output k: (*, in1), (*, in2) to (*,
    out_features).
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        store(self, locals(), "in1_features in2_features out_features")
        self.weight = new_parameter((out_features, in1_features, in2_features), device, dtype)
        add_parameter(self, "bias", out_features if bias else None, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.in1_features <= 0:
            raise ValueError(
                f"in1_features must be > 0, but got (in1_features={self.in1_features})"
            )
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )
