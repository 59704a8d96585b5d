import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.mu, self.logvar = nn.Linear(16, 12), nn.Linear(12, 3), nn.Linear(12, 3)
        self.dec = nn.Sequential(nn.Linear(3, 12), nn.ReLU(), nn.Linear(12, 16))

    def forward(self, x):
        h = F.relu(self.enc(x))
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar


model = VAE()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(4):
    x = torch.rand(8, 16)
    out, mu, logvar = model(x)
    kl = -0.5 * (1 + logvar - mu**2 - logvar.exp()).sum()
    loss = F.binary_cross_entropy_with_logits(out, x, reduction="sum") + kl
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item(), kl.item())
