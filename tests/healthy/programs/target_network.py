import copy
import torch
from torch import nn
torch.manual_seed(0)
q = nn.Linear(4, 2)
target = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
for step in range(3):
    s, s2, r, a = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8), torch.randint(0, 2, (8,))
    with torch.no_grad():
        goal = r + 0.99 * target(s2).max(1).values
    chosen = q(s).gather(1, a[:, None]).squeeze(1)
    loss = nn.functional.smooth_l1_loss(chosen, goal)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for p, t in zip(q.parameters(), target.parameters()):
            t.data.mul_(0.99).add_(0.01 * p.data)
