# engine: torch
# ask: model.router.weight
# cause: the router's scores only choose the expert; nothing is multiplied by them
# line: choice = self.router(x).argmax(-1)
# must: None
# must: argmax|index|choose
# never: detach|vanishes
import torch
from torch import nn

torch.manual_seed(0)


class MoE(nn.Module):
    def __init__(self, width=12, experts=3):
        super().__init__()
        self.router = nn.Linear(width, experts)
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(experts))

    def forward(self, x):
        choice = self.router(x).argmax(-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows = choice == i
            out[rows] = expert(x[rows])
        return out


model = MoE()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(3):
    x = torch.randn(32, 12)
    loss = nn.functional.mse_loss(model(x), x.roll(1, 1))
    opt.zero_grad()
    loss.backward()
    opt.step()
