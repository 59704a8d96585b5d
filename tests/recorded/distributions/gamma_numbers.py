"""Gamma, Beta and Dirichlet: samples by rejection, in PyTorch's order of random numbers."""
import torch
from torch import tensor
from torch.distributions import Beta, Dirichlet, Gamma

def show(distribution):
    print(distribution, tuple(distribution.batch_shape), tuple(distribution.event_shape))
    for name in ("mean", "variance", "stddev"):
        print(" ", name, getattr(distribution, name))
    drawn = distribution.sample((3,))
    print("  sample", drawn)
    print("  one", distribution.sample())
    print("  log_prob", distribution.log_prob(drawn))
    wider = distribution.expand((2, *distribution.batch_shape))
    print("  expanded", wider, wider.sample())


def try_each(distribution, *names):
    for name in names:
        print(" ", name, getattr(distribution, name)())


torch.manual_seed(1)
a, b = tensor([0.5, 1.5]), tensor([1.0, 2.5])
for distribution in (
    Gamma(a, b),
    Gamma(a.double(), b.double()),
    Gamma(tensor([0.01, 30.0, 2.0]), 1.0),
    Beta(2.0, 3.0),
    Beta(a + 1, b),
    Dirichlet(tensor([0.5, 1.0, 2.0])),
    Dirichlet(torch.full((2, 4), 0.3)),
):
    show(distribution)
    try_each(distribution, "entropy")
print(Gamma(a, b).mode, Beta(3.0, 2.0).mode, Dirichlet(tensor([2.0, 3.0])).mode)
print(Gamma(a, b).cdf(tensor(1.0)))
many = Gamma(2.0, 3.0).sample((1000,))
print(f"{many.mean():.6f} {many.std():.6f}", torch.rand(2), torch.randn(2))
concentration = a.clone().requires_grad_()
print(Gamma(concentration, b).log_prob(tensor([1.0, 2.0])))
Beta(concentration, b).log_prob(tensor([0.3, 0.6])).sum().backward()
print(concentration.grad)
