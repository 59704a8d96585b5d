# engine: gradtrace
# engine: torch
# cause: loss.backward has no parentheses, so no step of the loop has a gradient
# line: loss.backward
# must: without parentheses
# must: loss\.backward\(\)
# never: smaller lr|retain_grad|requires_grad_
# right: loss.backward\n ==> loss.backward()\n
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
x, y = torch.randn(16, 4), torch.randn(16, 1)
for step in range(3):
    loss = (net(x) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward
    opt.step()
    print(loss.item())
