# engine: gradtrace
# ask: net.0.weight
# line: h = torch.relu(net[0](x))
# must: relu
# must: not positive|negative|below
# never: smaller lr|zero_grad
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 1))
nn.init.constant_(net[0].bias, -20.0)
x = torch.rand(8, 3)
y = torch.rand(8, 1)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(4):
    h = torch.relu(net[0](x))
    out = net[1](h)
    loss = ((out - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
print(net[0].weight.grad)
