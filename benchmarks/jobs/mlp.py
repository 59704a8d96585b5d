"""N steps of SGD on an MLP 64-128-10 with batches of 32, float32; prints the seconds for them and the last loss.

    python mlp.py PEER N

The layers, the loss and the optimiser are the library's own where it has them; `numpy` is the step written out by
hand. Every peer starts from the same weights and sees the same batches.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

INPUTS, HIDDEN, CLASSES, BATCH, RATE, BATCHES = 64, 128, 10, 32, 0.05, 25
Step = Callable[[int], Any]


def weights() -> list[Any]:
    rng = np.random.default_rng(0)
    shapes = ((HIDDEN, INPUTS), (HIDDEN,), (CLASSES, HIDDEN), (CLASSES,))
    return [(rng.uniform(-1, 1, shape) / shape[-1] ** 0.5).astype(np.float32) for shape in shapes]


def batches() -> list[tuple[Any, Any]]:
    rng = np.random.default_rng(1)
    xs = rng.standard_normal((BATCHES, BATCH, INPUTS)).astype(np.float32)
    return [(x, rng.integers(0, CLASSES, BATCH)) for x in xs]


def modules(torch: Any) -> Step:
    """The step in PyTorch's interface, for gradtrace and for torch."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(INPUTS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, CLASSES))
    with torch.no_grad():
        for parameter, start in zip(model.parameters(), weights(), strict=True):
            parameter.copy_(torch.tensor(start))
    optimiser = torch.optim.SGD(model.parameters(), lr=RATE)
    criterion = nn.CrossEntropyLoss()
    data = [(torch.tensor(x), torch.tensor(y)) for x, y in batches()]

    def step(i: int) -> Any:
        x, y = data[i % BATCHES]
        optimiser.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimiser.step()
        return loss

    return step


def gradtrace() -> Step:
    import gradtrace

    return modules(gradtrace)


def torch() -> Step:
    import torch

    torch.set_num_threads(1)
    return modules(torch)


def autograd() -> Step:
    import autograd.numpy as anp
    from autograd import value_and_grad

    parameters, data, rows = weights(), batches(), np.arange(BATCH)

    def loss(parameters: Any, x: Any, y: Any) -> Any:
        w1, b1, w2, b2 = parameters
        scores = anp.dot(anp.maximum(anp.dot(x, w1.T) + b1, 0), w2.T) + b2
        scores = scores - anp.max(scores, axis=1, keepdims=True)
        return anp.mean(anp.log(anp.sum(anp.exp(scores), axis=1)) - scores[rows, y])

    gradient = value_and_grad(loss)

    def step(i: int) -> Any:
        value, grads = gradient(parameters, *data[i % BATCHES])
        for p, g in zip(parameters, grads, strict=True):
            p -= RATE * g.astype(np.float32)
        return value

    return step


def numpy() -> Step:
    w1, b1, w2, b2 = weights()
    data, rows = batches(), np.arange(BATCH)

    def step(i: int) -> Any:
        x, y = data[i % BATCHES]
        hidden = np.maximum(x @ w1.T + b1, 0)
        scores = hidden @ w2.T + b2
        scores -= scores.max(axis=1, keepdims=True)
        p = np.exp(scores)
        total = p.sum(axis=1, keepdims=True)
        loss = (np.log(total[:, 0]) - scores[rows, y]).mean()
        p /= total
        p[rows, y] -= 1
        p /= np.float32(BATCH)
        back = (p @ w2) * (hidden > 0)
        for parameter, gradient in (
            (w1, back.T @ x),
            (b1, back.sum(0)),
            (w2, p.T @ hidden),
            (b2, p.sum(0)),
        ):
            parameter -= np.float32(RATE) * gradient
        return loss

    return step


def main() -> None:
    peer, steps = sys.argv[1], int(sys.argv[2])
    step = globals()[peer]()
    loss = None
    for i in range(50):  # the first steps load what is loaded late
        loss = step(i)
    start = time.perf_counter()
    for i in range(steps):
        loss = step(i)
    print(json.dumps({"seconds": time.perf_counter() - start, "check": float(loss)}))


main()
