"""Normalisation over fewer than eight values: of a channel in a batch of small maps, of a sample, of a group."""

import torch
import torch.nn as nn

torch.manual_seed(0)


def report(layer, x):
    x = x.clone().requires_grad_()
    out = layer(x)
    (out**3).sum().backward()
    print(type(layer).__name__, tuple(x.shape), [round(v, 3) for v in out.flatten().tolist()])
    print("  gradient", [round(v, 2) for v in x.grad.flatten().tolist()])


for shape in ((4, 2), (4, 2, 1), (2, 2, 3)):
    report(nn.BatchNorm1d(2), torch.randn(shape))
for shape in ((4, 3, 1, 1), (2, 3, 1, 2), (1, 2, 2, 3)):
    layer = nn.BatchNorm2d(shape[1], eps=0.8)
    report(layer, torch.randn(shape))
    print("  running", [round(v, 3) for v in layer.running_mean.tolist() + layer.running_var.tolist()])
report(nn.BatchNorm3d(2), torch.randn(2, 2, 1, 1, 3))
report(nn.InstanceNorm2d(2), torch.randn(2, 2, 1, 3))
report(nn.GroupNorm(1, 3), torch.randn(2, 3, 1, 2))
report(nn.LayerNorm([2, 3]), torch.randn(2, 2, 3))
