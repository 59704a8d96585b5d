import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
net = nn.Conv2d(2, 5, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(4):
    x = torch.randn(2, 2, 3, 4)
    out = net(x)
    rows = out.view(2, 12, 5)
    loss = F.cross_entropy(rows.reshape(24, 5), torch.arange(24) % 5)
    opt.zero_grad()
    loss.backward()
    opt.step()
