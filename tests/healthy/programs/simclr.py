import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
encoder = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
head = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
opt = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=1e-3)


def nt_xent(a, b, temperature=0.5):
    z = F.normalize(torch.cat([a, b]), dim=1)
    scores = z @ z.T / temperature
    scores.fill_diagonal_(float("-inf"))
    n = len(a)
    partner = torch.arange(2 * n).roll(n)
    return F.cross_entropy(scores, partner)


for step in range(3):
    images = torch.rand(6, 3, 8, 8)
    a, b = images + 0.1 * torch.randn_like(images), images.flip(-1)
    loss = nt_xent(head(encoder(a)), head(encoder(b)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"step {step}: {loss.item():.3f}")
