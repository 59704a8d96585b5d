# engine: torch
# cause: the gradient penalty is taken without create_graph=True, so it is a constant for the critic
# line: gradient = torch.autograd.grad(score.sum(), mixed)[0]
# must: create_graph
# from: https://nn.labml.ai/gan/wasserstein/gradient_penalty/index.html
import torch
import torch.nn as nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(critic.parameters(), lr=1e-4)
real, fake = torch.randn(16, 6), torch.randn(16, 6) + 1


def gradient_penalty(real, fake):
    eps = torch.rand(real.shape[0], 1)
    mixed = (eps * real + (1 - eps) * fake).requires_grad_()
    score = critic(mixed)
    gradient = torch.autograd.grad(score.sum(), mixed)[0]
    return (gradient.norm(2, dim=1) - 1).pow(2).mean()


penalty = gradient_penalty(real, fake)
optimizer.zero_grad()
(10 * penalty).backward()
optimizer.step()
