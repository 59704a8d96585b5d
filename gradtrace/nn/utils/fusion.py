"""torch.nn.utils.fusion: a layer and the batch normalisation after it as one layer, for
evaluation.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn.parameter import Parameter

__all__ = [
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
]

Parameters = tuple[Parameter, Parameter]


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """Return a copy of a convolution that includes the batch normalisation after it."""
    return fused(conv, bn, fuse_conv_bn_weights, transpose)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """Return a copy of a linear layer that includes the batch normalisation after it."""
    return fused(linear, bn, fuse_linear_bn_weights)


def fused(layer: Any, bn: Any, fuse: Any, *options: bool) -> Any:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    copy = deepcopy(layer)
    statistics = (bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
    copy.weight, copy.bias = fuse(copy.weight, copy.bias, *statistics, *options)
    return copy


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Any,
    bn_rm: Any,
    bn_rv: Any,
    bn_eps: float,
    bn_w: Any,
    bn_b: Any,
    transpose: bool = False,
) -> Parameters:
    """Return the weight and the bias of the fused convolution."""
    scale = (bn_rv + bn_eps).rsqrt() * (1 if bn_w is None else bn_w)
    shape = [1] * conv_w.ndim
    shape[1 if transpose else 0] = -1
    weight = conv_w * scale.reshape(shape)
    bias = ((0 if conv_b is None else conv_b) - bn_rm) * scale + (0 if bn_b is None else bn_b)
    trained = conv_b is not None and conv_b.requires_grad
    return Parameter(weight.detach(), conv_w.requires_grad), Parameter(bias.detach(), trained)


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any
) -> Parameters:
    """Return the weight and the bias of the fused linear layer."""
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)
