import torch
from torch import nn

torch.manual_seed(0)
series = torch.randn(60)
net = nn.Linear(5, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(12):
    w = series[i:i + 6]
    w -= w.mean()
    loss = (net(w[:5]) - w[5]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
