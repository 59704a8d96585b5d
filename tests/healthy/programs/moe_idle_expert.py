import torch
from torch import nn
torch.manual_seed(0)
class MoE(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(4, 3)
        self.experts = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        with torch.no_grad():
            self.router.bias[0] = -100.
    def forward(self, x):
        p = self.router(x).softmax(-1)
        top, i = p.max(-1)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            chosen = i == e
            if chosen.any():
                out[chosen] = expert(x[chosen]) * top[chosen, None]
        return out
net = nn.Sequential(MoE(), nn.Linear(4, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(3):
    x, y = torch.randn(8, 4), torch.randn(8, 1)
    loss = ((net(x) - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
