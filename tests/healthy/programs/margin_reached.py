import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.full((8,), 1e-4))
        self.inner = nn.Linear(8, 8)

    def forward(self, x):
        return x + self.scale * torch.tanh(self.inner(x))


net = nn.Sequential(Block(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
x = torch.randn(16, 8)
y = torch.where(x[:, :1] > 0, 1.0, -1.0)
for step in range(30):
    hinge = F.relu(1 - y * net(x)).mean()
    loss = hinge + 0.01 * net[1].bias.square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
