import torch
from torch import nn

class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Linear(8, 6), nn.Linear(3, 8)

    def forward(self, inp):
        stats = self.encode(inp)
        mean, logvar = stats[:, :3], stats[:, 3:]
        eps = torch.randn_like(mean)
        return self.decode(mean + torch.exp(logvar * 0.5) * eps), mean, logvar

torch.manual_seed(10)
vae = VAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=1e-2)
images = torch.rand(9, 8)
preview = torch.randn(2, 3)
for it in range(4):
    out, mean, logvar = vae(images)
    recon = (out - images).pow(2).sum() / len(images)
    kld = 0.5 * (mean.pow(2) + logvar.exp() - 1 - logvar).sum(dim=1).mean()
    loss = recon + kld * 0.1
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.6f}")
sampled = vae.decode(preview)
