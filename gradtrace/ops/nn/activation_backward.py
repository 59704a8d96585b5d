"""Backward operators of the activations, which PyTorch shows as one node each in the graph of a
gradient.

The second derivative of a piecewise linear function is 0. The others follow PyTorch's formulas
(derivatives.yaml, https://github.com/pytorch/pytorch/blob/v2.13.0/tools/autograd/derivatives.yaml),
or differentiate the steps of the first derivative (`fused`).
"""

from __future__ import annotations

import math

from gradtrace.annotations import Any, Callable
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.types import XP, Array, Operand
from gradtrace.engine.operators.namespace import ARRAY, SCALAR
from gradtrace.engine.operators.op import ZERO_GRAD, d, elementwise_op
from gradtrace.engine.operators.rounding import in_float64
from gradtrace.engine.operators.select import select as either
from gradtrace.engine.operators.select import where_kept
from gradtrace.ops import scalars
from gradtrace.ops.fused import fused

ROOT_HALF = math.sqrt(0.5)
ROOT_TWO_PI = math.sqrt(2 * math.pi)
# hardsigmoid's slope: 1/6 rounded to float32 as in PyTorch, also for float64
SIXTH = 0.1666666716337204
# The tanh form of gelu (Hendrycks and Gimpel, https://arxiv.org/abs/1606.08415): tanh(KAPPA (x +
# CUBIC x^3)).
KAPPA = math.sqrt(2 / math.pi)
CUBIC = 0.044715

exponential = in_float64("exp")


def select(xp: XP, condition: Operand, a: Operand, g: Operand) -> Operand:
    """Return `a` where the condition holds, else 0."""
    return xp.where(condition, a, xp.zeros_like(g))


def masked(
    name: str,
    numbers: str,
    kernel: Callable[..., Any],
    formula: str,
    scalar: Callable[..., float] | None = None,
    node: str | None = None,
) -> None:
    """Return a record "NAME_backward(g, self; numbers)" that is linear in g and has no gradient for
    its input.
    """
    backward = f"{name}_backward"
    elementwise_op(f"{backward}(g, self; {numbers})", lambda g, x, *more: kernel(g, x, *more).astype(g.dtype), formula,
        scalar=scalar, node=node, self=ZERO_GRAD, g=f"{backward}(grad, self, {numbers})")  # fmt: skip


# fmt: off
masked("leaky_relu", "slope", lambda g, x, slope: either(x > 0, g, g * slope), "where(self > 0, g, slope * g)",
    lambda g, x, slope: g if x > 0 else g * slope)
masked("rrelu_middle", "slope", lambda g, x, slope: either(x > 0, g, g * slope), "where(self > 0, g, slope * g)",
    node="RreluWithNoiseBackwardBackward0")
masked("hardtanh", "low, high", lambda g, x, low, high: where_kept(~((x <= low) | (x >= high)), g),
    "where((low < self) & (self < high), g, 0)")
masked("threshold", "threshold", lambda g, x, threshold: where_kept(~(x <= threshold), g),
    "where(self > threshold, g, 0)")
masked("hardshrink", "lambd", lambda g, x, lambd: where_kept(~((x >= -lambd) & (x <= lambd)), g),
    "where(abs(self) > lambd, g, 0)")
masked("softshrink", "lambd", lambda g, x, lambd: where_kept(~((x >= -lambd) & (x <= lambd)), g),
    "where(abs(self) > lambd, g, 0)")
hardsigmoid = elementwise_op("hardsigmoid_backward(g, self)",
    lambda g, x: np.where((x > -3) & (x < 3), g * SIXTH, 0).astype(g.dtype), "where(abs(self) < 3, g / 6, 0)",
    undefined=True)
# fmt: on


# ---- functions with a nonzero second derivative


def elu_slope(xp: XP, x: Operand, input_scale: float, factor: float) -> Operand:
    # Only the negative part is exponentiated: exp of the positive part may overflow.
    return xp.exp(xp.where(x < 0, x, xp.zeros_like(x)) * input_scale) * factor


def gelu_grad(xp: XP, g: Operand, x: Operand, approximate: str) -> Operand:
    if approximate != "tanh":
        return g * (0.5 * (1 + xp.erf(x * ROOT_HALF)) + x * xp.exp(x * x * -0.5) / ROOT_TWO_PI)
    t = xp.tanh(KAPPA * (x + CUBIC * x * x * x))
    return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * KAPPA * (1 + 3 * CUBIC * x * x))


def hardswish_grad(g: Array, x: Array) -> Array:
    return np.where(x <= -3, 0, np.where(x < 3, g * (x / 3 + 0.5), g)).astype(g.dtype)


def softplus_grad(g: Array, x: Array, beta: float, threshold: float) -> Array:
    scaled = x * beta
    z = exponential(np.minimum(scaled, threshold))
    return either(scaled > threshold, g, g * z / (z + 1)).astype(g.dtype)


def softplus_curve(xp: XP, g: Operand, x: Operand, beta: float, threshold: float) -> Operand:
    s = xp.sigmoid(x * beta)
    # nan stays nan
    return xp.where(x * beta >= threshold, xp.zeros_like(g), xp.sigmoid_backward(g, s) * beta)


