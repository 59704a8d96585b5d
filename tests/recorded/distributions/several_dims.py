"""MultivariateNormal and Independent."""
import torch
from torch import tensor
from torch.distributions import Independent, MultivariateNormal, Normal

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


torch.manual_seed(4)
covariance = torch.eye(3) * 2 + 0.5
tril = tensor([[1.0, 0.0], [0.5, 2.0]])
for distribution in (
    MultivariateNormal(torch.zeros(3), covariance),
    MultivariateNormal(torch.zeros(2, 2), scale_tril=tril),
    MultivariateNormal(torch.zeros(2), precision_matrix=tensor([[2.0, 0.5], [0.5, 1.0]])),
    Independent(Normal(torch.zeros(2, 3), torch.ones(2, 3)), 1),
    Independent(Normal(torch.zeros(20), torch.ones(20)), 1),
):
    show(distribution)
    try_each(distribution, "entropy")
print(MultivariateNormal(torch.zeros(2), scale_tril=tril).covariance_matrix)
print(MultivariateNormal(torch.zeros(2), scale_tril=tril).precision_matrix)
print(MultivariateNormal(torch.zeros(3, 2), scale_tril=tril).log_prob(torch.ones(4, 3, 2)).shape)

mean = torch.zeros(2, requires_grad=True)
factor = tril.clone().requires_grad_()
drawn = MultivariateNormal(mean, scale_tril=factor)
sample = drawn.rsample((5,))
(sample.pow(2).sum() - drawn.log_prob(tensor([1.0, -1.0]))).backward()
print(sample, mean.grad, factor.grad)
