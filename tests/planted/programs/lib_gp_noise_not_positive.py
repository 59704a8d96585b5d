# engine: torch
# cause: the noise variance of a Gaussian process starts at 0 and its logarithm is taken
# line: log_noise = noise.log()
# line: noise = torch.zeros(1, requires_grad=True)
# must: log
# must: 0|inf
# never: learning rate|lr=
import torch

torch.manual_seed(0)
x = torch.linspace(0, 1, 10)[:, None]
y = torch.sin(6 * x).squeeze(1)
length = torch.tensor([0.3], requires_grad=True)
noise = torch.zeros(1, requires_grad=True)
opt = torch.optim.Adam([length, noise], lr=0.05)
for step in range(3):
    kernel = torch.exp(-torch.cdist(x, x).pow(2) / (2 * length**2))
    covariance = kernel + (noise + 1e-2) * torch.eye(10)
    log_noise = noise.log()
    loss = 0.5 * y @ torch.linalg.solve(covariance, y) + 0.5 * torch.logdet(covariance) + 0.01 * log_noise.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
