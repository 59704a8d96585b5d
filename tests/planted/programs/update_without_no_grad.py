# engine: gradtrace
# line: w -= lr * w.grad
# must: no_grad
# must: leaf|in place|in-place
# never: smaller lr|retain_graph
import torch

torch.manual_seed(0)
x = torch.randn(20, 2)
y = x @ torch.tensor([2.0, -1.0]) + 0.1
w = torch.zeros(2, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
lr = 0.1
for epoch in range(5):
    loss = ((x @ w + b - y) ** 2).mean()
    loss.backward()
    w -= lr * w.grad
    b -= lr * b.grad
    w.grad.zero_()
    b.grad.zero_()
    print(epoch, loss.item())
