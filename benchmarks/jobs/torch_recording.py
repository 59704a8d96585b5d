"""A training step of PyTorch, recorded, over the same step alone; prints the ratio of CPU times, and peak bytes.

    python torch_recording.py PEER WAY MODEL        WAY of gradtrace: structure, summary, compare, values or guard
    python torch_recording.py PEER each MODEL       additional seconds for each autograd function instead of the ratio

PEER is gradtrace, torch (the step alone, twice, which shows the noise), anomaly, debug (torch's DebugMode), torchlens
or torchviz. The plain step and the recorded one take turns in one process on one thread, with the garbage collector off
while a step runs. The bytes are above those of a small model that was recorded in the same way.
"""

from __future__ import annotations

import gc
import itertools
import json
import resource
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

SECONDS = 4.0  # for the pairs of steps ...
PAIRS = (5, 200)  # ... of which there are at least and at most so many
Step = Callable[[], Any]


class Training(NamedTuple):
    model: nn.Module
    inputs: torch.Tensor
    loss: Callable[[torch.Tensor], torch.Tensor]  # of the model's output
    step: Step


class Residual(nn.Module):
    """Two convolutions around which the input passes."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
        self.down = (
            nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            if inputs != outputs
            else nn.Identity()
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)), inplace=True)))
        return F.relu(out + self.down(x), inplace=True)


def mlp() -> tuple[nn.Module, torch.Tensor]:
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)), torch.randn(32, 64)


def encoder(blocks: int, width: int, heads: int) -> list[nn.Module]:
    return [
        nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, batch_first=True, norm_first=True)
        for _ in range(blocks)
    ]


def layer() -> tuple[nn.Module, torch.Tensor]:
    """One encoder layer of width 64 on 8 sequences of 16: a small step of many functions."""
    return nn.Sequential(*encoder(1, 64, 4), nn.Linear(64, 10)), torch.randn(8, 16, 64)


def resnet() -> tuple[nn.Module, torch.Tensor]:
    """18 convolutions on 10 images of 32 by 32: a step just above 30 ms."""
    widths = [16, 16, 16, 32, 32, 64, 64, 128, 128]
    blocks = [Residual(a, b, 1 if a == b else 2) for a, b in itertools.pairwise(widths)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10)]
    return nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1), *blocks, *head), torch.randn(10, 3, 32, 32)


def transformer() -> tuple[nn.Module, torch.Tensor]:
    """6 blocks of width 256 on 8 sequences of 128 tokens: 4.7 million parameters."""
    model = nn.Sequential(nn.Embedding(1000, 256), *encoder(6, 256, 8), nn.Linear(256, 1000))
    return model, torch.randint(0, 1000, (8, 128))


def training(name: str) -> Training:
    torch.manual_seed(0)
    model, inputs = {"mlp": mlp, "layer": layer, "resnet": resnet, "transformer": transformer}[
        name
    ]()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    with torch.no_grad():
        out = model.eval()(inputs)
    model.train()
    labels = torch.randint(0, out.shape[-1], out.shape[:-1]).flatten()

    def loss_of(out: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(out.flatten(0, -2), labels)

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss = loss_of(model(inputs))
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Training(model, inputs, loss_of, step)


def recorded(peer: str, way: str, made: Training) -> Step:
    """The step as the peer records it."""
    if peer == "gradtrace":
        return by_gradtrace(way, made)
    if peer == "anomaly":
        return under(torch.autograd.detect_anomaly, made.step)
    if peer == "debug":
        from torch.utils._debug_mode import DebugMode

        return under(lambda: DebugMode(record_torchfunction=True, record_nn_module=True), made.step)
    if peer == "torchlens":
        return by_torchlens(made)
    if peer == "torchviz":
        return by_torchviz(made)
    return made.step


def by_gradtrace(way: str, made: Training) -> Step:
    import gradtrace.torch as gt

    if way == "guard":
        return gt.guard(made.step)
    return under(lambda: gt.record(level="structure" if way == "each" else way), made.step)


def by_torchlens(made: Training) -> Step:
    """Forward and backward without the optimizer's step, which it does not see."""
    import torchlens
    from torchlens.options import CaptureOptions

    def run() -> None:
        made.model.zero_grad()
        trace = torchlens.trace(made.model, made.inputs, capture=CaptureOptions(save_grads=True))
        trace.log_backward(made.loss(trace[trace.output_layers[0]].out))
        trace.cleanup()

    return run


def by_torchviz(made: Training) -> Step:
    """The graph as DOT text, without drawing it."""
    from torchviz import make_dot

    def run() -> None:
        made.model.zero_grad()
        loss = made.loss(made.model(made.inputs))
        make_dot(loss, params=dict(made.model.named_parameters()))
        loss.backward()

    return run


def under(context: Callable[[], Any], step: Step) -> Step:
    def run() -> None:
        with context():
            step()

    return run


def cpu_time(step: Step) -> float:
    gc.disable()
    start = time.process_time()
    step()
    seconds = time.process_time() - start
    gc.enable()
    return seconds


def pairs(plain: Step, other: Step) -> Iterator[tuple[float, float]]:
    """CPU times of the two in turns, each time in the other order."""
    least, most = PAIRS
    start = time.perf_counter()
    for turn in range(most):
        if turn >= least and time.perf_counter() - start > SECONDS:
            return
        if turn % 2:
            second = cpu_time(other)
            yield cpu_time(plain), second
        else:
            yield cpu_time(plain), cpu_time(other)


def functions(loss: torch.Tensor) -> int:
    """How many autograd functions the loss's graph has."""
    seen, waiting = set(), [loss.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting += [following for following, _ in node.next_functions]
    return len(seen)


def peak() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def warm_up(peer: str, way: str, made: Training) -> Step:
    """The recorded step, after runs that load what is loaded late."""
    other = recorded(peer, way, made)
    for _ in range(3):
        made.step()
        other()
    return other


def main() -> None:
    peer, way, name = sys.argv[1:4]
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    warm_up(peer, way, training("mlp"))
    before = peak()
    made = training(name)
    other = warm_up(peer, way, made)
    times = list(pairs(made.step, other))
    plain, theirs = (statistics.median(column) for column in zip(*times))
    shortest = [min(column) for column in zip(*times)]
    if way == "each":
        count = functions(made.loss(made.model(made.inputs)))
        figures = {"seconds": (theirs - plain) / count, "best": (shortest[1] - shortest[0]) / count}
    else:
        figures = {
            "seconds": statistics.median(b / a for a, b in times),
            "best": shortest[1] / shortest[0],
        }
    print(json.dumps({**figures, "bytes": peak() - before}))


main()
