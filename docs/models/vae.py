import torch
import torch.nn as nn
import torch.nn.functional as F


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(16, 8)
        self.mean = nn.Linear(8, 2)
        self.log_var = nn.Linear(8, 2)
        self.decoder = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 16))

    def forward(self, x):
        h = F.relu(self.encoder(x))
        mean, log_var = self.mean(h), self.log_var(h)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_var)
        return torch.sigmoid(self.decoder(z)), mean, log_var


torch.manual_seed(0)
vae = VAE()
x = torch.rand(4, 16)
recon, mean, log_var = vae(x)
bce = F.binary_cross_entropy(recon, x, reduction="sum")
kld = -0.5 * torch.sum(1 + log_var - mean.pow(2) - log_var.exp())
loss = bce + kld
loss.backward()
