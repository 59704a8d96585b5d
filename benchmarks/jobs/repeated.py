"""(x+w)*(w+1) and its two gradients at N points, one after the other; prints the seconds of a run and a checksum.

    python repeated.py PEER N

`gradtrace` is the plan, built once; `eager` gradtrace's engine, which builds the graph in every run.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any


def gradtrace() -> Any:
    from gradtrace import static

    return static.PlanProgram(
        static.optimise(static.trace(lambda x, w: (x + w) * (w + 1), {"x": 2.0, "w": 1.0}))
    )


def by_engine(name: str) -> Any:
    module = __import__(name)
    x = module.tensor(2.0, dtype=module.float64, requires_grad=True)
    w = module.tensor(1.0, dtype=module.float64, requires_grad=True)

    def run(a: float, b: float) -> Any:
        with module.no_grad():
            x.fill_(a)
            w.fill_(b)
        y = (x + w) * (w + 1)
        dx, dw = module.autograd.grad(y, (x, w))
        return y.item(), dx.item(), dw.item()

    return run


def floats() -> Any:
    def run(x: float, w: float) -> Any:
        a, b = x + w, w + 1
        return a * b, b, a + b

    return run


def main() -> None:
    peer, n = sys.argv[1], int(sys.argv[2])
    run = {
        "gradtrace": gradtrace,
        "floats": floats,
        "eager": lambda: by_engine("gradtrace"),
        "torch": lambda: by_engine("torch"),
    }[peer]()
    run(1.0, 1.0)
    total = 0.0
    start = time.perf_counter()
    for i in range(n):
        total += sum(run(i * 0.001, 1.5))
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds / n, "check": total}))


main()
