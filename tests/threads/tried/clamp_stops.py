# The logarithm of a rate that starts at 0: behind a clamp it stays there.
import torch

rate = torch.zeros(3, requires_grad=True)
opt = torch.optim.SGD([rate], lr=0.1)
for _ in range(6):
    loss = -torch.log(rate).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
