# engine: torch
# line: loss = scale(x, w).pow(2).sum() + w.sum()
# must: not recorded
# never: Checked:
import torch
from torch import nn
torch.manual_seed(0)

@torch.jit.script
def scale(x, w):
    return torch.sqrt(x * 0) * w

w = nn.Parameter(torch.ones(3))
x = nn.Parameter(torch.ones(3))
opt = torch.optim.SGD([w, x], lr=0.1)
for step in range(3):
    loss = scale(x, w).pow(2).sum() + w.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item(), x.grad)
