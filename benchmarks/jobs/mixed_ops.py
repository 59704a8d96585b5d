"""Forward and backward through a chain of 10 mixed operations, repeated; prints the seconds of one operation.

    python mixed_ops.py PEER ELEMENTS OPERATIONS        ELEMENTS 0: a float64 scalar

The same program for every peer: mul, add, sin, sub, tanh, mul, neg, exp, div by a number, add a number; two leaves.
"""

from __future__ import annotations

import gc
import json
import math
import sys
import time
from collections.abc import Callable
from typing import Any

SECONDS = 0.5  # the best run within that time counts


def cycle(sin: Any, tanh: Any, exp: Any, a: Any, w: Any, b: Any) -> Any:
    a = a * w
    a = a + b
    a = sin(a)
    a = a - w
    a = tanh(a)
    a = a * b
    a = -a
    a = exp(a)
    a = a / 2.5
    return a + 0.125


def tensors(module: Any, elements: int, cycles: int) -> Callable[[], Any]:
    """The program in PyTorch's interface, for gradtrace and for torch."""
    shape = (elements,) if elements else ()
    w = module.full(shape, 0.7, dtype=module.float64, requires_grad=True)
    b = module.full(shape, 1.3, dtype=module.float64, requires_grad=True)
    x = module.full(shape, 0.5, dtype=module.float64)

    def run() -> Any:
        w.grad = b.grad = None
        a = x
        for _ in range(cycles):
            a = cycle(module.sin, module.tanh, module.exp, a, w, b)
        (a.sum() if elements else a).backward()
        return w.grad

    return run


def hips(elements: int, cycles: int) -> Callable[[], Any]:
    import autograd.numpy as anp
    from autograd import grad

    def loss(w: Any, b: Any) -> Any:
        a = anp.full((elements,), 0.5) if elements else 0.5
        for _ in range(cycles):
            a = cycle(anp.sin, anp.tanh, anp.exp, a, w, b)
        return anp.sum(a) if elements else a

    start = (anp.full((elements,), 0.7), anp.full((elements,), 1.3)) if elements else (0.7, 1.3)
    return lambda: grad(loss, (0, 1))(*start)[0]


def by_hand(sin: Any, cos: Any, tanh: Any, exp: Any, w: Any, b: Any, x: Any, cycles: int) -> Callable[[], Any]:
    """The derivative as one would write it out, with nothing recorded but the values it needs."""

    def run() -> Any:
        a, kept = x, []
        for _ in range(cycles):
            a0 = a
            a2 = a * w + b
            a5 = tanh(sin(a2) - w)
            a8 = exp(-(a5 * b))
            a = a8 / 2.5 + 0.125
            kept.append((a0, a2, a5, a8))
        g, gw, gb = x * 0 + 1.0, x * 0, x * 0
        for a0, a2, a5, a8 in reversed(kept):
            g = -(g / 2.5 * a8)
            gb = gb + g * a5
            g = g * b * (1 - a5 * a5)
            gw = gw - g
            g = g * cos(a2)
            gb = gb + g
            gw = gw + g * a0
            g = g * w
        return gw

    return run


def numpy_by_hand(elements: int, cycles: int) -> Callable[[], Any]:
    import numpy as np

    w, b, x = (np.full((elements,) if elements else (), v) for v in (0.7, 1.3, 0.5))
    return by_hand(np.sin, np.cos, np.tanh, np.exp, w, b, x, cycles)


def program(peer: str, elements: int, cycles: int) -> Callable[[], Any]:
    if peer == "numpy":
        return numpy_by_hand(elements, cycles)
    if peer == "floats":
        return by_hand(math.sin, math.cos, math.tanh, math.exp, 0.7, 1.3, 0.5, cycles)
    if peer == "autograd":
        return hips(elements, cycles)
    module = __import__(peer)
    if peer == "torch":
        module.set_num_threads(1)
    return tensors(module, elements, cycles)


def main() -> None:
    peer, elements, operations = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    run = program(peer, elements, operations // 10)
    result = run()
    total = float(result.sum()) if hasattr(result, "sum") else float(result)
    gc.collect()
    times: list[float] = []
    while len(times) < 3 or sum(times) < SECONDS:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    print(json.dumps({"seconds": min(times) / operations, "check": total}))


main()
