import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
critics = nn.ModuleList(nn.Linear(3, 1) for _ in range(2))
opt = torch.optim.Adam(critics.parameters(), lr=1e-3)
for i in range(3):
    x, y = torch.randn(8, 3), torch.randn(8)
    values = torch.cat([critic(x) for critic in critics], -1)
    loss = F.mse_loss(values, y[:, None])
    opt.zero_grad()
    loss.backward()
    opt.step()
