import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(4):
    a, p, n = (net(torch.randn(8, 4)) for _ in range(3))
    near = (a - p).pow(2).sum(1)
    far = (a - n).pow(2).sum(1)
    loss = (torch.relu(near - far) + 0.5).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
