# engine: torch
# cause: the generator's own step still takes the detached fake images, so the generator has no gradient
# line: fake = generator(noise).detach()
# must: detach
# must: generator|\bnet
import torch
import torch.nn as nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 12), nn.Tanh())
discriminator = nn.Sequential(nn.Linear(12, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
real, ones, zeros = torch.rand(16, 12), torch.ones(16, 1), torch.zeros(16, 1)

for step in range(2):
    noise = torch.randn(16, 8)
    fake = generator(noise).detach()
    loss_d = bce(discriminator(real), ones) + bce(discriminator(fake), zeros)
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()

    loss_g = bce(discriminator(fake), ones)
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
