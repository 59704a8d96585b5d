import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=3)
for i in range(12):
    loss = (net(torch.randn(4, 3)) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    schedule.step()
