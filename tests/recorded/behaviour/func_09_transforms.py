# Linearize, random numbers and networks under vmap, after PyTorch's tests of functorch
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.utils.parametrize as P
from torch.func import functional_call, grad, jacrev, jvp, linearize, stack_module_state, vmap


def show(*calls):
    for call in calls:
        try:
            print(call())
        except Exception as error:
            print(type(error).__name__, error)


x = torch.tensor([0.1, 0.2, 0.3])
out, f = linearize(torch.sin, x)
print(out, f(torch.ones(3)), vmap(f)(torch.eye(3)))
out, f = linearize(lambda x, y: {"a": x * y, "b": (x.sum(),)}, x, x + 1)
print(out, f(x, x))
show(
    lambda: f(x),
    lambda: f(x, torch.ones(2)),
    lambda: f(x, x.double()),
)
out, f = linearize(lambda d: d["a"] * 2, {"a": x})
print(f({"a": x}))
x = torch.ones(3, 4)
for mode in ("error", "same", "different", "other"):
    for f in (
        lambda x: torch.randn(2),
        lambda x: torch.rand_like(x),
        lambda x: F.dropout(x),
        lambda x: torch.randperm(3),
        lambda x: x.new_empty(3).normal_(),
        lambda x: x.clone().uniform_(),
        lambda x: torch.randint(0, 9, (2,)),
        lambda x: F.gumbel_softmax(x),
        lambda x: F.alpha_dropout(x, 0.5, training=True),
        lambda x: F.feature_alpha_dropout(x[None], training=True),
        lambda x: F.dropout2d(x.view(1, 4, 1, 1)),
        lambda x: x.bernoulli_(0.5),
    ):
        torch.manual_seed(1)
        try:
            out = vmap(f, randomness=mode)(x)
            print(mode, tuple(out.shape), bool((out == out[:1]).all()))
        except Exception as e:
            print(mode, type(e).__name__, str(e)[:260])


def lj(r, s=0.5, e=4.0):
    return e * ((s / r) ** 12 - (s / r) ** 6)


torch.manual_seed(0)
r = torch.linspace(0.5, 2 * 0.5, 4).view(-1, 1)
drs = torch.outer(r.view(-1), torch.ones(3) / 3**0.5)
norms = torch.norm(drs, dim=1).reshape(-1, 1)
tr = torch.stack([vmap(grad(lambda q: lj(torch.norm(q))))(drs)])
print(tr[0, :2], vmap(lj)(norms).view(-1))
model = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))


def make_prediction(model, drs):
    norms = torch.norm(drs, dim=1).reshape(-1, 1)
    energies = model(norms)
    network_derivs = vmap(jacrev(model))(norms).squeeze(-1)
    return energies, -network_derivs * drs / norms


e, f = make_prediction(model, drs)
(e.sum() + f.pow(2).sum()).backward()
print(round(model[0].weight.grad.norm().item(), 3))
torch.manual_seed(0)
xs = torch.randn(6, 2)
ys = (xs.sum(1) > 0).long()
models = [nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 2)) for _ in range(3)]
params, buffers = stack_module_state(models)
base = models[0]


def loss(p, b, x, y):
    return F.cross_entropy(functional_call(base, (p, b), (x,)), y)


def step(p, b, x, y):
    g = grad(loss)(p, b, x, y)
    return {k: p[k] - 0.1 * g[k] for k in p}


for _ in range(3):
    params = vmap(step, (0, 0, None, None))(params, buffers, xs, ys)
print(
    {k: round(v.sum().item(), 4) for k, v in params.items()},
    vmap(loss, (0, 0, None, None))(params, buffers, xs, ys).shape,
)
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(10, 4)
        self.fc1 = nn.Linear(4, 4)
        self.fc2 = nn.Linear(4, 3)

    def forward(self, x):
        x = self.emb(x)
        x = torch.transpose(x, -1, -2)
        x = torch.mean(x, -1)
        return self.fc2(F.relu(self.fc1(x)))


net = Net()
data = torch.randint(0, 10, (5, 6))
t = torch.randint(0, 3, (5,))
w = {k: v.detach() for k, v in net.named_parameters()}


def loss(w, d, t):
    return F.nll_loss(F.log_softmax(functional_call(net, w, (d.unsqueeze(0),)), -1), t.unsqueeze(0))


g = vmap(grad(loss), (None, 0, 0))(w, data, t)
ref = [grad(loss)(w, data[i], t[i]) for i in range(5)]
print(all(torch.allclose(g[k][i], ref[i][k], atol=1e-5) for k in g for i in range(5)))


class Sym(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).T


lin = nn.Linear(2, 2, bias=False)
P.register_parametrization(lin, "weight", Sym())
print(functional_call(lin, {"parametrizations.weight.original": torch.tensor([[1.0, 2.0], [3.0, 4.0]])}, torch.eye(2)))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2, bias=False)
        self.b = nn.Linear(2, 2, bias=False)
        self.b.weight = self.a.weight

    def forward(self, x):
        return self.a(x) + self.b(x)


t = Tied()
w = torch.eye(2)
print(
    functional_call(t, {"a.weight": w}, torch.ones(1, 2)),
    grad(lambda w: functional_call(t, {"a.weight": w}, torch.ones(1, 2)).sum())(w),
)
show(
    lambda: functional_call(t, {"a.weight": w, "b.weight": w * 2}, torch.ones(1, 2)),
    lambda: functional_call(t, {"a.weight": w, "b.weight": w * 2}, torch.ones(1, 2), tie_weights=False),
)
