import torch
from torch import nn

torch.manual_seed(0)
blocks = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
opt = torch.optim.SGD(blocks.parameters(), lr=0.1)

def forecast_of(x):
    forecast = torch.zeros(4)
    for block in blocks:
        forecast = block(x)
    return forecast

for i in range(4):
    x = torch.randn(8, 4)
    loss = (forecast_of(x) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
