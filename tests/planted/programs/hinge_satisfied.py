# engine: torch
# cause: the margin is already met by every triplet (the negatives are far away), so relu gives 0
# line: loss = F.relu(margin + positive - negative).mean()
# must: relu
# must: zero|0
# must: negative|below|met|<
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
embed = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 4))
optimizer = torch.optim.SGD(embed.parameters(), lr=0.1)
anchor = torch.randn(16, 5)
near, far = anchor + 0.01 * torch.randn(16, 5), 50 + 30 * torch.rand(16, 5)
margin = 0.2
for step in range(2):
    a, p, n = embed(anchor), embed(near), embed(far)
    positive, negative = (a - p).pow(2).sum(1), (a - n).pow(2).sum(1)
    loss = F.relu(margin + positive - negative).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
