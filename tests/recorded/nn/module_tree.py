# Walking a module, its modes, dtypes, gradients, state_dict, deepcopy
from copy import deepcopy

import torch
import torch.nn as nn


def fill(module):
    with torch.no_grad():
        for i, p in enumerate(module.parameters()):
            p.copy_((torch.arange(p.numel(), dtype=p.dtype) * 0.37 + i).sin().reshape(p.shape) * 0.5)
    return module


def attempt(f):
    try:
        print(f())
    except (AttributeError, RuntimeError, TypeError) as e:
        print(type(e).__name__, e)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
        self.scale = nn.Parameter(torch.tensor(2.0))
        self.k = 3
        self.register_buffer("r", torch.zeros(1))
        self.none = None

    def forward(self, x):
        return self.a(x) * self.scale

    def extra_repr(self):
        return f"k={self.k}"


n = fill(Net())
print(n)
print([(name, v) for name, v in n.state_dict().items()])
print(list(n.named_parameters()))
print(dict(n.named_buffers()), n.k, hasattr(n, "nothing"))
n.to(torch.float64)
print(n.r.dtype, n.scale)
n(torch.ones(1, 2, dtype=torch.float64)).sum().backward()
print(n.scale.grad)
n.float()
print(n.scale.grad, n.a.weight.grad.dtype)
n.zero_grad(set_to_none=False)
print(n.scale.grad)
n.zero_grad()
print(n.scale.grad, n.apply(lambda m: None) is n)
n.scale.grad = torch.tensor(1.0)
copied = deepcopy(n)
print(copied.scale, copied.scale.grad, copied.scale is n.scale, copied.a.weight.equal(n.a.weight), copied.k)

net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU(), nn.Linear(2, 1)))
sd = net.state_dict()
print(type(sd).__name__, list(sd), sd["0.weight"].requires_grad, sd._metadata)
print(net.state_dict(keep_vars=True)["0.weight"].requires_grad, list(net.state_dict(prefix="p.")))
attempt(lambda: net.load_state_dict(sd))
bad = dict(sd)
bad["extra"] = torch.ones(1)
del bad["0.bias"]
bad["1.1.weight"] = torch.ones(3, 3)
attempt(lambda: net.load_state_dict(bad))
del bad["1.1.weight"]
attempt(lambda: net.load_state_dict(bad, strict=False))
attempt(lambda: net.load_state_dict([1]))
attempt(lambda: net.load_state_dict({**sd, "0.bias": 3}))
other = deepcopy(net)
other.load_state_dict({k: v * 0 + 1 for k, v in sd.items()})
print(other(torch.ones(1, 2)))
other.load_state_dict({k: v * 0 + 2 for k, v in sd.items()}, assign=True)
print(other[0].weight)
batch = nn.BatchNorm1d(2)
batch(torch.tensor([[1.0, 2.0], [3.0, 5.0]]))
print(batch.state_dict())
print([name for name, _ in net.named_modules()], [type(c).__name__ for c in net.children()])
print([name for name, _ in net.named_parameters(prefix="p")], len(list(net.parameters(recurse=False))))
net.eval()
print(net.training, net[1][0].training, net.train() is net, net[1][0].training)
net.requires_grad_(False)
print([p.requires_grad for p in net.parameters()])
net.requires_grad_()
net.double()
print({p.dtype for p in net.parameters()}, net.to("cpu") is net, net.to(torch.ones(1)) is net, net[0].weight.dtype)
shared = nn.Linear(1, 1)
twice = nn.ModuleList([shared, shared])
print(len(list(twice.parameters())), len(list(twice.modules())), [k for k, _ in twice.named_modules()])
print([k for k, _ in twice.named_parameters(remove_duplicate=False)], list(twice.state_dict()))
print(isinstance(torch.ones(1), nn.Parameter), isinstance(nn.Parameter(torch.ones(1)), torch.Tensor))
p = nn.Parameter(torch.ones(2))
print(deepcopy(p), type(p.detach()).__name__, type(p.clone()).__name__, [p])
base = torch.ones(2)
q = nn.Parameter(base)
with torch.no_grad():
    q.add_(1)
print(base, base._version, q._version, nn.Linear(2, 2).weight._version, nn.Parameter())
