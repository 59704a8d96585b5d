"""Forward and backward through a chain of mixed operations, repeated; prints the seconds of one operation.

    python mixed_ops.py PEER FUNCTION ELEMENTS OPERATIONS        FUNCTION: sin or sqrt; ELEMENTS 0: a float64 scalar

The chain repeats ten operations: mul, add, FUNCTION, sub, tanh, mul, neg, exp, div by a number, add a number. It has
two leaves. Arrays are random, and every peer gets the same ones. Prints the median of the runs and the shortest.
"""

from __future__ import annotations

import gc
import json
import math
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

WARM_UP = 3  # runs that do not count: they load what is loaded late and map the memory in
SECONDS = 0.5  # then run for at least this long ...
RUNS = 7  # ... and at least so many times
Gradients = Callable[[], tuple[Any, Any]]  # runs forward and backward once


def inputs(elements: int) -> list[Any]:
    """The start of the chain and the two leaves. All are positive, so that the square root is defined."""
    if not elements:
        return [0.5, 0.7, 1.3]
    rng = np.random.default_rng(0)
    return [rng.uniform(low, high, elements) for low, high in ((0.0, 1.0), (0.2, 1.2), (0.5, 1.8))]


def cycle(function: Any, tanh: Any, exp: Any, a: Any, w: Any, b: Any) -> Any:
    a = a * w
    a = a + b
    a = function(a)
    a = a - w
    a = tanh(a)
    a = a * b
    a = -a
    a = exp(a)
    a = a / 2.5
    return a + 0.125


def tensors(module: Any, name: str, elements: int, cycles: int) -> Gradients:
    """The program in PyTorch's interface, for gradtrace and for torch."""
    x, w, b = (module.tensor(v, dtype=module.float64) for v in inputs(elements))
    w.requires_grad_()
    b.requires_grad_()
    function = getattr(module, name)

    def run() -> tuple[Any, Any]:
        w.grad = b.grad = None
        a = x
        for _ in range(cycles):
            a = cycle(function, module.tanh, module.exp, a, w, b)
        (a.sum() if elements else a).backward()
        return w.grad, b.grad

    return run


def hips(name: str, elements: int, cycles: int) -> Gradients:
    import autograd.numpy as anp
    from autograd import grad

    function = getattr(anp, name)
    x, *leaves = inputs(elements)

    def loss(w: Any, b: Any) -> Any:
        a = x
        for _ in range(cycles):
            a = cycle(function, anp.tanh, anp.exp, a, w, b)
        return anp.sum(a) if elements else a

    return lambda: grad(loss, (0, 1))(*leaves)


def by_hand(module: Any, name: str, x: Any, w: Any, b: Any, cycles: int) -> Gradients:
    """The derivative written out by hand; it keeps only the values that it needs."""
    tanh, exp, function = module.tanh, module.exp, getattr(module, name)
    cos = module.cos

    def run() -> tuple[Any, Any]:
        a, kept = x, []
        for _ in range(cycles):
            a0 = a
            a2 = a * w + b
            a3 = function(a2)
            a5 = tanh(a3 - w)
            a8 = exp(-(a5 * b))
            a = a8 / 2.5 + 0.125
            kept.append((a0, a2 if name == "sin" else a3, a5, a8))
        g, gw, gb = x * 0 + 1.0, x * 0, x * 0
        for a0, at, a5, a8 in reversed(kept):
            g = -(g / 2.5 * a8)
            gb = gb + g * a5
            g = g * b * (1 - a5 * a5)
            gw = gw - g
            g = g * cos(at) if name == "sin" else g / (2 * at)
            gb = gb + g
            gw = gw + g * a0
            g = g * w
        return gw, gb

    return run


def program(peer: str, name: str, elements: int, cycles: int) -> Gradients:
    if peer in ("numpy", "floats"):
        return by_hand(np if peer == "numpy" else math, name, *inputs(elements), cycles)
    if peer == "autograd":
        return hips(name, elements, cycles)
    module = __import__(peer)
    if peer == "torch":
        module.set_num_threads(1)
    return tensors(module, name, elements, cycles)


def main() -> None:
    peer, name, elements, operations = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    run = program(peer, name, elements, operations // 10)
    check = sum(float(g.sum()) if hasattr(g, "sum") else float(g) for g in run())
    for _ in range(WARM_UP - 1):
        run()
    gc.collect()
    times: list[float] = []
    while len(times) < RUNS or sum(times) < SECONDS:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    found = {"seconds": statistics.median(times), "best": min(times)}
    print(json.dumps({**{key: value / operations for key, value in found.items()}, "check": check}))


main()
