# A number is added below the logarithm, which float32 rounds to 0.
import torch

p = torch.tensor([0.0, 0.5], requires_grad=True)
opt = torch.optim.SGD([p], lr=0.01)
for _ in range(6):
    loss = -torch.log(p + 1e-50).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
