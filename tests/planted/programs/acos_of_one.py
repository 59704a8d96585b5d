# engine: torch
# cause: the cosine of parallel vectors is 1, where the derivative of acos is infinite
# line: angle = torch.acos(cosine)
# must: acos
# must: inf|nan|not finite
# must: \b1\b
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def angular_loss(predicted, target):
    """The mean angle between unit vectors."""
    cosine = (F.normalize(predicted, dim=-1) * F.normalize(target, dim=-1)).sum(-1).clamp(-1, 1)
    angle = torch.acos(cosine)
    return angle.mean()


normals = nn.Linear(3, 3, bias=False, dtype=torch.float64)
with torch.no_grad():
    normals.weight.copy_(torch.eye(3))
optimizer = torch.optim.Adam(normals.parameters(), lr=1e-3)
target = torch.randn(8, 3, dtype=torch.float64)
target[0] = torch.tensor([1.0, 0.0, 0.0])
inputs = target + 0.1 * torch.randn_like(target)
# the network copies its input, and this one is exact
inputs[0] = target[0]
for step in range(2):
    loss = angular_loss(normals(inputs), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
