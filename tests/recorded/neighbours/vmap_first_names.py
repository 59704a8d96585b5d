"""vmap as the first thing a program does: every operator's family is still to be loaded."""
import torch
from torch.func import grad, vmap

x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
print(vmap(lambda t: t * 2, in_dims=1)(x))
print(vmap(lambda t: (t.sum(), t.mean(), t.max()))(x))
print(vmap(torch.dot)(x, x), vmap(torch.mv, in_dims=(None, 0))(x, x))
print(vmap(grad(lambda t: (t**2).sum()))(x))
print(vmap(lambda t: t.sort(descending=True))(x))
print(vmap(lambda t: torch.cat([t, t[:1]]), out_dims=1)(x))
