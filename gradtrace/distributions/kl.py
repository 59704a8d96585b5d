"""torch.distributions.kl: the Kullback-Leibler divergence of two distributions, in closed form.

There are formulas for two distributions of one family, and for the pairs of families that tutorials
use.
"""

from __future__ import annotations

import math
from typing import Any

import gradtrace as torch
from gradtrace.distributions.categorical import Categorical, OneHotCategorical
from gradtrace.distributions.counts import Bernoulli, Binomial, Poisson
from gradtrace.distributions.distribution import sum_rightmost
from gradtrace.distributions.intervals import Beta, Dirichlet, Exponential, Gamma, Uniform
from gradtrace.distributions.normal import Laplace, MultivariateNormal, Normal, squared_distance
from gradtrace.distributions.transformed import Independent, TransformedDistribution
from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn import functional as F

__all__ = ["kl_divergence"]


def kl_divergence(p: Any, q: Any) -> Tensor:
    """Return KL(p || q) in the batch shape; raise NotImplementedError for a pair of families
    without a formula.
    """
    # The most derived classes of both come first.
    for of_p in type(p).__mro__:
        for of_q in type(q).__mro__:
            if (of_p, of_q) in FORMULAS:
                return FORMULAS[of_p, of_q](p, q)
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
    )


# ---- one family


def normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


def multivariate_normal(p: Any, q: Any) -> Any:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be "
            "computed"
        )
    n = p.event_shape[0]
    batch = torch.broadcast_shapes(q._factor.shape[:-2], p._factor.shape[:-2])
    factors = (factor.expand((*batch, n, n)) for factor in (q._factor, p._factor))
    ratio = torch.linalg.solve_triangular(*factors, upper=False)
    trace = ratio.reshape(-1, n * n).pow(2).sum(-1).reshape(ratio.shape[:-2])
    distance = squared_distance(q._factor, q.loc - p.loc)
    return q.half_log_det() - p.half_log_det() + 0.5 * (trace + distance - n)


def bernoulli(p: Any, q: Any) -> Any:
    ones = p.probs * (F.softplus(-q.logits) - F.softplus(-p.logits))
    ones[q.probs == 0] = math.inf
    ones[p.probs == 0] = 0
    zeros = (1 - p.probs) * (F.softplus(q.logits) - F.softplus(p.logits))
    zeros[q.probs == 1] = math.inf
    zeros[p.probs == 1] = 0
    return ones + zeros


def binomial(p: Any, q: Any) -> Any:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    divergence = p.total_count * (
        p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    )
    divergence[p.total_count > q.total_count] = math.inf
    return divergence


def categorical(p: Any, q: Any) -> Any:
    terms = p.probs * (p.logits - q.logits)
    terms[(q.probs == 0).expand_as(terms)] = math.inf
    terms[(p.probs == 0).expand_as(terms)] = 0
    return terms.sum(-1)


def poisson(p: Any, q: Any) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


def beta(p: Any, q: Any) -> Any:
    p_sum = p.concentration1 + p.concentration0
    q_sum = q.concentration1 + q.concentration0
    of_q = q.concentration1.lgamma() + q.concentration0.lgamma() + p_sum.lgamma()
    of_p = p.concentration1.lgamma() + p.concentration0.lgamma() + q_sum.lgamma()
    first = (p.concentration1 - q.concentration1) * torch.digamma(p.concentration1)
    second = (p.concentration0 - q.concentration0) * torch.digamma(p.concentration0)
    return of_q - of_p + first + second + (q_sum - p_sum) * torch.digamma(p_sum)


def dirichlet(p: Any, q: Any) -> Any:
    p_sum = p.concentration.sum(-1)
    q_sum = q.concentration.sum(-1)
    sums = p_sum.lgamma() - q_sum.lgamma()
    log_gammas = (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    slopes = p.concentration.digamma() - p_sum.digamma().unsqueeze(-1)
    return sums - log_gammas + ((p.concentration - q.concentration) * slopes).sum(-1)


def gamma(p: Any, q: Any) -> Any:
    rates = q.concentration * (p.rate / q.rate).log()
    normalisers = torch.lgamma(q.concentration) - torch.lgamma(p.concentration)
    slope = (p.concentration - q.concentration) * torch.digamma(p.concentration)
    return rates + normalisers + slope + (q.rate - p.rate) * (p.concentration / p.rate)


def exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


def laplace(p: Any, q: Any) -> Any:
    ratio = p.scale / q.scale
    distance = (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * torch.exp(-distance / p.scale) - 1


def uniform(p: Any, q: Any) -> Any:
    divergence = ((q.high - q.low) / (p.high - p.low)).log()
    divergence[(q.low > p.low) | (q.high < p.high)] = math.inf
    return divergence


def transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


def independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


# ---- different families


def uniform_normal(p: Any, q: Any) -> Any:
    width = p.high - p.low
    logarithm = (math.sqrt(math.pi * 2) * q.scale / width).log()
    variance = width.pow(2) / 12
    mean = ((p.high + p.low - 2 * q.loc) / 2).pow(2)
    return logarithm + 0.5 * (variance + mean) / q.scale.pow(2)


def normal_laplace(p: Any, q: Any) -> Any:
    distance = p.loc - q.loc
    ratio = p.scale / q.scale
    share = distance / p.scale
    logarithm = torch.log(ratio)
    density = math.sqrt(2 / math.pi) * p.scale * torch.exp(-0.5 * share.pow(2))
    mass = distance * torch.erf(math.sqrt(0.5) * share)
    return -logarithm + (density + mass) / q.scale - 0.5 * (1 + math.log(0.5 * math.pi))


def laplace_normal(p: Any, q: Any) -> Any:
    variance = q.scale.pow(2)
    ratio = p.scale.pow(2) / variance
    logarithm = 0.5 * torch.log(2 * ratio / math.pi)
    return (
        -logarithm
        + ratio
        + (0.5 * p.loc.pow(2) - p.loc * q.loc + 0.5 * q.loc.pow(2)) / variance
        - 1
    )


FORMULAS: dict[tuple[type, type], Any] = {
    (Bernoulli, Bernoulli): bernoulli,
    (Beta, Beta): beta,
    (Binomial, Binomial): binomial,
    (Categorical, Categorical): categorical,
    (Dirichlet, Dirichlet): dirichlet,
    (Exponential, Exponential): exponential,
    (Gamma, Gamma): gamma,
    (Independent, Independent): independent,
    (Laplace, Laplace): laplace,
    (Laplace, Normal): laplace_normal,
    (MultivariateNormal, MultivariateNormal): multivariate_normal,
    (Normal, Laplace): normal_laplace,
    (Normal, Normal): normal,
    (OneHotCategorical, OneHotCategorical): lambda p, q: categorical(
        p._categorical, q._categorical
    ),
    (Poisson, Poisson): poisson,
    (TransformedDistribution, TransformedDistribution): transformed,
    (Uniform, Normal): uniform_normal,
    (Uniform, Uniform): uniform,
}
