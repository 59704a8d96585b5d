# engine: torch
# cause: logvar is some thousands, and its exp is inf
# line: kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
# line: std = (0.5 * logvar).exp()
# must: exp
# must: inf
# never: sqrt
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(20, 8), nn.Linear(4, 20)

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, dim=1)
        std = (0.5 * logvar).exp()
        z = mu + std * torch.randn_like(std)
        return self.dec(z), mu, logvar


model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
# pixels of 0 to 65535 that nobody scaled
x = torch.randint(0, 65536, (16, 20)).float()
recon, mu, logvar = model(x)
kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
loss = F.mse_loss(recon, x) + kl
optimizer.zero_grad()
loss.backward()
optimizer.step()