def log_sigmoid_grad(g: Array, x: Array) -> Array:
    z = exponential(-np.abs(x))
    share = z / (1 + z)
    return either(x < 0, 1 - share, share) * g


def log_sigmoid_curve(xp: XP, g: Operand, x: Operand) -> Operand:
    z = xp.sigmoid(x)
    return g * (z - 1) * z


# fmt: off
elementwise_op("elu_backward(g, self; alpha, scale, input_scale)",
    lambda g, x, a, s, i: either(x <= 0, g * i * (a * s) * exponential(np.minimum(x, 0) * i), g * s).astype(g.dtype),
    "g * scale * where(self > 0, 1, alpha * input_scale * exp(input_scale * self))", scalar=scalars.elu_backward,
    g="elu_backward(grad, self, alpha, scale, input_scale)",
    self=d("g self", lambda xp, gg, out, g, self, a, s, i:
        select(xp, self < 0, gg * g * elu_slope(xp, self, i, a * s * i * i), gg)))
elementwise_op("hardswish_backward(g, self)", hardswish_grad,
    "g * where(self <= -3, 0, where(self < 3, self / 3 + 1 / 2, 1))", g="hardswish_backward(grad, self)",
    self=d("g self", lambda xp, gg, out, g, self: select(xp, xp.logical_and(self > -3, self < 3), gg * g / 3, gg)))
elementwise_op("softplus_backward(g, self; beta, threshold)", softplus_grad,
    "where(beta * self > threshold, g, g / (1 + exp(-beta * self)))",
    scalar=lambda g, x, beta, threshold: g if x * beta > threshold else g * scalars.sigmoid(x * beta),
    g="softplus_backward(grad, self, beta, threshold)",
    self=d("g self", lambda xp, gg, out, g, self, *more: softplus_curve(xp, gg * g, self, *more)))
elementwise_op("log_sigmoid_backward(g, self)", log_sigmoid_grad, "g / (1 + exp(self))",
    scalar=lambda g, x: g * scalars.sigmoid(-x), g="log_sigmoid_backward(grad, self)",
    self=d("g self", lambda xp, gg, out, g, self: log_sigmoid_curve(xp, gg * g, self)))
fused("gelu_backward(g, self; approximate)", gelu_grad, kind="elementwise",
    formula="g * ((1 + erf(self / sqrt(2))) / 2 + self * exp(-(self**2) / 2) / sqrt(2 * pi)) if approximate == 'none' "
        "else g / 2 * (1 + tanh(z) + self * (1 - tanh(z)**2) * sqrt(2 / pi) * (1 + 0.134145 * self**2)); "
        "z = sqrt(2 / pi) * (self + 0.044715 * self**3)",
    scalar=lambda g, x, approximate: gelu_grad(SCALAR, g, x, approximate))
# fmt: on


# ---- functions of several operands


def glu_grad(xp: XP, g: Operand, x: Operand, dim: int) -> Operand:
    n = x.shape[dim] // 2
    a = xp.slice(x, dim, 0, n, 1)
    b = xp.slice(x, dim, n, 2 * n, 1)
    s = xp.sigmoid(b)
    return xp.cat((g * s, g * (a * s * (1 - s))), dim)


def prelu_input_grad(xp: XP, g: Operand, x: Operand, weight: Operand) -> Operand:
    return xp.where(x > 0, g, g * weight)


def prelu_weight_grad(xp: XP, g: Operand, x: Operand, weight: Operand) -> Operand:
    return xp.where(x > 0, xp.zeros_like(g), g * x)


def below_zero(xp: XP, x: Operand, a: Operand) -> Operand:
    return xp.where(x >= 0, xp.zeros_like(a), a)


# fmt: off
fused("glu_backward(g, self; dim)", glu_grad, kind="structural",
    formula="cat((g * s, g * a * s * (1 - s)), dim); s = 1 / (1 + exp(-b)); (a, b) = chunk(self, 2, dim)")
# PyTorch's operator has two results. At 0 its first derivative is that of the negative side, its
# second one 0.
elementwise_op("prelu_input_backward(g, self, weight)", lambda g, x, weight: prelu_input_grad(ARRAY, g, x, weight),
    "where(self > 0, g, weight * g)", node="PreluKernelBackwardBackward0",
    g=d("self weight", lambda xp, gg, out, g, self, weight: xp.where(self >= 0, gg, gg * weight)), self=ZERO_GRAD,
    weight=d("g self", lambda xp, gg, out, g, self, weight: below_zero(xp, self, gg * g)))
elementwise_op("prelu_weight_backward(g, self, weight)", lambda g, x, weight: prelu_weight_grad(ARRAY, g, x, weight),
    "where(self > 0, 0, self * g)", node="PreluKernelBackwardBackward0",
    g=d("self", lambda xp, gg, out, g, self, weight: below_zero(xp, self, gg * self)),
    self=d("g self", lambda xp, gg, out, g, self, weight: below_zero(xp, self, gg * g)), weight=ZERO_GRAD)
elementwise_op("rrelu_backward(g, self; slopes)", lambda g, x, slopes: g * slopes, "slopes * g",
    node="RreluWithNoiseBackwardBackward0", g="rrelu_backward(grad, self, slopes)", self=ZERO_GRAD)
# fmt: on
