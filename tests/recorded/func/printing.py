"""Printing and keeping tensors inside transforms: levels, dims of a batch, what escapes, errors that pass through."""
import torch
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap

x = torch.tensor([1.0, 2.0])
rows = torch.arange(6.0).reshape(2, 3)
escaped = []
vmap(lambda t: escaped.append(t) or t.sum())(rows)
c = escaped[0]
print(c, c.shape, c.dtype, c.ndim, len(c))
for use in (lambda: c * 3, lambda: c + x, lambda: c.detach()):
    try:
        print(use())
    except RuntimeError as e:
        print(e)
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


def caught(t):
    try:
        return vmap(lambda s: s.item())(t)
    except RuntimeError:
        return (t * 2).sum()


print(grad(caught)(x))


def steps(t):
    print(t + 1, t.unsqueeze(0), t.sum(), t.argmax(), t > 2, t.long(), t[0], t[1:])
    print(torch.stack([t, t], dim=1), t.max(0), t.view(3, 1).t(), t.expand(2, 3), rows @ t)
    return t


vmap(steps)(rows)
vmap(steps, in_dims=1)(rows.reshape(3, 2))


def pair(a, b):
    print(a * b, a + 1, b + 1)
    return a * b


vmap(pair, in_dims=(0, None))(rows, torch.ones(3))
vmap(vmap(pair, in_dims=(None, 0)), in_dims=(0, None))(rows, rows)
vmap(vmap(pair), in_dims=1)(rows, rows)
vmap(lambda d: print(d) or d["a"])({"a": rows, "b": [rows]})


def squares(t):
    y = t**2
    print(y)
    z = y.sum()
    print(z)
    return z


grad(grad(lambda t: squares(t[None])))(torch.tensor(2.0))
vmap(hessian(squares))(x[None])
jacfwd(jacrev(squares))(x)
jacrev(jacrev(squares))(x)
grad(lambda t: grad(squares)(t).sum())(x)
vmap(vmap(grad(lambda t: squares(t[None]))))(x[None])
w = torch.ones(2, requires_grad=True)


def outer(t):
    print(t * w, w, w * 2, (t * w).sum())
    return (t * w).sum()


grad(outer)(x)
vmap(outer)(x[None])
vmap(grad(outer))(x[None])
grad(outer)(w)
jvp(outer, (x,), (x,))
