# engine: torch
# ask: w
# line: out = mix(torch.ones(3), direction, w)
# must: not recorded
# never: Checked:
import torch
from torch import nn
torch.manual_seed(0)

@torch.jit.script
def mix(a, direction, w):
    return torch.cat([a * w[0], direction * w[1]])

w = nn.Parameter(torch.ones(2))
opt = torch.optim.Adam([w], lr=0.1)
for step in range(3):
    v = torch.zeros(3)
    direction = v / v.norm()
    out = mix(torch.ones(3), direction, w)
    loss = out[:3].pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item(), w.grad)
