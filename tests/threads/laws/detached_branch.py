import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
a, b = nn.Linear(4, 4), nn.Linear(4, 1)
opt = torch.optim.SGD([*a.parameters(), *b.parameters()], lr=0.1)
for step in range(4):
    h = a(torch.randn(8, 4))
    loss = b(h.detach()).pow(2).mean() + 0.1 * h.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
