"""Value and five gradients of Black-Scholes calls for N rows; prints the seconds (the median of some runs after one),
peak bytes above the import's and the inputs', and a checksum.

    python black_scholes.py PEER N [THREADS]

`gradtrace` is what `gradtrace map` runs. `numpy` is the five derivatives written out by hand; numpy has no erf, so it
and HIPS autograd take gradtrace's.
"""

from __future__ import annotations

import json
import math
import resource
import statistics
import sys
import time
from typing import Any

import numpy as np

ROOT_TWO = math.sqrt(2.0)
NAMES = ("S", "K", "T", "sigma", "r")
RANGES = {"S": (80, 120), "K": (80, 120), "T": (0.1, 2), "sigma": (0.1, 0.5), "r": (0, 0.05)}


def price(m: Any, erf: Any, S: Any, K: Any, T: Any, sigma: Any, r: Any) -> Any:
    def cdf(z: Any) -> Any:
        return 0.5 * (1 + erf(z / ROOT_TWO))

    d1 = (m.log(S / K) + (r + sigma**2 / 2) * T) / (sigma * m.sqrt(T))
    d2 = d1 - sigma * m.sqrt(T)
    return S * cdf(d1) - K * m.exp(-r * T) * cdf(d2)


def gradtrace(columns: dict[str, Any], threads: int) -> Any:
    import gradtrace as gt
    from gradtrace import static
    from gradtrace.batch.mapper import RowMap

    example = {name: float(column[0]) for name, column in columns.items()}
    plan = static.optimise(static.trace(lambda **x: price(gt, gt.erf, **x), example))
    mapped, rows = RowMap(plan), len(columns["S"])
    return lambda: list(mapped(columns, rows, threads).values())


def torch(columns: dict[str, Any], threads: int) -> Any:
    import torch

    torch.set_num_threads(threads)

    def run() -> Any:
        leaves = [torch.from_numpy(columns[name]).requires_grad_() for name in NAMES]
        y = price(torch, torch.erf, *leaves)
        return [y.detach(), *torch.autograd.grad(y, leaves, torch.ones_like(y))]

    return run


def autograd(columns: dict[str, Any], threads: int) -> Any:
    import autograd.numpy as anp
    from autograd import make_vjp
    from autograd.extend import defvjp, primitive

    from gradtrace.ops.special import erf_kernels

    erf = primitive(erf_kernels.erf)
    defvjp(erf, lambda out, x: lambda g: g * (2 / math.sqrt(math.pi) * anp.exp(-x * x)))

    def run() -> Any:
        vjp, y = make_vjp(lambda x: price(anp, erf, *x))(tuple(columns[name] for name in NAMES))
        return [y, *vjp(np.ones_like(y))]

    return run


def numpy(columns: dict[str, Any], threads: int) -> Any:
    from gradtrace.ops.special.erf_kernels import erf

    def run() -> Any:
        S, K, T, sigma, r = (columns[name] for name in NAMES)
        root = np.sqrt(T)
        spread = sigma * root
        d1 = (np.log(S / K) + (r + sigma * sigma / 2) * T) / spread
        d2 = d1 - spread
        first, second = 0.5 * (1 + erf(d1 / ROOT_TWO)), 0.5 * (1 + erf(d2 / ROOT_TWO))
        discounted = K * np.exp(-r * T)
        density = S * np.exp(d1 * d1 * -0.5) / math.sqrt(2 * math.pi)
        return [
            S * first - discounted * second,
            first,
            -discounted / K * second,
            density * sigma / (2 * root) + r * discounted * second,
            density * root,
            discounted * T * second,
        ]

    return run


def peak() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def main() -> None:
    peer, n = sys.argv[1], int(float(sys.argv[2]))
    rng = np.random.default_rng(0)
    columns = {name: rng.uniform(low, high, n) for name, (low, high) in RANGES.items()}
    run = globals()[peer](columns, int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    before = peak()
    times = []
    for _ in range(6 if n < 5_000_000 else 3):
        start = time.perf_counter()
        out = run()
        times.append(time.perf_counter() - start)
        total = sum(float(a.sum()) for a in out)
        del out
    print(
        json.dumps(
            {"seconds": statistics.median(times[1:]), "bytes": peak() - before, "check": total}
        )
    )


main()
