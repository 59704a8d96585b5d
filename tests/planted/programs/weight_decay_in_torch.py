# engine: gradtrace
# engine: torch
# cause: weight_decay=1e4 with lr=1e-3 multiplies the weights by -9 in each step
# line: optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=1e4)
# must: weight_decay=10000 with lr=0.001 on line \d+ multiplies the parameters by
# never: overshoot
# right: 1e4 ==> 1e-2
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=1e4)
for step in range(8):
    x = torch.randn(16, 4)
    loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
