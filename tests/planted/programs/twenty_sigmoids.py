# engine: gradtrace
# ask: net.0.weight
# line: layers += [nn.Linear(8, 8), nn.Sigmoid()]
# line: out = net(x)
# must: vanish|shrink|shrunk
# must: sigmoid
# must: relu|ReLU|residual|normali[sz]|init
# never: zero_grad|retain
import torch
import torch.nn as nn

torch.manual_seed(0)
layers = []
for _ in range(20):
    layers += [nn.Linear(8, 8), nn.Sigmoid()]
net = nn.Sequential(*layers, nn.Linear(8, 1))
x = torch.randn(16, 8)
y = torch.randn(16, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(3):
    out = net(x)
    loss = nn.functional.mse_loss(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item(), net[0].weight.grad.norm().item())
