"""TransformedDistribution, the distributions made of it, and the transforms."""
import torch
from torch import tensor
from torch.distributions import (
    Gumbel,
    HalfCauchy,
    HalfNormal,
    LogNormal,
    Normal,
    Pareto,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
    TransformedDistribution,
    Uniform,
    Weibull,
)
from torch.distributions import transforms as T

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


torch.manual_seed(5)
a, b = tensor([0.5, 1.5]), tensor([1.0, 2.0])
for distribution in (LogNormal(a, b), HalfNormal(b), HalfCauchy(b), Gumbel(a, b), Pareto(b, b + 2), Weibull(b, b)):
    show(distribution)
    print("  mode", distribution.mode, "cdf", distribution.cdf(tensor([2.5, 2.25])))
for distribution in (LogNormal(a, b), HalfNormal(b), Gumbel(a, b), Pareto(b, b + 1), Weibull(b, b)):
    try_each(distribution, "entropy")
temperature = tensor(0.5)
for distribution in (
    RelaxedBernoulli(temperature, tensor([0.3, 0.6])),
    RelaxedOneHotCategorical(temperature, tensor([0.3, 0.6, 0.1])),
    TransformedDistribution(Normal(a, b), [T.TanhTransform(cache_size=1)]),
    TransformedDistribution(Normal(a, b), [T.ExpTransform(), T.AffineTransform(1.0, 2.0)]),
    TransformedDistribution(Uniform(0.0, 1.0), [T.SigmoidTransform().inv, T.AffineTransform(a, b)]),
):
    sample = distribution.rsample((2,))
    print(distribution, sample, distribution.log_prob(sample), distribution.has_rsample)

x = tensor([0.25, -0.5, 1.0])
for transform in (
    T.ExpTransform(),
    T.SigmoidTransform(),
    T.TanhTransform(),
    T.SoftplusTransform(),
    T.AffineTransform(1.0, -2.0),
    T.AffineTransform(1.0, tensor(3.0), event_dim=1),
    T.StickBreakingTransform(),
    T.ComposeTransform([T.AffineTransform(0.0, 0.5), T.TanhTransform()]),
    T.IndependentTransform(T.ExpTransform(), 1),
    T.ReshapeTransform((3,), (3, 1)),
    T.ExpTransform().inv.inv,
):
    y = transform(x)
    print(transform, y, transform.inv(y), transform.log_abs_det_jacobian(x, y), transform.bijective)
print(T.SoftmaxTransform()(x), T.PowerTransform(2.0)(x.abs()), T.AbsTransform()(x), T.ExpTransform().inv)
print(T.ExpTransform() == T.ExpTransform(), T.AffineTransform(1.0, 2.0) == T.AffineTransform(1.0, 2.0), T.TanhTransform().sign)

mean, log_std = torch.zeros(3, requires_grad=True), torch.zeros(3, requires_grad=True)
squashed = TransformedDistribution(Normal(mean, log_std.exp()), [T.TanhTransform(cache_size=1)])
action = squashed.rsample()
squashed.log_prob(action).sum().backward()
print(action, mean.grad, log_std.grad)
logits = torch.zeros(4, requires_grad=True)
soft = RelaxedOneHotCategorical(tensor(0.7), logits=logits).rsample()
soft[0].backward()
print(soft, logits.grad)
