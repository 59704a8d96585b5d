# engine: torch
# cause: the closure does not clear the gradients, so each evaluation adds to the ones before
# line: loss.backward()
# line: opt.step(closure)
# must: zero_grad
# must: accumulate|added|sum
# never: vanishes|never used
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=3)
t = torch.linspace(0, 1, 20)[:, None].requires_grad_()


def closure():
    u = net(t)
    du = torch.autograd.grad(u.sum(), t, create_graph=True)[0]
    loss = (du + u).pow(2).mean() + (net(torch.zeros(1, 1)) - 1).pow(2).mean()
    loss.backward()
    return loss


for step in range(3):
    opt.step(closure)
