import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
x, y = torch.randn(16, 3), torch.randn(16, 1)
opt = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=5)


def closure():
    loss = (net(x) - y).pow(2).mean()
    loss.backward()
    return loss


for i in range(3):
    opt.zero_grad()
    opt.step(closure)
