import torch

x = torch.tensor([0.0, 1.0, 4.0], requires_grad=True)
root = torch.sqrt(x)
scaled = root / x
loss = scaled.sum()
loss.backward()
