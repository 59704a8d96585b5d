# engine: gradtrace
# ask: rot
# line: angle = torch.acos(cos)
# must: acos
# must: 1
# must: clamp|eps|atan2
# never: smaller lr
import torch

torch.manual_seed(0)
rot = torch.eye(3, requires_grad=True)
target = torch.eye(3)


def geodesic(a, b):
    rel = a @ b.t()
    cos = (rel.diagonal().sum() - 1) / 2
    angle = torch.acos(cos)
    return angle


reg = ((rot.t() @ rot - torch.eye(3)) ** 2).sum()
loss = geodesic(rot, target) + 0.01 * reg
loss.backward()
print(loss.item())
print(rot.grad)
