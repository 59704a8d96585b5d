# engine: gradtrace
# ask: mu
# line: likelihood = torch.prod(density)
# line: nll = -torch.log(likelihood)
# must: underflow|0
# must: prod
# must: sum|log
# never: smaller lr|clamp_min, \+ eps\)
import torch

torch.manual_seed(0)
samples = torch.randn(200) * 2 + 1
mu = torch.tensor(0.0, requires_grad=True)
log_sigma = torch.tensor(0.0, requires_grad=True)


def pdf(x):
    sigma = torch.exp(log_sigma)
    return torch.exp(-0.5 * ((x - mu) / sigma) ** 2) / (sigma * 2.5066283)


density = pdf(samples)
likelihood = torch.prod(density)
nll = -torch.log(likelihood)
nll.backward()
print(nll.item(), mu.grad, log_sigma.grad)
