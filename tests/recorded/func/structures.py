"""Nested arguments and results, errors about them, and how often a function runs."""
import functools

import torch
from torch.autograd import functional
from torch.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

x = torch.tensor([1.0, 2.0])
m = torch.arange(6.0).reshape(2, 3)


def attempt(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)


def shown(t):
    print(type(t), isinstance(t, torch.Tensor), t.shape, t.ndim, len(t), t.stride(), t.dtype)
    return t.sum()


vmap(shown)(m[:1])
grad(shown)(x)
print(grad(lambda t: t.sum() * (t.sum().item() + len(t.tolist())))(x), type(x))


def unpacked(t):
    a, b = t
    return a * b


print(grad(unpacked)(x), vmap(unpacked)(torch.ones(3, 2)))
count = [0]


def counted(t):
    count[0] += 1
    return (t**2).sum()


column = x[:, None]
for run in (
    lambda: grad(counted)(x), lambda: jacrev(counted)(x), lambda: jacfwd(counted)(x), lambda: hessian(counted)(x),
    lambda: jvp(counted, (x,), (x,)), lambda: vjp(counted, x)[1](torch.tensor(1.0)),
    lambda: linearize(counted, x)[1](x), lambda: vmap(counted, chunk_size=1)(column),
    lambda: functional.jacobian(counted, x), lambda: functional.hessian(counted, x), lambda: functional.hvp(counted, x, x),
):
    count[0] = 0
    run()
    print(count[0])

print(vmap(functools.partial(torch.add, alpha=2))(m, m), vmap(lambda a, **k: a * k["s"])(m, s=torch.ones(3)))
print(vmap(lambda d: {"s": d["a"].sum(), "l": [d["b"]]}, in_dims=({"a": 0, "b": 1},))({"a": m, "b": m.t()}))
print(vmap(lambda a, b: (a, b), in_dims=(0, None), out_dims=(0, None))(m, torch.tensor(3.0)))
attempt(lambda: vmap(lambda a, b: a)(m))
attempt(lambda: vmap(lambda a: a, in_dims=(None,))(m))
attempt(lambda: vmap(lambda items: items[0], in_dims=([0, 1],))([m]))
attempt(lambda: vmap(lambda a: (a, a), out_dims=[0, 1])(m))
attempt(lambda: vmap(lambda a: {"a": a}, out_dims={"b": 0})(m))
attempt(lambda: vmap(lambda a: a, out_dims=2)(m))
attempt(lambda: vmap(lambda a: a.undefined)(m))
attempt(lambda: grad(lambda t: (t.sum(), {"y": t, "n": 3}), has_aux=True)(x))
attempt(lambda: grad(lambda t: (t.sum(), "text"), has_aux=True)(x))
attempt(lambda: grad(lambda t: (t.sum(), t, t), has_aux=True)(x))
attempt(lambda: grad(lambda a, b: (a * b).sum(), argnums=(0, -1))(x, x))
attempt(lambda: grad(lambda a, b: (a * b).sum(), argnums=1.5)(x, x))
attempt(lambda: grad(lambda t: t)(x))
attempt(lambda: grad(lambda t: t.sum().item())(x))
attempt(lambda: grad(lambda t: (t[0] * t[1][0]).sum())((x, [x])))
print(grad_and_value(lambda t: (t.sum(), t), has_aux=True)(x))
attempt(lambda: vjp(lambda t: (t, t), x)[1]((x,)))
attempt(lambda: vjp(lambda t: {"a": t}, x)[1]({"b": x}))
attempt(lambda: vjp(lambda t: t > 1, x))
attempt(lambda: jvp(lambda t: {"a": t, "b": (t * 2,)}, (x,), (x,)))
attempt(lambda: jvp(lambda t: t, (x,), [x]))
attempt(lambda: jvp(lambda t: x * 2, (x,), (x,), strict=True))
attempt(lambda: jvp(lambda t: t, (x,), (3.0,)))
attempt(lambda: linearize(lambda t: t * t, x)[1](x, x))
attempt(lambda: linearize(lambda t: t * t, x)[1](torch.ones(3)))
attempt(lambda: linearize(lambda a, b: (a * b, a), x, x)[1](x, x))
for size in (None, 1, 3):
    print(jacrev(lambda t: t * t.sum(), chunk_size=size)(x), vmap(lambda t: t * 2, chunk_size=size)(m))
attempt(lambda: jacrev(torch.sin, chunk_size=0)(x))
attempt(lambda: vmap(torch.sin, chunk_size="a")(m))
