import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(7)
G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
og = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.999))
od = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.999))
real = torch.randn(32, 2) * 0.3 + 1
for step in range(5):
    z = torch.randn(32, 4)
    fake = G(z)
    d_loss = F.softplus(-D(real)).mean() + F.softplus(D(fake.detach())).mean()
    od.zero_grad()
    d_loss.backward()
    od.step()
    g_loss = F.softplus(-D(fake)).mean()
    og.zero_grad()
    g_loss.backward()
    og.step()
    print(f"{d_loss.item():.6f}")
    print(f"{g_loss.item():.6f}")
