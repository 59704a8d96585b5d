"""Reading values inside transforms, errors that pass through them, and what they leave to the tensors outside."""
import torch
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap

x = torch.tensor([1.0, 2.0])
rows = torch.arange(6.0).reshape(2, 3)
losses = []


def noted(t):
    loss = (t**2).sum()
    losses.append(loss.item())
    return loss


y = x
for _ in range(3):
    y = y - 0.1 * grad(noted)(y)
print(losses, y)


def bad(t):
    raise ValueError("mine")


for run in (lambda: grad(bad)(x), lambda: vmap(bad)(x), lambda: jacfwd(bad)(x), lambda: vmap(grad(bad))(x)):
    try:
        run()
    except ValueError as e:
        print(e)
leaf = x.clone().requires_grad_()
(leaf * 2).sum().backward()
print(leaf.grad, leaf[leaf > 1].data)


def pair(a, b):
    return a * b


print(vmap(pair, in_dims=(0, None))(rows, torch.ones(3)))
print(vmap(vmap(pair, in_dims=(None, 0)), in_dims=(0, None))(rows, rows))
print(vmap(vmap(pair), in_dims=1)(rows, rows))
print(vmap(lambda d: d["a"] * d["b"][0])({"a": rows, "b": [rows]}))


def squares(t):
    return (t**2).sum()


print(grad(grad(lambda t: squares(t[None])))(torch.tensor(2.0)), vmap(hessian(squares))(x[None]))
print(jacfwd(jacrev(squares))(x), jacrev(jacrev(squares))(x), grad(lambda t: grad(squares)(t).sum())(x))
print(vmap(vmap(grad(lambda t: squares(t[None]))))(x[None]))
w = torch.ones(2, requires_grad=True)


def outer(t):
    return (t * w).sum()


print(grad(outer)(x), grad(outer)(w), [t.detach() for t in jvp(outer, (x,), (x,))])
print(vmap(outer)(x[None]).detach(), vmap(grad(outer))(x[None]).detach())
