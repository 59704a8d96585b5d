import math

import torch

torch.manual_seed(0)
q, k, v = (torch.randn(4, 8, requires_grad=True) for _ in range(3))
scores = q @ k.t() / math.sqrt(8)
weights = scores.softmax(-1)
loss = (weights @ v).pow(2).sum()
loss.backward()
