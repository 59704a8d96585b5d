import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
net = nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
targets = torch.arange(8).roll(4)
for i in range(4):
    z = F.normalize(net(torch.randn(8, 4)), dim=1)
    logits = z @ z.t() / 0.5
    loss = F.cross_entropy(logits, targets)
    opt.zero_grad()
    loss.backward()
    opt.step()
