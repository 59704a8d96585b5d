# The optimiser steps with gradients of the scaled loss.
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
x = torch.randn(8, 4)
for _ in range(6):
    loss = (net(x) - 1).pow(2).mean()
    opt.zero_grad()
    scaler.scale(loss).backward()
    opt.step()
