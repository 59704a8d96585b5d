"""Bernoulli, Binomial and Poisson, by probabilities and by logits."""
import torch
from torch import tensor
from torch.distributions import Bernoulli, Binomial, Poisson

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


torch.manual_seed(2)
p = tensor([0.3, 0.6])
for distribution in (
    Bernoulli(0.4),
    Bernoulli(p),
    Bernoulli(logits=tensor([[0.3, -0.6, 2.0]])),
    Binomial(5, p),
    Binomial(40, logits=tensor([0.2])),
    Poisson(tensor([0.3, 4.0, 30.0])),
):
    show(distribution)
    print(distribution)
for distribution in (Bernoulli(p), Binomial(3, p)):
    try_each(distribution, "entropy")
print(Bernoulli(p).enumerate_support(), Bernoulli(p).enumerate_support(False), Binomial(2, p).enumerate_support())
print(Bernoulli(tensor([0.2, 0.5, 0.7])).mode, Binomial(5, p).mode, Poisson(3.4).mode)
print(Bernoulli(p).probs, Bernoulli(p).logits, Bernoulli(logits=p).probs, Bernoulli(p).param_shape)
print(torch.rand(2))
