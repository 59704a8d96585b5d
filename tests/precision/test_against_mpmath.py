"""The estimated number of correct digits is that of mpmath, within one, for values and gradients."""

import json
import math
import random

import numpy as np
import pytest

from tests.precision.random_expressions import correct_digits, exact, expression, number

MOST = 53 * math.log10(2)
TOGETHER = 50
needs_wide = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant <= 52, reason="long double is not wider than float64"
)


def program(seed):
    """Return a program of random expressions, each of a variable of its own, and a triple for each of them."""
    draw = random.Random(seed)
    lines, parts = [], []
    while len(parts) < TOGETHER:
        name, x = f"x{len(parts)}", number(draw)
        text = expression(draw, name, draw.randint(2, 4))
        try:
            value, slope = exact(text, name, x)
        except (ValueError, ZeroDivisionError, OverflowError, TypeError):
            continue
        if name in text and value and 1e-290 < abs(value) < 1e290 and 1e-290 < abs(slope) < 1e290:
            lines += [f"{name}: leaf = {x!r}", f"y{len(parts)} = {text}"]
            parts.append((text, value, slope))
    total = " + ".join(f"y{i}" for i in range(TOGETHER))
    return "\n".join([*lines, total]) + "\n", parts


@needs_wide
@pytest.mark.parametrize("programs", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_estimated_digits_are_within_one_of_the_truth(answer, here, programs):
    right = count = 0
    wrong = []
    for seed in range(programs):
        text, parts = program(seed)
        (here / "many.expr").write_text(text)
        document = json.loads(
            answer("eval", "./many.expr", "--precision", "--format", "json", "--all")
        )
        found = {t["name"]: t for t in document["tensors"] if t["name"]}
        for i, (source, value, slope) in enumerate(parts):
            x, y = found[f"x{i}"], found[f"y{i}"]
            for got, truth, estimate in (
                (y["value"], value, y["digits"]),
                (x["grad"], slope, x["grad_digits"]),
            ):
                if estimate is None:
                    continue
                count += 1
                truly = correct_digits(float(got), truth, MOST)
                if abs(estimate - truly) <= 1:
                    right += 1
                else:
                    wrong.append((source, estimate, truly))
    assert count >= 95 * programs
    assert right >= 0.95 * count, f"{count - right} of {count}: {wrong[:20]}"
