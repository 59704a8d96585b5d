import torch
from torch import nn


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.v = nn.Parameter(torch.randn(2, 3))
        self.g = nn.Parameter(torch.ones(2, 1))

    @property
    def weight(self):
        return self.v * self.g

    def forward(self, x):
        return x @ self.weight.t()


torch.manual_seed(0)
net = Scaled()
with torch.no_grad():
    net.weight.copy_(torch.randn(2, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(6):
    loss = (net(torch.randn(4, 3)) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
