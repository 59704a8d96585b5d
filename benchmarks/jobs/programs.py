"""A program run by gradtrace beside the same text run by Python alone; prints the seconds of a pass.

python programs.py PEER PROGRAM PASSES        PEER gradtrace or python

loop         n = n + i for a number n
statement    operator calls on 10 elements, whose cost is that of the engine
scalar       y = y * w + b on float64 scalars, the graph of 100 passes being dropped at once
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable
from typing import Any

PROGRAMS = {
    "loop": "n = 0\nfor i in range({passes}):\n    n = n + i\n",
    "statement": (
        "x = torch.ones(10, dtype=torch.float64, requires_grad=True)\n"
        "for i in range({passes}):\n    y = torch.sin(x)\n    y = y * x\n    y = y.tanh()\n"
    ),
    "scalar": (
        "w = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)\n"
        "b = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)\n"
        "for i in range({passes} // 100):\n    y = w\n    for j in range(100):\n        y = y * w + b\n"
    ),
}


def runner(peer: str, text: str) -> Callable[[], Any]:
    if peer == "gradtrace":
        from gradtrace.program.parse import parse
        from gradtrace.program.run import run as run_program

        program = parse(text)
        return lambda: run_program(program)
    code = compile(text, "<program>", "exec")
    return lambda: exec(code, {})


def main() -> None:
    peer, name, passes = sys.argv[1], sys.argv[2], int(sys.argv[3])
    gc.set_threshold(200_000, 50, 50)  # as the command line does
    lines = "import gradtrace as torch\n" if "torch" in PROGRAMS[name] else ""
    run = runner(peer, lines + PROGRAMS[name].format(passes=passes))
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    print(json.dumps({"seconds": best / passes}))


if __name__ == "__main__":
    main()
