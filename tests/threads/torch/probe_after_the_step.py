# engine: torch
# must: loss 102.2 -> 101.3
# never: -0.2
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(3):
    x = torch.randn(6, 3)
    loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean() + 100
    opt.zero_grad()
    loss.backward()
    opt.step()
    probe = torch.randn(6, 3, requires_grad=True)
    force = torch.autograd.grad(net(probe).sum(), probe)[0]
    print(step, loss.item(), force.norm().item())
