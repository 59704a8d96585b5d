"""kl_divergence, the messages for arguments outside a constraint, and what a constraint says of itself."""
import torch
from torch import tensor
from torch.distributions import *  # noqa: F403
from torch.distributions import constraints, kl_divergence
a, b = tensor([0.5, 1.5]), tensor([1.0, 2.0])
for p, q in (
    (Normal(a, b), Normal(b, a)),
    (Normal(a, b), Laplace(a, b)),
    (Laplace(a, b), Laplace(b, a)),
    (Laplace(a, b), Normal(b, a)),
    (Uniform(a, a + b), Normal(a, b)),
    (Uniform(a, b), Uniform(a - 1, b + 1)),
    (Bernoulli(tensor([0.2, 0.0])), Bernoulli(tensor([0.5, 1.0]))),
    (Binomial(3, tensor([0.2, 0.4])), Binomial(3, tensor([0.5, 0.5]))),
    (Categorical(tensor([0.2, 0.3, 0.0])), Categorical(tensor([0.2, 0.3, 0.5]))),
    (OneHotCategorical(a), OneHotCategorical(b)),
    (Poisson(a), Poisson(b)),
    (Beta(a, b), Beta(b, a)),
    (Dirichlet(a), Dirichlet(b)),
    (Gamma(a, b), Gamma(b, a)),
    (Exponential(a), Exponential(b)),
    (LogNormal(a, b), LogNormal(b, a)),
    (Independent(Normal(a, b), 1), Independent(Normal(b, a), 1)),
    (MultivariateNormal(a, torch.eye(2)), MultivariateNormal(b, torch.eye(2) * 2)),
):
    print(type(p).__name__, type(q).__name__, kl_divergence(p, q))
try:
    kl_divergence(Categorical(a), Normal(0.0, 1.0))
except NotImplementedError as error:
    print(error)

for attempt in (
    lambda: Normal(0.0, -1.0),
    lambda: Normal(tensor([0.0, 1.0]), tensor([1.0, -1.0])),
    lambda: Normal(tensor(float("nan")), 1.0),
    lambda: Normal("a", 1.0),
    lambda: Normal(0.0, 1.0).log_prob(3.0),
    lambda: Normal(torch.zeros(3), 1.0).log_prob(torch.zeros(2)),
    lambda: Categorical(),
    lambda: Categorical(tensor([1.0, 1.0])).log_prob(tensor(5)),
    lambda: Bernoulli(tensor([1.5])),
    lambda: Bernoulli(0.5).log_prob(tensor(2.0)),
    lambda: Dirichlet(a).log_prob(tensor([1.0, 1.0])),
    lambda: Dirichlet(tensor(1.0)),
    lambda: MultivariateNormal(a, torch.ones(2, 2)),
    lambda: MultivariateNormal(a),
    lambda: Uniform(1.0, 0.0),
    lambda: Uniform(0.0, 1.0).log_prob(tensor(2.0)),
    lambda: Independent(Normal(0.0, 1.0), 1),
    lambda: TransformedDistribution(Normal(0.0, 1.0), [2]),
):
    try:
        print(attempt())
    except (ValueError, NotImplementedError) as error:
        print(type(error).__name__, error)
print(Normal(0.0, -1.0, validate_args=False), Normal(0.0, 1.0, validate_args=False).log_prob(tensor(1.0)))
print(constraints.positive, constraints.real, constraints.simplex, constraints.real_vector, constraints.boolean)
print(constraints.interval(0.0, 1.0), constraints.positive.check(tensor([1.0, -1.0])), Uniform(a, b + 1).support)
print(isinstance(Normal(0.0, 1.0), Distribution), Normal(0.0, 1.0).has_rsample, Categorical(a).has_rsample)
