# engine: torch
# ask: model.2.weight
# must: relu on line
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
nn.init.constant_(model[0].bias, -100.0)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    loss = (model(torch.randn(16, 4)) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
