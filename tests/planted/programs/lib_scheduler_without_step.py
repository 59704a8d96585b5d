# engine: torch
# cause: the loop steps the scheduler, never the optimizer
# line: opt = torch.optim.SGD(net.parameters(), lr=0.1)
# line: loss.backward()
# must: opt.step
# must: never|not called
# never: vanishes|diverges
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.Flatten(), nn.Linear(96, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 10)
for epoch in range(4):
    x, y = torch.randn(4, 3, 6, 6), torch.randint(0, 3, (4,))
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    scheduler.step()
