# Higher derivatives: create_graph=True makes the gradient a node that can be differentiated again.
#     gradtrace run examples/second_derivatives.py
import torch

x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
y = torch.sin(x) * torch.exp(x)
derivative = y
for order in range(1, 5):
    (derivative,) = torch.autograd.grad(derivative, x, create_graph=True)
    print(order, f"{derivative.item():.6f}", derivative.requires_grad)
# The fourth derivative of sin(x) exp(x) is -4 sin(x) exp(x).
print(torch.allclose(derivative, -4 * y))

v = torch.tensor([1.0, 2.0], requires_grad=True)
f = lambda t: t[0] ** 2 * t[1] + t[1] ** 3
(g,) = torch.autograd.grad(f(v), v, create_graph=True)
hessian = torch.stack([torch.autograd.grad(g[i], v, retain_graph=True)[0] for i in range(2)])
print(g.detach())
print(hessian)
