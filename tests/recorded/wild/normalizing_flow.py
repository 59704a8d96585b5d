import torch
import torch.nn as nn


class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(1, 8), nn.LeakyReLU(0.1), nn.Linear(8, 2))

    def forward(self, x):
        a, b = x.split(1, dim=1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, dim=1)
        s = torch.tanh(s)
        b = b * s.exp() + t
        out = (b, a) if self.flip else (a, b)
        return torch.cat(out, 1), s.squeeze(1)

    def inverse(self, z):
        a, b = z.split(1, dim=1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, dim=1)
        b = (b - t) * (-torch.tanh(s)).exp()
        return torch.cat((b, a) if self.flip else (a, b), 1)


torch.manual_seed(0)
flow = nn.ModuleList(Coupling(i % 2 == 1) for i in range(4))
opt = torch.optim.Adamax(flow.parameters(), lr=0.02)
for step in range(41):
    x = torch.randn(64, 2)
    x[:, 1] = x[:, 1] * 0.3 + x[:, 0] ** 2
    z, log_det = x, 0
    for layer in flow:
        z, ld = layer(z)
        log_det = log_det + ld
    nll = (0.5 * z.pow(2).sum(1) - log_det).mean()
    opt.zero_grad()
    nll.backward()
    opt.step()
    if step % 10 == 0:
        print(f'{step} {nll.item():.4f}')
back = z
for layer in reversed(flow):
    back = layer.inverse(back)
print(torch.allclose(back, x, atol=1e-4))
