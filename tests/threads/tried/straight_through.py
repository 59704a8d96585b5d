# A straight-through estimate whose codebook gets no gradient: without detach() the encoder's is 0.
import torch
from torch import nn

torch.manual_seed(0)
encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
codebook = nn.Parameter(torch.randn(8, 2))
opt = torch.optim.SGD([*encoder.parameters(), *decoder.parameters(), codebook], lr=0.1)
x = torch.randn(16, 4)
for _ in range(6):
    z = encoder(x)
    nearest = (z[:, None] - codebook).pow(2).sum(2).argmin(1)
    q = z + (codebook[nearest] - z).detach()
    loss = (decoder(q) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
