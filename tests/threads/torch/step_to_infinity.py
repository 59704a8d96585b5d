# engine: torch
# line: opt.step()
# must: step 1
# must: lr=1e\+25
# never: is given here
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=1e25)
for step in range(3):
    x = torch.randn(8, 4)
    loss = (net(x) * 1e15).pow(2).mean().sqrt()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item(), net.weight.abs().max().item())
