"""Functions to plan, and eager runs to hold them against."""

import numpy as np
import pytest

import gradtrace as gt


def black_scholes(S, K, T, sigma, r):
    def cdf(z):
        return 0.5 * (1 + gt.erf(z / 2**0.5))

    d1 = (gt.log(S / K) + (r + sigma**2 / 2) * T) / (sigma * gt.sqrt(T))
    d2 = d1 - sigma * gt.sqrt(T)
    return S * cdf(d1) - K * gt.exp(-r * T) * cdf(d2)


@pytest.fixture
def eager():
    """eager(f, **arrays) -> [value, gradients ...] by the engine; the gradients of the value's sum."""

    def run(function, **inputs):
        leaves = {
            name: gt.tensor(x, dtype=gt.float64, requires_grad=True) for name, x in inputs.items()
        }
        y = function(**leaves)
        grads = gt.autograd.grad(y.sum(), list(leaves.values()), allow_unused=True)
        zeros = [np.zeros(np.shape(x)) for x in inputs.values()]
        return [
            y.detach().numpy(),
            *(z if g is None else g.numpy() for g, z in zip(grads, zeros, strict=True)),
        ]

    return run
