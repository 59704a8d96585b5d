import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(4):
    opt.zero_grad()
    x = torch.randn(8, 2)
    for _ in range(3):
        x.requires_grad_(True)
        net(x).square().sum().backward()
        x = (x - 0.1 * x.grad).detach()
    loss = net(torch.randn(8, 2)).square().mean() - net(x).square().mean()
    loss.backward()
    opt.step()
