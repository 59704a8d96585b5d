"""Small steps, one for each feature of PyTorch that a recorder may disturb."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.torch.models.case import Case

FEATURES: dict[str, Callable[[], Case]] = {}


def feature(function: Callable[[], Case]) -> Callable[[], Case]:
    FEATURES[function.__name__.replace("_", " ")] = function
    return function


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))


def batch() -> torch.Tensor:
    return torch.randn(8, 16, generator=torch.Generator().manual_seed(1))


def backward(model: nn.Module, loss_of: Callable[[], torch.Tensor]) -> Case:
    """A step that is a loss and its backward pass, without an optimizer."""

    def step() -> torch.Tensor:
        loss = loss_of()
        loss.backward()
        return loss.detach()

    return Case([model], [], step)


@feature
def plain() -> Case:
    model = network()
    return backward(model, lambda: model(batch()).pow(2).mean())


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 2 * x * gradient


@feature
def custom_function() -> Case:
    model = network()
    return backward(model, lambda: Square.apply(model(batch())).mean())


@feature
def checkpointing() -> Case:
    model = network().insert(1, nn.Dropout(0.3))
    return backward(model, lambda: checkpoint(model, batch(), use_reentrant=False).mean())


@feature
def reentrant_checkpointing() -> Case:
    model, x = network().insert(1, nn.Dropout(0.3)), batch().requires_grad_()
    return backward(model, lambda: checkpoint(model, x, use_reentrant=True).mean())


@feature
def autocast() -> Case:
    model = network()

    def loss_of() -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            out = model(batch())
        return out.float().mean()

    return backward(model, loss_of)


@feature
def compiled() -> Case:
    model = network()
    fast = torch.compile(model, backend="aot_eager")
    return backward(model, lambda: fast(batch()).mean())


@feature
def double_backward() -> Case:
    model, x = network(), batch().requires_grad_()

    def loss_of() -> torch.Tensor:
        y = model(x).tanh().sum()
        (gradient,) = torch.autograd.grad(y, x, create_graph=True)
        return gradient.pow(2).sum()

    return backward(model, loss_of)


@feature
def functional_transforms() -> Case:
    """The inside of vmap and grad cannot be recorded; it must work all the same."""
    model = network()
    parameters = dict(model.named_parameters())

    def loss_of() -> torch.Tensor:
        def loss(parameters: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
            return torch.func.functional_call(model, parameters, (x[None],)).pow(2).sum()

        each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(parameters, batch())
        return model(batch()).mean() + sum(g.detach().mean() for g in each.values())

    return backward(model, loss_of)


@feature
def hooks() -> Case:
    model = network()
    model[0].weight.register_hook(lambda gradient: gradient * 2)
    model[1].register_forward_hook(lambda module, inputs, output: output + 1)
    model[2].register_full_backward_hook(lambda module, given, received: None)
    return backward(model, lambda: model(batch()).mean())


@feature
def recurrent() -> Case:
    torch.manual_seed(0)
    model = nn.LSTM(16, 8, 2, batch_first=True)
    return backward(model, lambda: model(batch()[None])[0].mean())


@feature
def in_place_on_views() -> Case:
    model = network()

    def loss_of() -> torch.Tensor:
        h = model(batch()).clone()
        h[:, 0] = 1
        h[:, 1:3].mul_(2)
        return h.relu_().sum()

    return backward(model, loss_of)


@feature
def two_passes_over_one_graph() -> Case:
    model = network()

    def step() -> torch.Tensor:
        loss = model(batch()).mean()
        loss.backward(retain_graph=True)
        loss.backward()
        return loss.detach()

    return Case([model], [], step)


@feature
def evaluation() -> Case:
    model = network()

    def step() -> torch.Tensor:
        with torch.no_grad():
            first = model(batch())
        with torch.inference_mode():
            second = model(batch())
        return first + second.clone()

    return Case([model], [], step)


@feature
def distributed() -> Case:
    """DistributedDataParallel with gloo and one process."""
    if not torch.distributed.is_initialized():
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free.getsockname()[1]))
        torch.distributed.init_process_group("gloo", rank=0, world_size=1)
    model = network()
    wrapped = nn.parallel.DistributedDataParallel(model)
    return backward(model, lambda: wrapped(batch()).mean())


@feature
def clipping() -> Case:
    model = network()

    def step() -> torch.Tensor:
        loss = model(batch()).mean().mul(1024.0)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        return loss.detach()

    return Case([model], [], step)


@feature
def fused_inference() -> Case:
    """An encoder layer in eval mode, which has a fused path of its own."""
    torch.manual_seed(0)
    model = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()

    def step() -> torch.Tensor:
        with torch.no_grad():
            return model(batch()[None])

    return Case([model], [], step)


@feature
def sparse_gradients() -> Case:
    torch.manual_seed(0)
    model = nn.Embedding(10, 4, sparse=True)
    return backward(model, lambda: model(torch.tensor([1, 2, 2])).sum())


@feature
def data_loader() -> Case:
    model = network()
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(batch()), batch_size=4, shuffle=True
    )

    def step() -> torch.Tensor:
        total = torch.zeros(())
        for (x,) in loader:
            loss = model(x).mean()
            loss.backward()
            total += loss.detach()
        return total

    return Case([model], [], step)


@feature
def complex_numbers() -> Case:
    model = network()
    return backward(model, lambda: torch.fft.fft(model(batch())).abs().mean())
