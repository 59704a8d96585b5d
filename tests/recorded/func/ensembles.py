"""Modules under transforms: derivatives of a network's output, an ensemble, per-sample gradients of each model."""
import torch
from torch import nn
from torch.func import functional_call, grad, linearize, stack_module_state, vjp, vmap

xs = torch.linspace(0, 1, 5)
net = nn.Sequential(nn.Linear(1, 2), nn.Tanh(), nn.Linear(2, 1))
with torch.no_grad():
    for i, p in enumerate(net.parameters()):
        p.fill_(0.1 * (i + 1))


def u(t):
    return net(t.reshape(1, 1)).squeeze()


first = vmap(grad(u))(xs)
second = vmap(grad(grad(u)))(xs)
print(first.detach())
print(second.detach())
loss = (second + first).pow(2).mean()
loss.backward()
print(loss, [p.grad for p in net.parameters()])
torch.optim.SGD(net.parameters(), lr=0.1).step()
print(net[0].weight)
w = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
both = torch.stack([torch.eye(2), torch.ones(2, 2)])
out, pull = vjp(lambda m: m @ m, w)
print(out, pull(torch.eye(2)), vmap(lambda v: pull(v)[0])(both))
_, push = linearize(lambda m: m @ m, w)
print(push(torch.eye(2)), vmap(push)(both))
models = [nn.Linear(2, 1) for _ in range(3)]
for i, model in enumerate(models):
    nn.init.constant_(model.weight, float(i))
    nn.init.constant_(model.bias, 0.5)
params, buffers = stack_module_state(models)
print({name: (p.shape, p.requires_grad, p.is_leaf) for name, p in params.items()}, buffers)
base = models[0]


def predict(p, b, x):
    return functional_call(base, (p, b), (x,))


batch = torch.tensor([[1.0, 2.0], [0.5, -1.0], [2.0, 0.0], [1.0, 1.0]])
predictions = vmap(predict, in_dims=(0, 0, None))(params, buffers, batch)
print(predictions.shape, predictions[:, 0])
predictions.pow(2).mean().backward()
print(params["weight"].grad)


def error(p, b, x, y):
    return ((predict(p, b, x[None]) - y) ** 2).mean()


each = vmap(vmap(grad(error), in_dims=(None, None, 0, 0)), in_dims=(0, 0, None, None))
found = each(params, buffers, batch, torch.zeros(4))
print(found["weight"].shape, found["weight"].detach(), found["bias"][:, 0].detach())
targets = torch.tensor([0, 1, 1, 0])
classifier = nn.Linear(2, 2)
nn.init.constant_(classifier.weight, 0.1)
nn.init.zeros_(classifier.bias)
weights = {name: p.detach() for name, p in classifier.named_parameters()}


def entropy(p, x, t):
    return nn.functional.cross_entropy(functional_call(classifier, p, (x,)), t)


losses = vmap(entropy, in_dims=(None, 0, 0))(weights, batch, targets)
gradients = vmap(grad(entropy), in_dims=(None, 0, 0))(weights, batch, targets)
print(losses, gradients["weight"], gradients["bias"])
print(torch.allclose(gradients["weight"].mean(0), grad(entropy)(weights, batch, targets)["weight"]))
