import torch
w = torch.tensor([3.0, 0.0, float('nan')], requires_grad=True)
n = torch.arange(4)
loss = (w.log() * 2).sum() + n.sum() / 0
loss.backward()
w.register_hook(lambda g: g * 2)
k = (w * w).sum()
k.backward()
