"""What gradtrace does with a recording of PyTorch, per operation; prints the CPU time in seconds.

    python linear.py WHAT OPERATIONS        WHAT: record, build, save, read, why, stats, trace, graph or all

The recording is a training loop of a small MLP with so many operations in forward that are noted with summaries. What
is linear in the record takes as long for each operation of a long one as of a short one. The graph is the HTML page.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

import gradtrace.torch as gt
from gradtrace.trace.file import read

IN_A_STEP = 8  # operations of the step below, without the optimizer's


def record(operations: int) -> Any:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(16, 8), torch.randn(16, 1)
    with gt.record(level="summary") as run:
        for _ in range(operations // IN_A_STEP):
            optimizer.zero_grad()
            loss = ((model(x) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
    return run


def uses(operations: int, folder: Path) -> dict[str, Callable[[], Any]]:
    """Each use of one recording, in an order in which they can be called."""
    file, made = folder / "run.gt", list[Any]()
    return {
        "record": lambda: made.append(record(operations)),
        "build": lambda: made[0].trace(),
        "save": lambda: made[0].save(file),
        "read": lambda: read(file.name, io.BytesIO(file.read_bytes())).trace("all"),
        "why": lambda: made[0].why(),
        "stats": lambda: made[0].stats(),
        "trace": lambda: made[0].steps(),
        "graph": lambda: made[0].draw(folder / "run.html"),
    }


def timed(what: str, operations: int) -> float:
    """The CPU time of one use, or of all, for each operation."""
    seconds = 0.0
    needed = {"record", "build", "save"} if what == "read" else {"record", "build"}
    with tempfile.TemporaryDirectory() as folder:
        for name, call in uses(operations, Path(folder)).items():
            if what not in (name, "all") and name not in needed:
                continue
            start = time.process_time()
            call()
            if what in (name, "all"):
                seconds += time.process_time() - start
            if what == name:
                break
    return seconds / operations


def main() -> None:
    what, operations = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(1)
    timed(what, 80)  # loads what is loaded late
    print(json.dumps({"seconds": timed(what, operations)}))


main()
