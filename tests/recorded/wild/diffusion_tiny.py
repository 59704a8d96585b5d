import torch
import torch.nn as nn
import matplotlib.pyplot as plt

torch.manual_seed(0)
T = 20
betas = torch.linspace(1e-4, 0.2, T)
alphas = 1. - betas
alphas_cumprod = torch.cumprod(alphas, dim=0)


def extract(a, t, x_shape):
    out = a.gather(-1, t)
    return out.reshape(t.shape[0], *((1,) * (len(x_shape) - 1)))


def q_sample(x0, t, noise=None):
    if noise is None:
        noise = torch.randn_like(x0)
    return extract(alphas_cumprod.sqrt(), t, x0.shape) * x0 + extract((1 - alphas_cumprod).sqrt(), t, x0.shape) * noise


class Denoiser(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.time = nn.Embedding(T, dim)
        self.inp, self.mid, self.out = nn.Linear(2, dim), nn.Linear(dim, dim), nn.Linear(dim, 2)

    def forward(self, x, t):
        h = nn.functional.silu(self.inp(x) + self.time(t))
        return self.out(nn.functional.silu(self.mid(h)))


model = Denoiser()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
angle = torch.rand(64) * 6.2832
x0 = torch.stack([angle.cos(), angle.sin()], 1)
for step in range(61):
    t = torch.randint(0, T, (64,))
    noise = torch.randn_like(x0)
    loss = nn.functional.smooth_l1_loss(model(q_sample(x0, t, noise), t), noise)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print("Loss:", round(loss.item(), 4))


@torch.no_grad()
def sample(n):
    x = torch.randn(n, 2)
    for i in reversed(range(T)):
        t = torch.full((n,), i, dtype=torch.long)
        mean = (x - betas[i] * model(x, t) / (1 - alphas_cumprod[i]).sqrt()) / alphas[i].sqrt()
        x = mean if i == 0 else mean + betas[i].sqrt() * torch.randn_like(x)
        yield i, x


for i, x in sample(32):
    if i in (T - 1, 0):
        plt.scatter(x[:, 0], x[:, 1], alpha=0.5, label=f't={i}')
        print(i, f'{x.norm(dim=1).mean():.3f}')
plt.legend()
plt.show()
