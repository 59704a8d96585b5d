# engine: torch
# cause: w = w - lr * w.grad binds w to a result, which is not a leaf, so its grad is None in the next pass
# line: w = w - lr * w.grad
# must: leaf
# must: no_grad|-=|in.?place
# ask: w
import torch

torch.manual_seed(0)
x = torch.randn(50, 3)
y = x @ torch.tensor([2.0, -1.0, 0.5]) + 4.0
w = torch.zeros(3, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
lr = 0.1
for epoch in range(3):
    loss = ((x @ w + b - y) ** 2).mean()
    loss.backward()
    w = w - lr * w.grad
    b = b - lr * b.grad
