# engine: gradtrace
# ask: x
# line: safe = torch.where(x > 0, x.log(), torch.zeros_like(x))
# must: log
# must: where
# must: argument|input|before
# never: smaller lr
import torch

torch.manual_seed(0)


def entropy_like(x):
    safe = torch.where(x > 0, x.log(), torch.zeros_like(x))
    return -(x * safe).sum()


x = torch.tensor([0.5, 0.25, 0.25, 0.0], requires_grad=True)
weights = torch.tensor([1.0, 2.0, 3.0, 4.0])
value = entropy_like(x)
penalty = ((x * weights) ** 2).sum()
objective = value + 0.1 * penalty
objective.backward()
print("value", value.item())
print("gradient", x.grad)
step = 0.1
with torch.no_grad():
    x_new = x - step * x.grad
print(x_new)
