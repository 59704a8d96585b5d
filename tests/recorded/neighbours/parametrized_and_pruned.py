# Weights as functions of parameters: parametrize, weight norm, spectral norm, pruning
import torch, torch.nn as nn, torch.nn.functional as F
import torch.nn.utils.parametrize as parametrize
import torch.nn.utils.prune as prune
from torch.nn.utils import weight_norm, spectral_norm, parametrizations

torch.manual_seed(0)


class Symmetric(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).transpose(-1, -2)


layer = nn.Linear(3, 3)
parametrize.register_parametrization(layer, "weight", Symmetric())
print(layer)
print(
    torch.allclose(layer.weight, layer.weight.T),
    layer.parametrizations.weight.original.shape,
    [n for n, p in layer.named_parameters()],
)
print(layer(torch.ones(2, 3)), parametrize.is_parametrized(layer))
with parametrize.cached():
    print(layer(torch.ones(1, 3)))
parametrize.remove_parametrizations(layer, "weight")
print(layer, layer.weight)
m = parametrizations.weight_norm(nn.Linear(4, 3))
print(m, m.parametrizations.weight.original0.shape, m(torch.ones(4)))
m = weight_norm(nn.Linear(4, 3))
print(m, m.weight_g.shape, m(torch.ones(4)), list(m.state_dict()))
m(torch.ones(4)).sum().backward()
print(m.weight_g.grad, m.weight_v.grad)
m = parametrizations.spectral_norm(nn.Linear(5, 4))
print(m(torch.ones(5)))
m = spectral_norm(nn.Conv2d(2, 3, 2))
print(m(torch.ones(1, 2, 3, 3))[0, 0], list(m.state_dict()))
net = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2))
prune.random_unstructured(net[0], name="weight", amount=0.3)
print(net[0].weight, net[0].weight_mask, list(dict(net[0].named_buffers())))
prune.l1_unstructured(net[0], name="bias", amount=2)
print(net[0].bias)
prune.ln_structured(net[0], name="weight", amount=0.5, n=2, dim=0)
print(net[0].weight_mask, prune.is_pruned(net))
print(net(torch.ones(4)))
net(torch.ones(4)).sum().backward()
print(net[0].weight_orig.grad)
prune.remove(net[0], "weight")
print(list(net[0].state_dict()), net[0].weight)
net2 = nn.Sequential(nn.Linear(4, 5), nn.Linear(5, 2))
prune.global_unstructured([(net2[0], "weight"), (net2[1], "weight")], pruning_method=prune.L1Unstructured, amount=0.2)
print([float((l.weight == 0).sum()) for l in net2], net2[0].weight_mask)
