import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 4)
pos = nn.Parameter(torch.randn(4))
opt = torch.optim.SGD([*net.parameters(), pos], lr=0.1)
for step in range(3):
    h = net(torch.randn(8, 4))
    h.add(pos)
    loss = h.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
