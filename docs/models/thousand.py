import torch

x = torch.tensor(0.5, requires_grad=True)
y = x
for _ in range(250):
    y = torch.sin(y * 1.01) + x * 0.001
y.backward()
