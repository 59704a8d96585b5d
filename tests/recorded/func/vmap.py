# torch.func.vmap over tensors, nested structures, dims, and its errors; functional_call and stack_module_state
import torch
import torch.nn as nn
from torch.func import functional_call, grad, stack_module_state, vmap


def attempt(f):
    try:
        print(f())
    except (IndexError, RuntimeError, ValueError) as e:
        print(type(e).__name__, e)


x = torch.tensor([1.0, 2.0, 3.0])
ones = torch.ones(2, 3)
attempt(lambda: vmap(torch.dot)(ones, ones))
attempt(lambda: vmap(torch.dot, in_dims=(0, 1))(ones, ones.t()))
attempt(lambda: vmap(lambda a, b: a + b, in_dims=(0, None))(ones, 1.0))
attempt(lambda: vmap(torch.dot)(ones, torch.ones(3, 3)))
attempt(lambda: vmap(lambda a: a)(torch.tensor(1.0)))
attempt(lambda: vmap(lambda a: a, in_dims=(0, 0))(torch.ones(2)))
attempt(lambda: vmap(lambda a: (a, a.sum()), out_dims=(1, 0))(ones))
attempt(lambda: vmap(lambda a: (a, a), out_dims=1)(ones))
attempt(lambda: vmap(lambda a: (a, a), out_dims=(1, 0, 2))(ones))
attempt(lambda: vmap(lambda a: 3)(ones))
attempt(lambda: vmap(lambda a: {"k": a * 2})(ones))
attempt(lambda: vmap(lambda a: torch.ones(2))(torch.ones(3, 3)))
attempt(lambda: vmap(lambda d: d["a"] * 2)({"a": torch.ones(2, 2)}))
attempt(lambda: vmap(lambda p, q: p[0] * p[1] + q, in_dims=((0, None), 0))((x, x), x))
attempt(lambda: vmap(lambda a: a, in_dims=None)(x))
attempt(lambda: vmap(lambda a: a, in_dims=3)(x))
attempt(lambda: vmap(lambda a: a, in_dims="x")(x))
attempt(lambda: vmap(lambda a: a, in_dims=(0.5,))(x))
attempt(lambda: vmap(lambda a: a, in_dims=-1)(ones))
attempt(lambda: vmap(lambda a, b: a, in_dims=(0, 0))(x, 3))
attempt(lambda: vmap(lambda a, b: a, in_dims=(None, None))(x, x))
attempt(lambda: vmap(lambda a: a)())
attempt(lambda: vmap(torch.sin, chunk_size=2)(x))
attempt(lambda: vmap(torch.sin, chunk_size=0)(x))
attempt(lambda: vmap(torch.sin, randomness="x")(x))
attempt(lambda: vmap(torch.sin, out_dims="x")(x))
attempt(lambda: vmap(vmap(lambda a, b: a * b, in_dims=(None, 0)), in_dims=(0, None))(x, x))
print(vmap(grad(lambda a, b: (a * b).sum()), in_dims=(0, None))(ones, x))
y = x.clone().requires_grad_()
vmap(lambda a: a**2)(y).sum().backward()
print(y.grad)

net = nn.Linear(3, 1)
with torch.no_grad():
    net.weight.fill_(2.0)
    net.bias.fill_(1.0)
attempt(lambda: functional_call(net, {"weigh": x}, (x,)).detach())
attempt(lambda: functional_call(net, {"weigh": x}, (x,), strict=True))
attempt(lambda: functional_call(net, {"weight": torch.ones(1, 3)}, x).detach())
attempt(lambda: functional_call(net, ({"weight": torch.ones(1, 3)}, {"bias": torch.zeros(1)}), (x,)))
attempt(lambda: functional_call(net, ({"bias": torch.ones(1)}, {"bias": torch.zeros(1)}), (x,)))
attempt(lambda: functional_call(net, 3, (x,)))
print(net.weight.detach(), net.bias.detach(), type(net.weight).__name__)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, 1, bias=False)
        self.b = nn.Linear(1, 1, bias=False)
        self.b.weight = self.a.weight

    def forward(self, v):
        return self.b(self.a(v))


tied = Tied()
three = torch.full((1, 1), 3.0)
print(functional_call(tied, {"a.weight": three}, torch.ones(1)))
with torch.no_grad():
    tied.a.weight.fill_(5.0)
print(functional_call(tied, {"a.weight": three}, torch.ones(1), tie_weights=False).detach())
attempt(lambda: functional_call(tied, {"a.weight": three, "b.weight": three * 2}, torch.ones(1)))
models = [nn.Linear(2, 1) for _ in range(2)]
for i, m in enumerate(models):
    nn.init.constant_(m.weight, i + 1.0)
    nn.init.zeros_(m.bias)
params, buffers = stack_module_state(models)
print(params, buffers)
print(vmap(lambda p, v: functional_call(models[0], p, v), in_dims=(0, None))(params, torch.ones(2)).detach())
norm = nn.BatchNorm1d(2)
state = {**dict(norm.named_parameters()), **{k: v.clone() for k, v in norm.named_buffers()}}
functional_call(norm, state, (torch.tensor([[1.0, 2.0], [3.0, 6.0]]),))
print(state["running_mean"], norm.running_mean)
