import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.SGD([{"params": [p], "lr": 0.05} for p in net.parameters()], lr=0.05)
for step in range(8):
    x = torch.randn(32, 8); y = x.sum(1, keepdim=True)
    loss = F.mse_loss(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
