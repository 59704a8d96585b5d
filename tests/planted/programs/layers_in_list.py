# engine: torch
# cause: the hidden layers stand in a plain list, so parameters() and the optimizer do not have them
# line: self.hidden = [nn.Linear(width, width) for _ in range(3)]
# must: list
# must: ModuleList|not registered|parameters\(\)|optimi[sz]er
# from: https://www.engineermaxxing.com/micro/lessons/pytorch-internals.html
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, features=10, width=16):
        super().__init__()
        self.first = nn.Linear(features, width)
        self.hidden = [nn.Linear(width, width) for _ in range(3)]
        self.last = nn.Linear(width, 1)

    def forward(self, x):
        x = F.relu(self.first(x))
        for layer in self.hidden:
            x = F.relu(layer(x))
        return self.last(x)


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
x, y = torch.randn(64, 10), torch.randn(64, 1)
for epoch in range(5):
    optimizer.zero_grad()
    loss = F.mse_loss(net(x), y)
    loss.backward()
    optimizer.step()
