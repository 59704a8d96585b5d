"""Random expressions of one variable, and their values and derivatives by mpmath."""

import math
import random

import mpmath

FUNCTIONS = ("sqrt", "exp", "log", "sin", "cos", "tanh", "log1p", "expm1", "atan", "sinh")
SIGNS = ("+", "-", "*", "/")
NUMBERS = ("1", "2", "3.5", "0.1", "1e-3", "1e5")
CALLS = {name: getattr(mpmath, name) for name in FUNCTIONS}
DIGITS = 120


def expression(draw: random.Random, name: str, depth: int) -> str:
    """Return the text of an expression; roots and logarithms are of positive numbers where that is easy."""
    if depth == 0:
        return name if draw.random() < 0.75 else draw.choice(NUMBERS)
    kind = draw.random()
    if kind < 0.45:
        inner = expression(draw, name, depth - 1)
        function = draw.choice(FUNCTIONS)
        return (
            f"{function}(abs({inner}))"
            if function in ("sqrt", "log", "log1p")
            else f"{function}({inner})"
        )
    left, right = (
        expression(draw, name, depth - 1 - (draw.random() < 0.3 and depth > 1)) for _ in range(2)
    )
    if kind < 0.55:  # nearly equal operands
        right = f"({left} + {draw.choice(('1e-9', '1e-5', name))})"
        return f"({left} - {right})"
    return f"({left} {draw.choice(SIGNS)} {right})"


def number(draw: random.Random) -> float:
    return draw.choice((1, -1)) * draw.uniform(1, 10) * 10 ** draw.randint(-6, 4)


def exact(text: str, name: str, x: float):
    """Return the exact value and derivative of an expression; its constants are the float64 numbers that it names."""
    code = compile(text, "", "eval")
    eval(
        code, {name: getattr(math, name) for name in FUNCTIONS}, {name: x}
    )  # OverflowError beyond float64
    with mpmath.workdps(DIGITS):

        def f(value):
            return mpmath.mpmathify(
                eval(code, {**CALLS, "abs": abs, "__builtins__": {}}, {name: value})
            )

        value = f(mpmath.mpf(x))
        step = mpmath.mpf(10) ** (-DIGITS // 3) * abs(mpmath.mpf(x))
        slope = (f(x + step) - f(x - step)) / (2 * step)
        return value, slope


def correct_digits(got: float, truth, most: float) -> float:
    """Return how many decimal digits of a number are right, between 0 and `most`."""
    with mpmath.workdps(DIGITS):
        if not mpmath.isfinite(got):
            return 0.0
        error = abs(mpmath.mpf(got) - truth)
        if not error:
            return most
        return 0.0 if not truth else float(min(max(-mpmath.log10(error / abs(truth)), 0), most))
