"""Kernels of Python floats that the math module lacks.

A kernel may raise an error where IEEE gives inf or nan; the engine then repeats the operation on a
0-d array.
"""

from __future__ import annotations

import math


def sign(x: float) -> float:
    return float(x > 0) - float(x < 0)


def sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


def rsqrt(x: float) -> float:
    return 1.0 / math.sqrt(x)


def reciprocal(x: float) -> float:
    return 1.0 / x


def square(x: float) -> float:
    return x * x


def floor(x: float) -> float:
    return x if x == 0 else float(math.floor(x))


def ceil(x: float) -> float:
    # int would lose the sign of -0.0, which -0.5 rounds up to.
    return math.copysign(math.ceil(x), x)


def trunc(x: float) -> float:
    return math.copysign(math.trunc(x), x)


def round_half_even(x: float) -> float:
    return math.copysign(round(x), x)


def relu(x: float) -> float:
    # max(x, 0.0) would not pass nan and -0.0.
    return 0.0 if x < 0 else x


def maximum(a: float, b: float) -> float:
    return float(b if b > a or b != b else a)


def minimum(a: float, b: float) -> float:
    return float(b if b < a or b != b else a)


def where(condition: bool, a: float, b: float) -> float:
    return a if condition else b


def power(a: float, b: float) -> float:
    # math.pow raises for a negative base with a fractional exponent; ** would return a complex
    # number.
    return math.pow(a, b)


def power_of(a: float, exponent: float) -> float:
    # PyTorch multiplies, divides and takes roots here, from which C's pow differs in the last bit
    # and at -0.0 and -inf.
    if exponent in (0.5, -0.5):
        if a <= 0:
            raise ValueError
        return math.sqrt(a) if exponent > 0 else 1 / math.sqrt(a)
    if exponent == 2:
        return a * a
    if exponent == 3:
        return a * a * a
    if exponent == -2:
        return 1 / (a * a)
    return math.pow(a, exponent)


def remainder(a: float, b: float) -> float:
    r = math.fmod(a, b)  # a zero keeps the sign of a; Python's % would give it the sign of b
    return r + b if r and (r < 0) != (b < 0) else r


def div_mode(a: float, b: float, mode: str) -> float:
    if not (math.isfinite(a) and math.isfinite(b)):
        raise ValueError
    return a // b if mode == "floor" else trunc(a / b)


def clamp(x: float, low: float | None, high: float | None) -> float:
    if x != x:
        return x
    if low is not None and x < low:
        x = float(low)
    if high is not None and x > high:
        x = float(high)
    return x


def logaddexp(a: float, b: float) -> float:
    high, low = (a, b) if a >= b else (b, a)
    return high + math.log1p(math.exp(low - high))


def silu(x: float) -> float:
    return x / (1.0 + math.exp(-x))


def softplus(x: float, beta: float, threshold: float) -> float:
    return x if x * beta > threshold else math.log1p(math.exp(x * beta)) / beta


def log_sigmoid(x: float) -> float:
    return min(x, 0.0) - math.log1p(math.exp(-abs(x)))


def elu(x: float, alpha: float, scale: float, input_scale: float) -> float:
    return math.expm1(x * input_scale) * (alpha * scale) if x < 0 else x * scale


def elu_backward(g: float, x: float, alpha: float, scale: float, input_scale: float) -> float:
    return g * input_scale * (alpha * scale) * math.exp(x * input_scale) if x <= 0 else g * scale


def leaky_relu(x: float, slope: float) -> float:
    return x if x > 0 else x * slope
