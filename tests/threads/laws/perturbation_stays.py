import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(4):
    x = torch.randn(8, 4)
    net(x).pow(2).mean().backward()
    with torch.no_grad():
        for p in net.parameters():
            p.add_(0.05 * p.grad / p.grad.norm())
    opt.zero_grad()
    loss = net(x).pow(2).mean()
    loss.backward()
    opt.step()
