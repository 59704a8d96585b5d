# engine: torch
# cause: the minus of -0.5 is lost, so the loss rewards a divergence that grows
# line: kl = 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) / x.size(0)
# must: kl
# must: negative|sign|minus
# never: vanishes|learning rate
# right: kl = 0.5 ==> kl = -0.5
import torch
from torch import nn

torch.manual_seed(0)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.mu, self.logvar = nn.Linear(16, 24), nn.Linear(24, 4), nn.Linear(24, 4)
        self.dec = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 16))

    def forward(self, x):
        h = torch.relu(self.enc(x))
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        return self.dec(z), mu, logvar


model = VAE()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(4):
    x = torch.randn(16, 16)
    out, mu, logvar = model(x)
    recon = nn.functional.mse_loss(out, x, reduction="sum") / x.size(0)
    kl = 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) / x.size(0)
    loss = recon + kl
    opt.zero_grad()
    loss.backward()
    opt.step()
