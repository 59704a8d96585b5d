# engine: gradtrace
# ask: emb.weight
# line: return (diff ** 2).sum(-1).sqrt()
# must: sqrt
# must: 0
# must: eps|clamp|1e-
# never: smaller lr|detach()
import torch
import torch.nn as nn

torch.manual_seed(0)
emb = nn.Embedding(5, 3)


def pairwise(a, b):
    diff = a.unsqueeze(1) - b.unsqueeze(0)
    return (diff ** 2).sum(-1).sqrt()


anchors = torch.tensor([0, 1, 2])
others = torch.tensor([2, 3, 4])
optimizer = torch.optim.SGD(emb.parameters(), lr=0.01)

for step in range(4):
    a = emb(anchors)
    b = emb(others)
    dist = pairwise(a, b)
    margin = torch.relu(1.0 - dist)
    loss = margin.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(emb.weight.grad)
