# engine: gradtrace
# engine: torch
# cause: a bias of -50 before a relu, whose layer takes sequences: nothing reaches the linear layer behind it
# line: nn.init.constant_(net[0].bias, -50.0)
# line: loss = net(x).pow(2).mean()
# must: relu on line \d+ gets nothing but negative numbers
# must: is 0 everywhere
# never: AddmmBackward
# right: -50.0 ==> 0.0
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
nn.init.constant_(net[0].bias, -50.0)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    x = torch.randn(2, 5, 4)
    loss = net(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
