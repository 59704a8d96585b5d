"""Only products of matrices run the threads of BLAS, which spin and so slow each other and every other process.

The file is also the program that the test runs in a process of its own, with the machine's default number of threads:
it prints the calls during which the kernel ran a thread other than the main one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

CONTROL = "numpy's own dot product"
SIDE = (
    300  # of a square array of 90,000 elements: OpenBLAS divides a dot product of more than 10,000
)
ELEMENT_BY_ELEMENT = {
    "elementwise",
    "loss",
    "normalization",
    "reduction",
    "scan",
    "structural",
}  # kinds of operators
COMPOSITES = {
    "cosine_similarity",
    "dist",
    "norm",
    "pairwise_distance",
    "vector_norm",
}  # written with operators


def times_run_by_other_threads() -> int:
    """Return how often the kernel ran the threads of this process other than the one that asks."""
    main = str(threading.get_native_id())
    paths = [
        Path("/proc/self/task", thread, "schedstat")
        for thread in os.listdir("/proc/self/task")
        if thread != main
    ]
    return sum(int(path.read_text().split()[2]) for path in paths)


def runs_threads(call: Callable[[], object]) -> bool:
    before = times_run_by_other_threads()
    call()
    time.sleep(0.002)  # a thread that was woken on a busy machine starts a little later
    changed = times_run_by_other_threads() != before
    if changed:
        time.sleep(0.3)  # until its threads sleep again
    return changed


def operators() -> Iterator[tuple[str, Callable[..., object]]]:
    """Yield the public functions that work element by element, by module and name."""
    import gradtrace as torch
    from gradtrace.engine.operators.op import records

    for module in (torch, torch.nn.functional, torch.special, torch.linalg):
        for name in sorted(dir(module)):
            function = getattr(module, name)
            if name in COMPOSITES or (name in records and records[name].kind in ELEMENT_BY_ELEMENT):
                yield f"{module.__name__}.{name}", function


def forward_and_backward(function: Callable[..., object], operands: int) -> bool:
    """Call a function on large tensors that require grad, and backward; return whether it takes such operands."""
    import gradtrace as torch

    tensors = [
        torch.rand(SIDE, SIDE, dtype=torch.float64, requires_grad=True) for _ in range(operands)
    ]
    try:
        result = function(*tensors)
        if isinstance(result, torch.Tensor) and result.requires_grad:
            result.sum().backward()
    except Exception:
        return False
    return True


def main() -> None:
    import numpy as np

    import gradtrace as torch

    parameter = torch.rand(SIDE, SIDE, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([parameter])

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = ((parameter - 1) ** 2).sum()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([parameter], 1.0)
        return loss

    vector = torch.rand(SIDE * SIDE, dtype=torch.float64)
    calls: dict[str, Callable[[], object]] = {
        "a dot product": lambda: vector.dot(vector),
        "LBFGS and clip_grad_norm_": lambda: optimizer.step(closure),
        "statistics of a record": lambda: torch.stats(((parameter.sin() * 2) ** 2).sum()),
    }
    for name, function in operators():
        for operands in (1, 2):
            if forward_and_backward(function, operands):
                calls[f"{name} of {operands}"] = partial(forward_and_backward, function, operands)
    print(len(calls))
    for name, call in calls.items():
        if runs_threads(call):
            print(name)
    large = np.ones(1_000_000)
    if runs_threads(lambda: np.dot(large, large)):
        print(CONTROL)


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="needs Linux")
def test_no_operator_but_a_product_of_matrices_runs_threads_of_blas() -> None:
    limits = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {name: value for name, value in os.environ.items() if name not in limits}
    done = subprocess.run(
        [sys.executable, __file__], capture_output=True, text=True, env=environment, check=True
    )
    calls, *names = done.stdout.splitlines()
    if CONTROL not in names:
        pytest.skip("numpy's BLAS has no threads here")
    assert int(calls) > 150
    assert names == [CONTROL]


if __name__ == "__main__":
    main()
