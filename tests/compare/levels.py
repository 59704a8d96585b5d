"""One small program for records at several levels: its tensors are too large to be kept whole at the default level."""

import torch

import gradtrace.torch as gt

KEPT = {
    "structure": 1,
    "summary": 2,
    "compare": 3,
    "values": 3,
}  # single numbers, statistics, what can be compared


def plain(y):
    return y


def half_gradient(y):
    return (y + y.detach()) / 2


def recorded(level, function, change=None):
    torch.manual_seed(0)
    w, x = torch.randn(60, 60, requires_grad=True), torch.randn(60, 60)
    if change is not None:
        x = change(x)
    with gt.record(level=level) as r:
        y = (x @ w).tanh()
        loss = function(y).pow(2).sum()
        loss.backward()
    return r
