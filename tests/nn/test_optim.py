"""Optimisers in use: training loops, scalar parameters, saved state, speed of a step."""

from __future__ import annotations

import copy

import pytest

import gradtrace as torch
import gradtrace.nn as nn
from gradtrace import optim

KINDS = (
    "SGD",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Adagrad",
    "Adadelta",
    "Rprop",
    "ASGD",
)


def loss_of(p: torch.Tensor) -> torch.Tensor:
    return ((p - torch.tensor([1.0, -2.0], dtype=p.dtype)) ** 2).sum()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_optimiser_goes_downhill(kind: str, dtype: str) -> None:
    p = torch.tensor([3.0, 3.0], dtype=getattr(torch, dtype), requires_grad=True)
    opt = getattr(optim, kind)([p], lr=0.05 if kind != "Adadelta" else 1.0)
    before = loss_of(p).item()
    for _ in range(20):
        opt.zero_grad()
        loss_of(p).backward()
        opt.step()
    assert loss_of(p).item() < before
    assert p.is_leaf
    assert p.dtype is getattr(torch, dtype)


@pytest.mark.parametrize("kind", KINDS)
def test_a_scalar_float64_parameter_stays_a_python_float(kind: str) -> None:
    w = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    opt = getattr(optim, kind)([w])
    for _ in range(2):
        opt.zero_grad()
        ((w - 1) ** 2).backward()
        opt.step()
    assert type(w._data) is float
    assert w.item() < 3.0
    assert w._version >= 2


def test_a_step_is_seen_by_a_graph_that_saved_the_parameter() -> None:
    w = torch.tensor([2.0], requires_grad=True)
    y = w * w
    w.grad = torch.tensor([1.0])
    optim.SGD([w], lr=0.1).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


@pytest.mark.parametrize("line_search", [None, "strong_wolfe"])
def test_lbfgs_finds_the_bottom_of_a_valley(line_search: str | None) -> None:
    p = torch.tensor([-1.2, 1.0], dtype=torch.float64, requires_grad=True)
    opt = optim.LBFGS([p], lr=1.0 if line_search else 0.5, max_iter=100, line_search_fn=line_search)

    def closure() -> torch.Tensor:
        opt.zero_grad()
        loss = (1 - p[0]) ** 2 + 5 * (p[1] - p[0] ** 2) ** 2
        loss.backward()
        return loss

    for _ in range(5):
        opt.step(closure)
    assert torch.allclose(p, torch.ones(2, dtype=torch.float64), atol=1e-3)


def test_lbfgs_refuses_another_line_search() -> None:
    p = torch.tensor([1.0], requires_grad=True)
    opt = optim.LBFGS([p], line_search_fn="armijo")

    def closure() -> torch.Tensor:
        p.grad = torch.tensor([1.0])
        return torch.tensor(1.0)

    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        opt.step(closure)


@pytest.mark.parametrize("kind", [*KINDS, "LBFGS"])
def test_training_goes_on_from_a_saved_state(kind: str) -> None:
    def run(p: torch.Tensor, opt: optim.Optimizer, steps: int) -> None:
        def closure() -> torch.Tensor:
            opt.zero_grad()
            loss = loss_of(p) + (p**4).sum()
            loss.backward()
            return loss

        for _ in range(steps):
            if kind == "LBFGS":
                opt.step(closure)
            else:
                closure()
                opt.step()

    options = {"max_iter": 2} if kind == "LBFGS" else {}
    p = torch.tensor([3.0, 3.0], requires_grad=True)
    opt = getattr(optim, kind)([p], **options)
    run(p, opt, 3)
    q = p.detach().clone().requires_grad_()
    again = getattr(optim, kind)([q], **options)
    again.load_state_dict(copy.deepcopy(opt.state_dict()))
    run(p, opt, 3)
    run(q, again, 3)
    assert p.tolist() == q.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_a_second_differentiable_step_keeps_what_the_first_one_saved(kind: str) -> None:
    theta = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
    w = theta.clone()
    opt = getattr(optim, kind)([w], differentiable=True)
    for _ in range(2):
        w.grad = theta**3
        opt.step()
    (slope,) = torch.autograd.grad(w.sum(), theta)
    assert slope.isfinite().all()


def test_every_public_name_loads() -> None:
    for name in optim.__all__:
        assert getattr(optim, name) is not None
    for name in optim.lr_scheduler.__all__:
        assert issubclass(getattr(optim.lr_scheduler, name), optim.lr_scheduler.LRScheduler)


def test_a_network_learns_xor() -> None:
    torch.manual_seed(1)
    x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
    net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = optim.Adam(net.parameters(), lr=0.05)
    schedule = optim.lr_scheduler.StepLR(opt, 100)
    loss_function = nn.BCEWithLogitsLoss()
    for _ in range(200):
        opt.zero_grad()
        loss = loss_function(net(x), y)
        loss.backward()
        opt.step()
        schedule.step()
    assert loss.item() < 0.2
