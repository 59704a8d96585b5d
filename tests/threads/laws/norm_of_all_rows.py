import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(2, 1); opt = torch.optim.SGD(net.parameters(), lr=1e-2)
for step in range(4):
    x = torch.randn(16, 2, requires_grad=True)
    grad, = torch.autograd.grad(net(x).tanh().sum(), x, create_graph=True)
    loss = ((grad.norm(2) - 1) ** 2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
