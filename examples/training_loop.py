# A line fitted by gradient descent, with nothing but tensors and backward().
#     gradtrace run examples/training_loop.py
import torch

x = torch.linspace(-1, 1, 20)
y = 3 * x - 0.5 + 0.1 * torch.sin(17 * x)
w = torch.tensor(0.0, requires_grad=True)
b = torch.tensor(0.0, requires_grad=True)

for step in range(101):
    loss = ((w * x + b - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.3 * w.grad
        b -= 0.3 * b.grad
    w.grad.zero_()
    b.grad.zero_()
    if step % 25 == 0:
        print(f"step {step:3d}  loss {loss.item():.5f}  w {w.item():.4f}  b {b.item():.4f}")
print(loss)
print(w.is_leaf, w.grad_fn, loss.is_leaf)
