import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
net = nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)

def noisy(x):
    return 0.8 * x + 0.6 * torch.randn_like(x)

for i in range(4):
    x = torch.randn(8, 4)
    predicted = net(noisy(x))
    noise = torch.randn_like(x)
    loss = F.mse_loss(predicted, noise)
    opt.zero_grad()
    loss.backward()
    opt.step()
