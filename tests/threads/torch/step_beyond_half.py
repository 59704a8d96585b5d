# engine: torch
# line: opt.step()
# must: step 3
# must: 65504
# never: clamp on line \d+ lets
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 1).half()
opt = torch.optim.SGD(net.parameters(), lr=3e4, momentum=0.9)
for step in range(4):
    x = torch.randn(8, 4).half()
    loss = (net(x).clamp(-10, 10) - 1).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item(), net.weight.abs().max().item())
