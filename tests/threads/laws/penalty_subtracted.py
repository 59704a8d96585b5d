import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(10):
    x = torch.randn(32, 8); y = x[:, :1]
    penalty = sum(p.pow(2).sum() for p in net.parameters())
    loss = nn.functional.mse_loss(net(x), y) - 0.05 * penalty
    opt.zero_grad(); loss.backward(); opt.step()
