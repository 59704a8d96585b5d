# The root of a variance that starts at 0: with 1e-12 below it the first gradient is enormous.
import torch

torch.manual_seed(0)
variance = torch.zeros(1, requires_grad=True)
shift = torch.zeros(1, requires_grad=True)
opt = torch.optim.SGD([variance, shift], lr=0.01)
x, y = torch.randn(16), torch.randn(16)
for _ in range(6):
    loss = (variance.sqrt() * x + shift - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
