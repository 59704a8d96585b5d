# engine: torch
# ask: model.weight
# line: opt.step()
# must: eps=1e-08 is 0 in float16
# never: pow on line
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Linear(4, 2).half()
opt = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False)
for step in range(3):
    loss = (model(torch.randn(8, 4).half() * 1e-3).float() * 1e-3).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item(), model.weight.isnan().sum().item())
