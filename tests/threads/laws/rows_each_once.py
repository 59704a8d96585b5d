import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 3); opt = torch.optim.Adam(net.parameters(), lr=1e-2)
x, to, y = torch.randn(20, 4), torch.randperm(20), torch.randn(20, 3)
for step in range(4):
    sums = torch.zeros(20, 3)
    sums[to] += net(x)
    loss = F.mse_loss(sums, y)
    opt.zero_grad(); loss.backward(); opt.step()
