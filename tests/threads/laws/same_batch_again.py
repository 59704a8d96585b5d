import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(8, 1); opt = torch.optim.SGD(net.parameters(), lr=1e-2)
x, y = torch.randn(64, 8), torch.randn(64, 1)
for epoch in range(4):
    for i in range(0, 64, 16):
        loss = F.mse_loss(net(x[:16]), y[:16])
        opt.zero_grad(); loss.backward(); opt.step()
