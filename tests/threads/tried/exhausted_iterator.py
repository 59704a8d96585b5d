# The optimiser has taken what the filter gives, so nothing is clipped.
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
trained = filter(lambda p: p.requires_grad, net.parameters())
opt = torch.optim.SGD(trained, lr=1.5)
x = torch.randn(8, 4)
for _ in range(12):
    loss = (net(x) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(trained, 0.1)
    opt.step()
