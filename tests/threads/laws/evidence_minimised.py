import torch
from torch import nn

class Gaussian(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(2))

    def log_prob(self, x):
        return -0.5 * (x - self.mean).pow(2).sum(1)

torch.manual_seed(0)
flow = Gaussian()
opt = torch.optim.SGD(flow.parameters(), lr=0.1)
x = torch.randn(8, 2) + 1
for i in range(4):
    loss = flow.log_prob(x).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
