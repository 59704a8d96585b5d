# engine: torch
# cause: w is the result of a multiplication, not the leaf that requires grad, so backward keeps no gradient
# line: w = torch.randn(10, 1, requires_grad=True) * 0.01
# must: non-?leaf|not a leaf|result of mul
# must: requires_grad_|retain_grad
# ask: w
import torch

torch.manual_seed(0)
x, y = torch.randn(64, 10), torch.randn(64, 1)
w = torch.randn(10, 1, requires_grad=True) * 0.01
b = torch.zeros(1, requires_grad=True)
for epoch in range(1):
    loss = ((x @ w + b - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        b -= 0.1 * b.grad
        b.grad.zero_()
print(w.grad)
