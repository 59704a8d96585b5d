import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(12):
    optimizer.zero_grad()
    loss = net(torch.randn(8, 4)).pow(2).mean() / 4
    loss.backward()
    if i % 4 == 3:
        optimizer.step()
