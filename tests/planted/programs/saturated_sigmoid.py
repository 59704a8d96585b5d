# engine: torch
# cause: logits in the hundreds saturate the sigmoid, whose derivative is 0 in float32
# line: gate = torch.sigmoid(self.gate(x))
# must: sigmoid
# must: saturat|zero|0
# ask: model.gate.weight
import torch
import torch.nn as nn

torch.manual_seed(0)


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.value, self.head = nn.Linear(6, 12), nn.Linear(6, 12), nn.Linear(12, 1)
        nn.init.constant_(self.gate.bias, 300.0)

    def forward(self, x):
        gate = torch.sigmoid(self.gate(x))
        return self.head(gate * torch.tanh(self.value(x)))


model = Gated()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x, y = torch.randn(32, 6), torch.randn(32, 1)
for step in range(2):
    optimizer.zero_grad()
    loss = (model(x) - y).pow(2).mean()
    loss.backward()
    optimizer.step()
