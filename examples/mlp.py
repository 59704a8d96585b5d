# Three linear layers: what torchviz and torchview draw of it too.
#     gradtrace graph examples/mlp.py -o mlp.svg
import torch
from torch import nn

torch.manual_seed(0)
mlp = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
x = torch.randn(5, 4)
loss = mlp(x).pow(2).mean()
loss.backward()
print(mlp[0].weight.grad.shape)
