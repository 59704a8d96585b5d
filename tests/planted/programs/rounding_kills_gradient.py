# engine: torch
# cause: torch.round has derivative zero everywhere, so quantised weights pass no gradient on
# line: return torch.round(x / step) * step
# must: round
# must: zero|0
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def quantise(x, bits=4):
    """x on a grid of 2**bits steps."""
    step = x.detach().abs().max() / 2 ** (bits - 1)
    return torch.round(x / step) * step


class QuantLinear(nn.Linear):
    def forward(self, x):
        return F.linear(x, quantise(self.weight), self.bias)


model = nn.Sequential(QuantLinear(10, 16), nn.ReLU(), QuantLinear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(32, 10), torch.randint(0, 2, (32,))
for epoch in range(2):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
