# engine: torch
# cause: nothing clears the discriminator's gradients after the generator's pass, which fills them too
# line: g_loss.backward()
# must: g_loss
# must: opt_d
# must: zero_grad|clear
# never: never used|diverges|vanishes
# right:     d_loss.backward() ==>     opt_d.zero_grad()\n    d_loss.backward()
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.start = nn.Linear(8, 4 * 16)
        self.up = nn.ConvTranspose2d(4, 1, 4, stride=2, padding=1)

    def forward(self, z):
        return torch.tanh(self.up(torch.relu(self.start(z)).view(-1, 4, 4, 4)))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.Linear(128, 1)

    def forward(self, x):
        return self.fc(F.leaky_relu(self.conv(x), 0.2).flatten(1))


generator, critic = Generator(), Critic()
opt_g = torch.optim.Adam(generator.parameters(), lr=2e-4)
opt_d = torch.optim.Adam(critic.parameters(), lr=2e-4)
for step in range(4):
    real, noise = torch.rand(6, 1, 8, 8) * 2 - 1, torch.randn(6, 8)
    fake = generator(noise)
    d_loss = F.softplus(critic(fake.detach())).mean() + F.softplus(-critic(real)).mean()
    d_loss.backward()
    opt_d.step()
    opt_g.zero_grad()
    g_loss = F.softplus(-critic(fake)).mean()
    g_loss.backward()
    opt_g.step()
