# Weights as functions of parameters: parametrize, weight norm, spectral norm
import torch, torch.nn as nn, torch.nn.functional as F
import torch.nn.utils.parametrize as parametrize
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
