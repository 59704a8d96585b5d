# engine: gradtrace
# ask: base
# line: self.weight = nn.Parameter(base.data * 2)
# must: .data|Parameter
# must: copy|history|new leaf
# never: smaller lr
import torch
import torch.nn as nn

torch.manual_seed(0)
base = torch.randn(3, 2, requires_grad=True)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(base.data * 2)

    def forward(self, x):
        return x @ self.weight


layer = Scaled()
x = torch.randn(4, 3)
y = torch.randn(4, 2)
optimizer = torch.optim.SGD([base], lr=0.1)
for i in range(3):
    loss = ((layer(x) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(base.grad)
