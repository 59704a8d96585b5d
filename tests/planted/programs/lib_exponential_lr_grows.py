# engine: torch
# cause: the scheduler multiplies the learning rate by 4 at every step
# line: schedule = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=4.0)
# must: schedul|ExponentialLR
# must: learning rate
# never: optimizer\.
# right: gamma=4.0 ==> gamma=0.9
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
schedule = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=4.0)
x = torch.randn(32, 8)
y = x[:, :1] - 2 * x[:, 1:2]
for step in range(9):
    loss = (net(x) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    schedule.step()
