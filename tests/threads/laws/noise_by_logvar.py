import torch
from torch import nn
torch.manual_seed(0)
enc = nn.Linear(16, 8); dec = nn.Linear(4, 16)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=1e-3)
for step in range(5):
    x = torch.rand(32, 16)
    mu, logvar = enc(x).chunk(2, dim=1)
    z = mu + logvar * torch.randn_like(mu)
    recon = torch.sigmoid(dec(z))
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    loss = nn.functional.binary_cross_entropy(recon, x, reduction="sum") / len(x) + kl
    opt.zero_grad(); loss.backward(); opt.step()
