# engine: torch
# line: direction = v / v.norm()
# must: divides 0 by v.norm
# never: derivative of mul on line \d+ is
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(3, 2)
scale = nn.Parameter(torch.ones(3))
opt = torch.optim.SGD([*net.parameters(), scale], lr=0.1)
for step in range(3):
    v = torch.zeros(3)
    direction = v / v.norm()
    out = torch.cat([net(torch.ones(3)), scale * direction])
    loss = out[:2].pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item(), scale.grad)
