"""TransformedDistribution, LogNormal, and the transforms."""
import torch
from torch import tensor
from torch.distributions import LogNormal, MultivariateNormal, Normal, TransformedDistribution, Uniform
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
log_normal = LogNormal(a, b)
show(log_normal)
print("  mode", log_normal.mode, "cdf", log_normal.cdf(tensor([2.5, 2.25])), "icdf", log_normal.icdf(tensor(0.3)))
try_each(log_normal, "entropy")
for distribution in (
    TransformedDistribution(Normal(a, b), [T.TanhTransform(cache_size=1)]),
    TransformedDistribution(Normal(a, b), [T.ExpTransform(), T.AffineTransform(1.0, 2.0)]),
    TransformedDistribution(Uniform(0.0, 1.0), [T.SigmoidTransform().inv, T.AffineTransform(a, b)]),
    TransformedDistribution(Normal(a, b), [T.AffineTransform(1.0, 2.0, event_dim=1), T.TanhTransform()]),
    TransformedDistribution(MultivariateNormal(a, torch.eye(2)), [T.AffineTransform(a, -2.0), T.SigmoidTransform()]),
    TransformedDistribution(Normal(0.0, 1.0), []),
):
    sample = distribution.rsample((2,))
    print(distribution, sample, distribution.log_prob(sample), distribution.has_rsample)
    print(distribution.batch_shape, distribution.event_shape, distribution.support)
    wider = distribution.expand((3, *distribution.batch_shape))
    print(wider.batch_shape, wider.event_shape, wider.sample())
falling = TransformedDistribution(Normal(a, b), [T.AffineTransform(1.0, -2.0)])
print(falling.cdf(a), falling.icdf(tensor(0.2)))

x = tensor([0.25, -0.5, 1.0])
for transform in (
    T.ExpTransform(),
    T.SigmoidTransform(),
    T.TanhTransform(),
    T.AffineTransform(1.0, -2.0),
    T.AffineTransform(1.0, tensor(3.0), event_dim=1),
    T.ExpTransform().inv.inv,
):
    y = transform(x)
    print(transform, y, transform.inv(y), transform.log_abs_det_jacobian(x, y), transform.bijective)
print(T.ExpTransform().inv, T.AffineTransform(1.0, -2.0).inv(x))
print(T.ExpTransform() == T.ExpTransform(), T.AffineTransform(1.0, 2.0) == T.AffineTransform(1.0, 2.0), T.TanhTransform().sign)

mean, log_std = torch.zeros(3, requires_grad=True), torch.zeros(3, requires_grad=True)
squashed = TransformedDistribution(Normal(mean, log_std.exp()), [T.TanhTransform(cache_size=1)])
action = squashed.rsample()
squashed.log_prob(action).sum().backward()
print(action, mean.grad, log_std.grad)
