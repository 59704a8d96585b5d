# engine: gradtrace
# ask: theta
# line: R = torch.tensor([[c, -s], [s, c]])
# must: torch.stack
# must: graph|history
# never: requires_grad_\(\)|requires_grad=True where|let R require
import torch

torch.manual_seed(0)
theta = torch.tensor(0.3, requires_grad=True)
scale = torch.tensor(1.1, requires_grad=True)
points = torch.randn(6, 2)
angle = torch.tensor(1.0)
goal = points @ torch.tensor([[0.5403, 0.8415], [-0.8415, 0.5403]])


def rotate(p):
    c, s = torch.cos(theta), torch.sin(theta)
    R = torch.tensor([[c, -s], [s, c]])
    return p @ R.t()


moved = scale * rotate(points)
loss = ((moved - goal) ** 2).mean()
loss.backward()
print(loss.item())
print(theta.grad, scale.grad)
