"""Binary cross entropy of probabilities and of logits."""

from __future__ import annotations

import math

from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, Operand
from gradtrace.engine.operators.broadcast import broadcast
from gradtrace.engine.operators.namespace import ARRAY
from gradtrace.engine.operators.op import d, loss_op
from gradtrace.engine.operators.rounding import in_float64
from gradtrace.ops.api import public
from gradtrace.ops.arguments import need_float
from gradtrace.ops.nn.loss import reduction_named, weighted_loss
from gradtrace.ops.nn.loss_arguments import (
    check_broadcasts,
    check_castable,
    check_has_size,
    check_same_dtype,
)

EPS = 1e-12
TINY = 9.999999960041972e-13  # 1e-12 rounded to float32, as in PyTorch


def log_sigmoid(x: Array) -> Array:
    return np.minimum(x, 0) - in_float64("log1p")(in_float64("exp")(-np.abs(x)))


def bce_slope(xp: XP, g: Operand, x: Operand, t: Operand) -> Operand:
    return g * (x - t) / xp.clamp_min((1 - x) * x, TINY)


def bce_curve(xp: XP, g: Operand, x: Operand, t: Operand) -> Operand:
    """Return g times PyTorch's second derivative, which adds 1e-12 to x and 1 - x instead of
    clamping them.
    """
    plus = x + EPS
    rest = 1 - x + EPS
    return g * (x * x - 2 * x * t + t) / (plus * plus * (rest * rest))


def in_mean(xp: XP, result: Operand, x: Operand, weight: Array | None, reduction: str) -> Operand:
    """Multiply the gradient by the weight and, for the mean, divide it by the number of
    elements.
    """
    result = divided(result, max(math.prod(x.shape), 1) if reduction == "mean" else 1)
    return result if weight is None else xp.times_array(result, weight)


# fmt: off
bce_backward = loss_op("binary_cross_entropy_backward(g, self, target; weight, reduction)",
    lambda g, x, t, *rest: in_mean(ARRAY, bce_slope(ARRAY, g, x, t), x, *rest),
    g=d("self target", lambda xp, gg, out, g, x, t, *rest: in_mean(xp, bce_slope(xp, gg, x, t), x, *rest)),
    self=d("g self target", lambda xp, gg, out, g, x, t, *rest: in_mean(xp, bce_curve(xp, gg * g, x, t), x, *rest)),
    target=d("g self", lambda xp, gg, out, g, x, t, *rest:
        in_mean(xp, -gg * g / xp.clamp_min((1 - x) * x, TINY), x, *rest)))
bce = weighted_loss("binary_cross_entropy(self, target)",
    lambda x, t: (t - 1) * np.maximum(np.log1p(-x), -100) - t * np.maximum(np.log(x), -100),
    "reduction[i](weight[i] * -(target[i] * log(self[i]) + (1 - target[i]) * log(1 - self[i])))", "self target",
    "binary_cross_entropy", backward=bce_backward,
    self=lambda xp, g, n, self, target: g * (self - target) / xp.clamp_min((1 - self) * self, TINY) / n,
    target=lambda xp, g, n, self, target: divided(-xp.logit(self, None) * g, n))
bce_logits = weighted_loss("binary_cross_entropy_with_logits(self, target)", lambda x, t: (1 - t) * x - log_sigmoid(x),
    "reduction[i](weight[i] * (log(1 + exp(self[i])) - target[i] * self[i]))", "self target", "log_sigmoid_cpu",
    self=lambda xp, g, n, self, target: divided((xp.sigmoid(self) - target) * g, n),
    target=lambda xp, g, n, self, target: divided(-self * g, n))
bce_pos_weight = weighted_loss("binary_cross_entropy_with_pos_weight(self, target, pos_weight)",
    lambda x, t, p: (1 - t) * x - (1 + (p - 1) * t) * log_sigmoid(x),
    "reduction[i](weight[i] * ((1 - target[i]) * self[i]"
        " + (1 + (pos_weight - 1) * target[i]) * log(1 + exp(-self[i]))))", "self target pos_weight",
    "log_sigmoid_cpu", node="BinaryCrossEntropyWithLogitsBackward0",
    self=lambda xp, g, n, self, target, pos_weight: divided(pos_weight_slope(xp, self, target, pos_weight) * g, n),
    target=lambda xp, g, n, self, target, pos_weight: divided(((1 - pos_weight) * xp.log_sigmoid(self) - self) * g, n))
# fmt: on


def divided(x: Operand, n: float) -> Operand:
    """Return x / n; if n is 1, return x itself, so that the graph has no division."""
    return x if n == 1 else x / n


def pos_weight_slope(xp: XP, x: Operand, target: Operand, pos_weight: Operand) -> Operand:
    weighted = pos_weight * target
    return (weighted + 1 - target) * xp.sigmoid(x) - weighted


@public(forms="n")
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-(t log x + (1 - t) log(1 - x)), each log clamped to at least -100
    (torch.nn.functional.binary_cross_entropy).
    """
    reduction = reduction_named(reduction, size_average, reduce)
    check_has_size(target, input)
    if tuple(target.shape) != tuple(input.shape):
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    check_same_dtype(input, target)
    if weight is not None:
        check_broadcasts(weight.shape, input.shape)
    for name, tensor in (("input", input), ("target", target)):
        x = tensor.array
        if input.is_floating_point() and x.size and not bool(((x >= 0) & (x <= 1)).all()):
            raise RuntimeError(f"all elements of {name} should be between 0 and 1")
    return bce(input, target, weight, reduction)


@public(forms="n")
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Binary cross entropy of sigmoid(input) without overflow.

    `pos_weight` weights the positive class (torch.nn.functional.binary_cross_entropy_with_logits).
    """
    reduction = reduction_named(reduction, size_average, reduce)
    check_has_size(target, input)
    if tuple(target.shape) != tuple(input.shape):
        raise ValueError(
            f"Target size ({target.shape}) must be the same as input size ({input.shape})"
        )
    need_float(input, "log_sigmoid_cpu")
    check_castable(target, input)
    for first, second in ((pos_weight, target), (input, weight)):
        if first is not None and second is not None:
            broadcast(tuple(first.shape), tuple(second.shape))
    if pos_weight is None:
        return bce_logits(input, target, weight, reduction)
    return bce_pos_weight(input, target, pos_weight, weight, reduction)
