import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(8, 4)
for step in range(3):
    torch.manual_seed(1)
    noise = torch.randn(8, 4)
    loss = net(x + noise).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
