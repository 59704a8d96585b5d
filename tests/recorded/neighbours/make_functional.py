# functorch's older names
import torch, torch.nn as nn
from functorch import make_functional, make_functional_with_buffers, combine_state_for_ensemble, vmap, grad

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
f, params = make_functional(net)
x = torch.randn(5, 3)
print(f(params, x).flatten(), [p.shape for p in params])


def loss(params, x):
    return f(params, x).pow(2).mean()


print(grad(loss)(params, x)[1])
f, params, buffers = make_functional_with_buffers(nn.BatchNorm1d(3))
print(len(params), len(buffers))
models = [nn.Linear(3, 2) for _ in range(3)]
fm, p, b = combine_state_for_ensemble(models)
print(vmap(fm, in_dims=(0, 0, None))(p, b, x).shape)
