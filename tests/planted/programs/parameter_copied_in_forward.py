# engine: torch
# cause: forward makes a new Parameter of the masked weight, a leaf of its own, so weight gets no gradient
# line: masked = nn.Parameter(self.weight * self.mask)
# must: Parameter
# must: new leaf|copy|copies|own leaf|history|cut|detach
# ask: layer.weight
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MaskedLinear(nn.Module):
    """A linear layer whose weights of a mask stay zero."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs) * 0.1)
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.register_buffer("mask", (torch.rand(outputs, inputs) > 0.5).float())

    def forward(self, x):
        masked = nn.Parameter(self.weight * self.mask)
        return F.linear(x, masked, self.bias)


layer = MaskedLinear(8, 3)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
x, y = torch.randn(16, 8), torch.randint(0, 3, (16,))
for step in range(2):
    loss = F.cross_entropy(layer(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
