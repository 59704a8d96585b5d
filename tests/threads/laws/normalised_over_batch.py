import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    z = F.normalize(net(torch.randn(8, 4)), dim=0)
    loss = F.cross_entropy(z @ z.t() / 0.1, torch.arange(8))
    opt.zero_grad()
    loss.backward()
    opt.step()
