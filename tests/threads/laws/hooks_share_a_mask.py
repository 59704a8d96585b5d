import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
for layer in net:
    mask = (torch.rand(3, 3) > 0.5).float()
    layer.weight.register_hook(lambda g: g * mask)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(4):
    loss = net(torch.randn(8, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
