import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
net = nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(4):
    z = F.normalize(net(torch.randn(16, 4)), dim=1)
    halves = z.view(2, 8, 3)
    logits = halves[0] @ halves[1].t() / 0.5
    loss = F.cross_entropy(logits, torch.arange(8))
    opt.zero_grad()
    loss.backward()
    opt.step()
