# The angle between two directions that are the same at first: a clamp passes no gradient there.
import torch

angle = torch.tensor(0.0, requires_grad=True)
opt = torch.optim.SGD([angle], lr=0.1)
for _ in range(6):
    between = torch.acos(torch.cos(angle))
    loss = (between - 1) ** 2
    opt.zero_grad()
    loss.backward()
    opt.step()
