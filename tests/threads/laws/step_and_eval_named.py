import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.5), nn.ReLU(), nn.Linear(16, 2)); opt = torch.optim.SGD(net.parameters(), lr=0.1)
sched = torch.optim.lr_scheduler.StepLR(opt, 1)
for step in range(4):
    net.train()
    x = torch.randn(16, 8); y = (x[:, 0] > 0).long()
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
    sched.step
    net.eval
    with torch.no_grad():
        acc = (net(x).argmax(1) == y).float().mean()
