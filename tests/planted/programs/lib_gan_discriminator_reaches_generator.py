# engine: torch
# cause: the fake batch is not detached in the discriminator's loss, whose gradients are then part of the generator's step
# line: d_loss.backward()
# line: d_loss = bce(D(real), torch.ones(8, 1)) + bce(D(fake), torch.zeros(8, 1))
# must: d_loss
# must: opt_g|generator
# must: detach|clear|zero_grad
# never: gradients are not zeroed|never used|diverges
# right: D(fake) ==> D(fake.detach())
import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=2e-4)
opt_d = torch.optim.Adam(D.parameters(), lr=2e-4)
bce = nn.BCEWithLogitsLoss()
for step in range(4):
    real, fake = torch.randn(8, 2), G(torch.randn(8, 4))
    opt_d.zero_grad()
    opt_g.zero_grad()
    d_loss = bce(D(real), torch.ones(8, 1)) + bce(D(fake), torch.zeros(8, 1))
    d_loss.backward()
    opt_d.step()
    g_loss = bce(D(G(torch.randn(8, 4))), torch.ones(8, 1))
    g_loss.backward()
    opt_g.step()
