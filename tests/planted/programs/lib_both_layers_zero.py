# engine: torch
# ask: model.down.weight
# cause: both factors of the adapter start at 0, so neither ever gets a gradient
# line: nn.init.zeros_(self.down.weight)
# line: nn.init.zeros_(self.up.weight)
# must: zero|is 0
# must: up.weight|zeros
# never: vanishes|dead
import torch
from torch import nn

torch.manual_seed(0)


class Adapter(nn.Module):
    def __init__(self, width=12, rank=4):
        super().__init__()
        self.base = nn.Linear(width, width).requires_grad_(False)
        self.down, self.up = nn.Linear(width, rank, bias=False), nn.Linear(rank, width, bias=False)
        nn.init.zeros_(self.down.weight)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


model = Adapter()
opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-2)
for step in range(3):
    x = torch.randn(8, 12)
    loss = nn.functional.mse_loss(model(x), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
