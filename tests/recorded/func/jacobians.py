"""jvp, jacfwd, linearize and functional_call: integer outputs, named tuples, dtypes, errors, one call of the function."""
import torch
from torch import nn
from torch.func import functional_call, hessian, jacfwd, jacrev, jvp, linearize, vmap

x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
v = torch.tensor([1.0, 2.0])


def attempt(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)


functions = [
    lambda t: t.max(0), lambda t: t.argmax(), lambda t: t.any(), lambda t: (t.sum(), t.argmax()), lambda t: t.long(),
    lambda t: {"a": t.sort().values, "b": [t.sum()]},
]
for f in functions:
    for transform in (jacfwd, jacrev, vmap):
        attempt(lambda: transform(f)(x))
print(jvp(lambda t: t.double(), (v,), (v,)))
print(jvp(lambda t: (t.argmax(), t.sum()), (v,), (v,)))
print(jacfwd(lambda t: t.double())(v), jacrev(lambda t: t.double())(v))
attempt(lambda: jacfwd(lambda t: 3)(v))
attempt(lambda: jacfwd(lambda t: None)(v))
attempt(lambda: jacfwd(lambda t: [])(v))
attempt(lambda: jacfwd(lambda t: (t, 3))(v))
attempt(lambda: jacfwd(lambda t: t)(torch.tensor([1, 2])))
attempt(lambda: jacfwd(lambda t: t, argnums=2)(v))
attempt(lambda: jacfwd(lambda t: t, has_aux=True)(v))
attempt(lambda: jacfwd(lambda t: (t * t, t.sum()), has_aux=True)(v))
attempt(lambda: jacfwd(lambda d: d["a"] * d["b"])({"a": v, "b": v}))
attempt(lambda: jacfwd(lambda a, b: (a * b, a.sum()), argnums=(1, 0))(v, x))
attempt(lambda: jacfwd(lambda t: (t, v))(v))
attempt(lambda: hessian(lambda t: 3)(v))
attempt(lambda: hessian(lambda t: t.argmax())(v))
attempt(lambda: jvp(lambda t: t, (torch.tensor([1, 2]),), (torch.tensor([1, 2]),)))

calls = []


def counted(t):
    calls.append(tuple(t.shape))
    return t.sin() * t.sum()


output, derivative = linearize(counted, v)
print(output, derivative(torch.ones(2)), derivative(v), len(calls))
print(jacfwd(counted)(v), len(calls))

layer = nn.Linear(2, 1)
layer.weight.data.fill_(1.0)
layer.bias.data.fill_(0.0)
nest = nn.Sequential(layer)
attempt(lambda: functional_call(layer, {"weight": 3}, v))
attempt(lambda: functional_call(layer, {"zz": x}, v))
attempt(lambda: functional_call(layer, {"bias": "a"}, v))
attempt(lambda: functional_call(nest, {"zz.weight": x}, v))
attempt(lambda: functional_call(nest, {"0.weight": x[:1]}, v))
attempt(lambda: functional_call(layer, {"": x}, v))
attempt(lambda: functional_call(layer, {"weight.a": x}, v))
print(jvp(torch.sin, (v,), (v.double(),)), jvp(lambda t: (t.sum(), t.argmax()), (v,), (v.double(),)))
