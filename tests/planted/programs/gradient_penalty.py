# engine: gradtrace
# line: grads, = torch.autograd.grad(scores.sum(), mixed)
# must: create_graph
# must: True
# never: smaller lr|requires_grad_|let lam
import torch
import torch.nn as nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(critic.parameters(), lr=1e-3)
lam = 10.0


def penalty(real, fake):
    eps = torch.rand(real.shape[0], 1)
    mixed = (eps * real + (1 - eps) * fake).requires_grad_()
    scores = critic(mixed)
    grads, = torch.autograd.grad(scores.sum(), mixed)
    return ((grads.norm(dim=1) - 1) ** 2).mean()


for step in range(2):
    real = torch.randn(4, 2) + 2
    fake = torch.randn(4, 2)
    wasserstein = critic(fake).mean() - critic(real).mean()
    loss = wasserstein + lam * penalty(real, fake)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
