import copy

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
average = copy.deepcopy(net).requires_grad_(False)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    x = torch.randn(8, 4)
    loss = (net(x) - 0.9 * average(x) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for p, a in zip(net.parameters(), average.parameters()):
            a = 0.9 * a + 0.1 * p
