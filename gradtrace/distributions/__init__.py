"""torch.distributions: random variables with parameters that may require grad.

Samples follow PyTorch's order of random numbers, so a seeded program draws the same numbers as in PyTorch. `rsample` is
differentiable with respect to the parameters where PyTorch's is, except for samples made of gamma numbers (Gamma, Beta,
Dirichlet, Chi2, StudentT). https://pytorch.org/docs/stable/distributions.html
"""

from __future__ import annotations

from gradtrace.lazy_names import attach, homes

_HOMES = homes(
    __name__,
    {
        "distribution": "Distribution ExponentialFamily",
        "normal": "Cauchy Laplace MultivariateNormal Normal",
        "intervals": "Exponential Uniform",
        "gamma": "Beta Chi2 Dirichlet Gamma StudentT",
        "categorical": "Categorical Multinomial OneHotCategorical OneHotCategoricalStraightThrough",
        "counts": "Bernoulli Binomial Geometric NegativeBinomial Poisson",
        "composed": "Independent MixtureSameFamily TransformedDistribution",
        "transformed": """
            Gumbel HalfCauchy HalfNormal LogNormal LogisticNormal Pareto RelaxedBernoulli RelaxedOneHotCategorical
            Weibull
        """,
        "transforms": """
            AbsTransform AffineTransform ComposeTransform ExpTransform IndependentTransform PowerTransform
            ReshapeTransform SigmoidTransform SoftmaxTransform SoftplusTransform StickBreakingTransform
            TanhTransform Transform identity_transform
        """,
        "kl": "kl_divergence",
    },
)
_MODULES = {name: f"{__name__}.{name}" for name in ("categorical", "constraints", "kl", "normal", "transforms")}
__all__ = [*_HOMES, *_MODULES]

__getattr__, __dir__ = attach(__name__, _HOMES, modules=_MODULES, shown_as="torch.distributions")
