import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Linear(2, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
target = torch.randn(6, 4, 2)
for step in range(3):
    pred = torch.stack([net(torch.randn(6, 2)) for _ in range(4)])
    loss = (pred.reshape(6, 4, 2) - target).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
