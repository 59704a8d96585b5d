import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(8, 16), nn.Linear(16, 4)

    def forward(self, t):
        return self.two(torch.tanh(self.one(t)))

torch.manual_seed(4)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
inputs, targets = torch.randn(24, 8), torch.randn(24, 4)
micro = list(zip(inputs.chunk(3), targets.chunk(3)))
for epoch in range(4):
    for n, (a, b) in enumerate(micro):
        loss = (net(a) - b).square().mean()
        loss.backward()
        if n == len(micro) - 1:
            optimizer.step()
            optimizer.zero_grad()
    print(f"{loss.item():.6f}")
