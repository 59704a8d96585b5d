# Truncated backpropagation through time: the detach in the loop is right.
import torch
from torch import nn

torch.manual_seed(0)
cell, head = nn.RNNCell(2, 4), nn.Linear(4, 1)
opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
x, y = torch.randn(6, 3, 2), torch.randn(3, 1)
h = torch.zeros(3, 4)
for step in range(6):
    h = cell(x[step], h.detach())
    loss = (head(h) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
