import torch
from torch import nn

class Regress(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 12), nn.Linear(12, 2)

    def forward(self, x):
        return self.b(torch.log1p(self.a(x).exp()))

torch.manual_seed(31)
m = Regress()
inputs, outputs = torch.randn(16, 3), torch.randn(16, 2)
optimizer = torch.optim.SGD(m.parameters(), lr=0.05, weight_decay=0.01)
rounds = list(zip(inputs.split(4), outputs.split(4)))
rounds = [rounds[0], rounds[2], rounds[1], rounds[3]]
for _ in range(2):
    for a, b in rounds:
        m.zero_grad()
        loss = (m(a) - b).pow(2).mean()
        loss.backward()
        optimizer.step()
        print(f"{loss.item():.6f}")
