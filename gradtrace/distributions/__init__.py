"""torch.distributions: random variables with parameters that may require grad.

Samples follow PyTorch's order of random numbers, so a seeded program draws the same numbers as in
PyTorch. `rsample` is differentiable with respect to the parameters where PyTorch's is, except for
samples made of gamma numbers (Gamma, Beta, Dirichlet).
https://pytorch.org/docs/stable/distributions.html
"""

from __future__ import annotations

from gradtrace.lazy_names import attach, homes

_HOMES = homes(
    __name__,
    {
        "distribution": "Distribution ExponentialFamily",
        "normal": "Laplace MultivariateNormal Normal",
        "intervals": "Beta Dirichlet Exponential Gamma Uniform",
        "categorical": "Categorical OneHotCategorical",
        "counts": "Bernoulli Binomial Poisson",
        "transformed": "Independent LogNormal TransformedDistribution",
        "transforms": "AffineTransform ExpTransform SigmoidTransform TanhTransform Transform",
        "kl": "kl_divergence",
    },
)
_MODULES = {
    name: f"{__name__}.{name}"
    for name in ("categorical", "constraints", "kl", "normal", "transforms")
}
__all__ = [*_HOMES, *_MODULES]

__getattr__, __dir__ = attach(__name__, _HOMES, modules=_MODULES, shown_as="torch.distributions")
