"""Normal, Laplace, Uniform and Exponential: samples, moments, probabilities."""
import torch
from torch import tensor
from torch.distributions import Exponential, Laplace, Normal, Uniform

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


torch.manual_seed(0)
loc, scale = tensor([0.5, 1.5]), tensor([1.0, 2.0])
for distribution in (
    Normal(0.0, 1.0),
    Normal(loc, scale),
    Normal(torch.zeros(17), torch.ones(17)),
    Normal(torch.zeros(3, 4, dtype=torch.float64), 2.0),
    Laplace(loc, scale),
    Uniform(loc, loc + scale),
    Exponential(scale),
):
    show(distribution)
    try_each(distribution, "entropy", "perplexity")
    print("  cdf", distribution.cdf(distribution.mean))
    print("  icdf", distribution.icdf(tensor(0.3)))
print(Normal(loc, scale).mode, Laplace(loc, scale).mode, Exponential(scale).mode, Uniform(0.0, 1.0).mode)
print(torch.rand(2))
