# engine: gradtrace
# line: return v / v.norm(dim=1, keepdim=True)
# must: norm|div
# must: 0
# must: eps|clamp|normalize
# never: smaller lr|learning rate
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def unit(v):
    return v / v.norm(dim=1, keepdim=True)


users = torch.tensor([[1.0, 2.0, 0.0], [0.0, 0.0, 0.0], [3.0, 1.0, 1.0]])
items = torch.randn(4, 2)
proj = nn.Linear(3, 2, bias=False)
optimizer = torch.optim.SGD(proj.parameters(), lr=0.1)
labels = torch.tensor([0, 1, 3])
for epoch in range(2):
    u = unit(proj(users))
    logits = u @ items.t()
    loss = F.cross_entropy(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
