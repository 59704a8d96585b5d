# engine: torch
# line: opt.step()
# must: loss scale, 65536
# never: learning rate is too large
import torch
from torch import nn
torch.manual_seed(0)

net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.001)
scaler = torch.amp.GradScaler("cpu", init_scale=65536.0)
for step in range(5):
    loss = (net(torch.randn(8, 4)) - 1).pow(2).mean()
    opt.zero_grad()
    scaler.scale(loss).backward()
    opt.step()
    print(loss.item())
