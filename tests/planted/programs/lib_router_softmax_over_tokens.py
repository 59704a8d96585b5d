# engine: gradtrace
# engine: torch
# cause: the router's softmax goes over the tokens, not over the experts
# line: weights = self.router(x).softmax(dim=0)
# must: softmax
# must: dim=-1
# never: diverges|vanishes|never used
# right: dim=0 ==> dim=-1
import torch
from torch import nn

torch.manual_seed(0)


class Mixture(nn.Module):
    def __init__(self, width=12, experts=4):
        super().__init__()
        self.router = nn.Linear(width, experts)
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(experts))

    def forward(self, x):
        weights = self.router(x).softmax(dim=0)
        outputs = torch.stack([expert(x) for expert in self.experts], dim=-1)
        return x + (outputs * weights.unsqueeze(1)).sum(-1)


net = nn.Sequential(nn.Linear(6, 12), Mixture(), nn.Linear(12, 3))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
for step in range(3):
    x, y = torch.randn(16, 6), torch.randint(0, 3, (16,))
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
