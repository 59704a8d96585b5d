import torch
from torch import nn
torch.manual_seed(0)
class Coupling(nn.Module):
    def __init__(self):
        super().__init__(); self.net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 2))
    def forward(self, x):
        a, b = x.chunk(2, 1); s, t = self.net(a).chunk(2, 1)
        return torch.cat([b * s.exp() + t, a], 1), s.sum(1)
layers = nn.ModuleList(Coupling() for _ in range(3)); opt = torch.optim.Adam(layers.parameters(), lr=1e-3)
for step in range(4):
    z = torch.randn(64, 2) * torch.tensor([2.0, 0.5]); logdet = torch.zeros(64)
    for layer in layers:
        z, ld = layer(z)
        logdet = ld
    loss = (0.5 * z.pow(2).sum(1) - logdet).mean()
    opt.zero_grad(); loss.backward(); opt.step()
