import torch
import torch.nn as nn

torch.manual_seed(0)
mlp = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))
x = torch.randn(5, 8)
target = torch.tensor([0, 1, 2, 3, 0])
out = mlp(x)
loss = nn.functional.cross_entropy(out, target)
loss.backward()
