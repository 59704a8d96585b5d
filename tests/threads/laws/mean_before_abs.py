import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)); opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(5):
    x = torch.randn(32, 8); y = x[:, :1]
    loss = (net(x) - y).mean().abs()
    opt.zero_grad(); loss.backward(); opt.step()
