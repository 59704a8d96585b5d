# engine: torch
# ask: a.weight
# must: let loss depend on head
# never: depend on a.state_dict
import torch
from torch import nn
torch.manual_seed(0)
trunk, a, b = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
opt = torch.optim.Adam([*trunk.parameters(), *a.parameters(), *b.parameters()], lr=1e-3)
for i in range(3):
    h = trunk(torch.randn(8, 4))
    for head in (a, b):
        loss = head(h).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
states = {"a": a.state_dict(), "b": b.state_dict()}
