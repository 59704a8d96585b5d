# engine: torch
# cause: one pair is the same image twice, so its distance is sqrt(0), whose derivative is infinite
# line: distance = (a - b).pow(2).sum(1).sqrt()
# must: sqrt
# must: nan|inf|not finite
# must: 0|zero
# from: https://github.com/pytorch/pytorch/issues/2421
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
embed = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 8))
optimizer = torch.optim.Adam(embed.parameters(), lr=1e-3)
left, right = torch.randn(10, 12), torch.randn(10, 12)
same = torch.tensor([1, 0] * 5)
right[4] = left[4]
for step in range(2):
    a, b = embed(left), embed(right)
    distance = (a - b).pow(2).sum(1).sqrt()
    loss = torch.where(same == 1, distance.pow(2), F.relu(1 - distance).pow(2)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
