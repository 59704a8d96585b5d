# engine: torch
# cause: the last beta is 1, so nothing is left of the signal, and predicting x0 divides by sqrt(0)
# line: betas = torch.linspace(1e-4, 1.0, 10)
# line: x0 = (noisy - (1 - abar[t]).sqrt() * noise) / abar[t].sqrt()
# must: nan|inf|not finite
# must: div|0
# never: learning rate|lr=
import torch
from torch import nn

torch.manual_seed(0)
betas = torch.linspace(1e-4, 1.0, 10)
abar = torch.cumprod(1 - betas, 0)
net = nn.Sequential(nn.Linear(9, 32), nn.SiLU(), nn.Linear(32, 8))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
for step in range(3):
    x = torch.randn(16, 8)
    t, eps = torch.arange(16).remainder(10)[:, None], torch.randn_like(x)
    noisy = abar[t].sqrt() * x + (1 - abar[t]).sqrt() * eps
    noise = net(torch.cat([noisy, t / 10], 1))
    x0 = (noisy - (1 - abar[t]).sqrt() * noise) / abar[t].sqrt()
    loss = nn.functional.mse_loss(x0, x)
    opt.zero_grad()
    loss.backward()
    opt.step()
