import copy

import torch
from torch import nn

torch.manual_seed(0)
online = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
ema = copy.deepcopy(online).requires_grad_(False)
opt = torch.optim.SGD(online.parameters(), lr=0.05)
for step in range(3):
    a, b = torch.randn(8, 4), torch.randn(8, 4)
    goal = ema(b)
    loss = 2 - 2 * nn.functional.cosine_similarity(online(a), goal).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for p, q in zip(online.parameters(), ema.parameters()):
            q.mul_(0.99).add_(p, alpha=0.01)
