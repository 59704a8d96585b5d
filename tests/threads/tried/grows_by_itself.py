# The weights are doubled in each step: no learning rate helps.
import torch

w = torch.ones(3, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.001)
for _ in range(12):
    loss = (w**2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        w *= 2
