# engine: gradtrace
# ask: layer.A
# line: self.A = nn.Parameter(torch.zeros(6, rank))
# line: self.B = nn.Parameter(torch.zeros(rank, 3))
# must: zero|0
# must: B
# must: randn|random|normal|other values
# never: smaller lr|dead
import torch
import torch.nn as nn

torch.manual_seed(0)


class LoRALinear(nn.Module):
    def __init__(self, rank=2):
        super().__init__()
        self.base = nn.Linear(6, 3)
        for p in self.base.parameters():
            p.requires_grad_(False)
        self.A = nn.Parameter(torch.zeros(6, rank))
        self.B = nn.Parameter(torch.zeros(rank, 3))

    def forward(self, x):
        return self.base(x) + x @ self.A @ self.B


layer = LoRALinear()
opt = torch.optim.Adam([layer.A, layer.B], lr=1e-2)
x, y = torch.randn(8, 6), torch.randn(8, 3)
for step in range(4):
    loss = ((layer(x) - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
