# engine: gradtrace
# ask: net.0.weight
# line: out = torch.sigmoid(net(x) * 50)
# line: nn.init.constant_(net[1].bias, 40.0)
# must: sigmoid
# must: saturat
# never: zero_grad|retain
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 4), nn.Linear(4, 1))
nn.init.constant_(net[1].bias, 40.0)
x = torch.rand(6, 2)
y = torch.zeros(6, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.5)
for epoch in range(4):
    out = torch.sigmoid(net(x) * 50)
    loss = nn.functional.mse_loss(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(epoch, loss.item())
print(net[0].weight.grad)
