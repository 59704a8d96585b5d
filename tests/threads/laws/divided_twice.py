import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)


def backward(loss):
    (loss / 4).backward()


for i in range(12):
    loss = (net(torch.randn(4, 3)) - 1).pow(2).mean() / 4
    backward(loss)
    if i % 4 == 3:
        opt.step()
        opt.zero_grad()
