# engine: torch
# ask: target.weight
# line: goal = 1 + 0.9 * target(x)
# must: no_grad
# never: only through .*item|Python number|left the graph
import copy
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(4, 1)
target = copy.deepcopy(net)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(2):
    x = torch.randn(8, 4)
    with torch.no_grad():
        goal = 1 + 0.9 * target(x)
    loss = (net(x) - goal).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
