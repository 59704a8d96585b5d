import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
net = nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(4):
    x = torch.randn(8, 4)
    noise = torch.randn_like(x)
    loss = F.mse_loss(net(0.8 * x + 0.6 * noise), noise)
    opt.zero_grad()
    loss.backward()
    opt.step()
