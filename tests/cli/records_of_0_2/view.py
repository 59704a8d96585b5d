import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
v = w[0]
loss = v * 3
loss.backward()
with torch.no_grad():
    w *= 100
