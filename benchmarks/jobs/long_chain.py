"""A chain of N scalar operations forward and backward, once; prints the seconds and peak bytes above the import's.

python long_chain.py PEER N
"""

from __future__ import annotations

import json
import resource
import sys
import time


def peak() -> int:
    """Bytes of memory that this process had at most."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def main() -> None:
    peer, operations = sys.argv[1], int(sys.argv[2])
    module = __import__(peer)
    if peer == "torch":
        module.set_num_threads(1)
    x = module.tensor(0.5, dtype=module.float64, requires_grad=True)
    (x * 2).backward()
    x.grad = None
    before, start = peak(), time.perf_counter()
    y = x
    for _ in range(operations // 4):
        y = y * 0.999
        y = y + x
        y = y.sin()
        y = y * y
    y.backward()
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "bytes": peak() - before, "check": float(x.grad)}))


main()
