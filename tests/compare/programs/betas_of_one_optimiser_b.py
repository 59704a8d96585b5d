import torch
from torch import nn

def mlp(i, o, act):
    return nn.Sequential(nn.Linear(i, 16), act, nn.Linear(16, o))

torch.manual_seed(7)
generator = mlp(4, 2, nn.ReLU())
critic = mlp(2, 1, nn.LeakyReLU(0.2))
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(32, 1), torch.zeros(32, 1)
opts = {
    "g": torch.optim.Adam(generator.parameters(), lr=0.002, betas=(0.5, 0.999)),
    "d": torch.optim.Adam(critic.parameters(), lr=0.002, betas=(0.9, 0.999)),
}
samples = torch.randn(32, 2) * 0.3 + 1

def critic_step(fakes):
    opts["d"].zero_grad()
    loss = bce(critic(samples), ones) + bce(critic(fakes.detach()), zeros)
    loss.backward()
    opts["d"].step()
    return loss.item()

def generator_step(fakes):
    opts["g"].zero_grad()
    loss = bce(critic(fakes), ones)
    loss.backward()
    opts["g"].step()
    return loss.item()

for it in range(5):
    fakes = generator(torch.randn(32, 4))
    print(f"{critic_step(fakes):.6f}")
    print(f"{generator_step(fakes):.6f}")
