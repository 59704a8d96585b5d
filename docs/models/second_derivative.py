import torch

x = torch.tensor(1.0, requires_grad=True)
y = x**3
(g,) = torch.autograd.grad(y, x, create_graph=True)
penalty = g**2
penalty.backward()
