import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(10)
enc, dec = nn.Linear(8, 6), nn.Linear(3, 8)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=0.01)
x = torch.rand(9, 8)
for step in range(4):
    mu, logvar = enc(x).chunk(2, 1)
    z = mu + (0.5 * logvar).exp() * torch.randn(9, 3)
    rec = F.mse_loss(dec(z), x, reduction="sum") / 9
    kl = -0.5 * (1 + logvar - mu ** 2 - logvar.exp()).sum(1).mean()
    loss = rec + 0.1 * kl
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"{loss.item():.6f}")
