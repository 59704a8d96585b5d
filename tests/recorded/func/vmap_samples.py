"""vmap of many operators, what it refuses, and in-place operations on samples."""
import torch
from torch.func import grad, hessian, jacfwd, jacrev, vjp, vmap

x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


def attempt(f, *args, **options):
    try:
        print(vmap(f, **options)(*args))
    except Exception as e:
        print(type(e).__name__, e)


refused = [
    lambda t: torch.rand(1), lambda t: torch.nn.functional.dropout(t), lambda t: torch.bernoulli(t / 10),
    lambda t: t.clone().normal_(), lambda t: str(t), lambda t: 3, lambda t: None,
]
for f in refused:
    attempt(f, x)
allowed = [
    lambda t: torch.nn.functional.dropout(t, training=False), lambda t: t.detach().clone(), lambda t: t == t,
    lambda t: torch.nn.functional.one_hot(t.long(), 5), lambda t: t.new_ones(2), lambda t: t.repeat_interleave(2),
    lambda t: torch.linspace(0, 1, 2) * t, lambda t: t.sort(descending=True), lambda t: t.max(0), lambda t: x[t.long()[0] // 2],
    lambda t: t[torch.tensor([1, 0])], lambda t: torch.where(t > 2, t, -t), lambda t: torch.cat([t, torch.ones(1)]),
    lambda t: t.view(2, 1) @ t.view(1, 2), lambda t: (t[None] + t[:, None]).flatten(), lambda t: t.sum().expand(3),
    lambda t: torch.outer(t, x[0]), lambda t: t.T if t.ndim == 2 else t.cumsum(0), lambda t: x @ t, lambda t: t @ x,
    lambda t: torch.dot(t, x[1]), lambda t: sum(v for v in t), lambda t: t.softmax(-1),
]
for f in allowed:
    attempt(f, x)
    attempt(f, x, in_dims=1, out_dims=-1)


def written(t):
    y = torch.zeros_like(t)
    y[0] = t[1]
    y[1:] += 3
    t.add_(1)
    return y


attempt(written, x)
print(x)
attempt(lambda t: t, torch.ones(0, 2))
attempt(lambda t: t, x, out_dims=None)
attempt(lambda t: (t, 3), x, out_dims=(0, None))
attempt(lambda t: torch.ones(3), x, out_dims=None)
for f in (grad, vjp, jacrev, jacfwd, hessian):
    def back(t):
        y = (t**2).sum()
        y.backward()
        return y
    try:
        print(f(back)(x) if f is not vjp else vjp(back, x))
    except RuntimeError as e:
        print(e)
