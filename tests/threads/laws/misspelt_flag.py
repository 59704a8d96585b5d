import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
body, head = nn.Linear(4, 4), nn.Linear(4, 1)
for p in body.parameters():
    p.require_grad = False
opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
for step in range(4):
    loss = head(body(torch.randn(8, 4))).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
