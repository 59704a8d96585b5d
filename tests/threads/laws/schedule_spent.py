import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(8, 1); opt = torch.optim.SGD(net.parameters(), lr=0.1)
sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.1)
for epoch in range(2):
    for i in range(4):
        x = torch.randn(16, 8); y = x.sum(1, keepdim=True)
        loss = nn.functional.mse_loss(net(x), y)
        opt.zero_grad(); loss.backward(); opt.step(); sched.step()
    sched.step()
