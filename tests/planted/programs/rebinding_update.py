# engine: gradtrace
# line: w = w - lr * w.grad
# must: rebind|rebound|bound|new tensor|not a leaf|non-leaf
# must: no_grad
# never: retain_grad
import torch

torch.manual_seed(0)
x = torch.linspace(-1, 1, 20)
y = 3 * x + 0.5
w = torch.tensor(0.0, requires_grad=True)
b = torch.tensor(0.0, requires_grad=True)
lr = 0.1

for epoch in range(10):
    pred = w * x + b
    loss = ((pred - y) ** 2).mean()
    loss.backward()
    w = w - lr * w.grad
    b = b - lr * b.grad
    print(epoch, loss.item())
