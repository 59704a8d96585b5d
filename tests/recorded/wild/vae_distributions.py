"""A variational autoencoder written with torch.distributions, and its samples."""

import torch
import torch.nn as nn
from torch.distributions import Bernoulli, Independent, Normal, kl_divergence

torch.manual_seed(11)


class Encoder(nn.Module):
    def __init__(self, size, latent):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(size, 24), nn.ReLU())
        self.loc, self.log_scale = nn.Linear(24, latent), nn.Linear(24, latent)

    def forward(self, x):
        h = self.net(x)
        return Independent(Normal(self.loc(h), self.log_scale(h).clamp(-5, 2).exp()), 1)


class Decoder(nn.Module):
    def __init__(self, size, latent):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(latent, 24), nn.ReLU(), nn.Linear(24, size))

    def forward(self, z):
        return Independent(Bernoulli(logits=self.net(z)), 1)


size, latent = 16, 2
encoder, decoder = Encoder(size, latent), Decoder(size, latent)
prior = Independent(Normal(torch.zeros(latent), torch.ones(latent)), 1)
data = (torch.rand(96, size) < torch.linspace(0.1, 0.9, size)).float()
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=5e-3)
for epoch in range(8):
    total = 0.0
    for batch in torch.utils.data.DataLoader(data, batch_size=32, shuffle=True):
        posterior = encoder(batch)
        z = posterior.rsample()
        elbo = decoder(z).log_prob(batch) - kl_divergence(posterior, prior)
        loss = -elbo.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(batch)
    if epoch % 2 == 1:
        print(f"epoch {epoch + 1}: -elbo {total / len(data):.3f}")
print(encoder(data[:2]), prior, posterior.base_dist.scale.shape)
print(decoder(prior.sample((3,))).sample())
print(decoder(prior.sample()).mean.round(decimals=2))
