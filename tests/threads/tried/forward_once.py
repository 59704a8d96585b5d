# The loss is computed once: with retain_graph=True it stays what it was.
import torch

torch.manual_seed(1)
x, y = torch.randn(6, 2), torch.randn(6)
w = torch.randn(2, requires_grad=True)
loss = (x @ w - y).pow(2).mean()
for _ in range(6):
    w.grad = None
    loss.backward()
    w.data -= 0.1 * w.grad
