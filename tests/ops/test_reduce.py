"""Reductions: values and errors as PyTorch prints them, derivatives against finite differences."""

import itertools

import numpy as np
import pytest

import gradtrace as torch

RNG = np.random.default_rng(1)
SHAPES = [(), (3,), (2, 3), (2, 1, 3)]


def test_prints_what_pytorch_prints(expression, printed, printed_by_gradtrace):
    assert printed_by_gradtrace(expression) == printed


def dims_of(shape, several):
    single = [-1, 0] if shape else [0]
    return [*single, *([(0, -1)] if several and len(shape) > 1 else [])]


WHOLE = [
    "sum",
    "mean",
    "prod",
    "var",
    "std",
    "amax",
    "amin",
    "max",
    "min",
    "median",
    "nansum",
    "nanmean",
    "norm",
]


@pytest.mark.parametrize(("name", "shape"), list(itertools.product(WHOLE, SHAPES)))
def test_derivatives_over_everything(name, shape, derivatives):
    if name in ("var", "std") and not shape:
        return  # one value has no variance
    derivatives(lambda x: getattr(torch, name)(x), RNG.normal(size=shape) + 0.1)


SEVERAL = [
    "sum",
    "mean",
    "var",
    "std",
    "amax",
    "amin",
    "logsumexp",
    "nansum",
    "var_mean",
    "std_mean",
]
SINGLE = [
    "prod",
    "max",
    "min",
    "median",
    "mode",
    "softmax",
    "log_softmax",
    "cumsum",
    "cumprod",
    "cummax",
    "cummin",
    "logcumsumexp",
    "quantile",
    "aminmax",
]


def call_over(name, dim, keepdim):
    if name in ("softmax", "log_softmax", "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"):
        return lambda x: getattr(torch, name)(x, dim)
    if name == "quantile":
        return lambda x: torch.quantile(x, 0.3, dim=dim, keepdim=keepdim)
    return lambda x: getattr(torch, name)(x, dim=dim, keepdim=keepdim)


@pytest.mark.sampled(30)
@pytest.mark.parametrize(("name", "shape"), list(itertools.product(SEVERAL + SINGLE, SHAPES)))
def test_derivatives_over_a_dim(name, shape, derivatives):
    count = np.prod(shape, dtype=int)
    for dim in dims_of(shape, name in SEVERAL):
        reduced = np.prod([shape[i] for i in np.atleast_1d(dim)]) if shape else 1
        if ("var" in name or "std" in name) and reduced < 2:
            continue  # one value has no variance
        apart = RNG.permutation(np.arange(count) - 1.3).reshape(shape) * 0.7  # no ties, no zeros
        for keepdim in (False, True):
            derivatives(call_over(name, dim, keepdim), apart, tolerance=1e-5)


@pytest.mark.parametrize(
    "values", [[2.0, 0.0, 4.0], [0.0, 0.0, 4.0], [0.0, 0.0, 0.0], [1.0, 0.0, 3.0, 0.0, 2.0]]
)
def test_products_with_zeros_are_differentiable_twice(values, derivatives):
    derivatives(lambda x: x.prod(), values, tolerance=1e-5)
    derivatives(lambda x: x.prod(0, keepdim=True), values, tolerance=1e-5)
    derivatives(lambda x: x.cumprod(0), values, tolerance=1e-5)


@pytest.mark.parametrize("p", [0, 0.5, 1, 1.5, 2, 3, float("inf"), -float("inf"), -1])
def test_norms(p, derivatives):
    x, y = RNG.normal(size=(2, 3)) + 2, RNG.normal(size=3)
    derivatives(lambda a: torch.linalg.vector_norm(a, p), x)
    derivatives(lambda a: torch.norm(a, p, dim=1, keepdim=True), x)
    derivatives(lambda a, b: torch.dist(a, b, p), x, y)


@pytest.mark.parametrize("ord", ["fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf")])
def test_matrix_norms(ord, derivatives):
    derivatives(
        lambda a: torch.linalg.matrix_norm(a, ord), RNG.normal(size=(2, 3, 4)), tolerance=1e-5
    )
    derivatives(
        lambda a: torch.linalg.matrix_norm(a, ord, dim=(2, 0), keepdim=True),
        RNG.normal(size=(2, 3, 4)),
        tolerance=1e-5,
    )


COMPOSED = {
    "cov": lambda x: torch.cov(x),
    "corrcoef": lambda x: torch.corrcoef(x),
    "diff": lambda x: torch.diff(x, n=2),
    "diff prepend": lambda x: torch.diff(x, dim=0, prepend=x, append=x),
    "trapezoid": lambda x: torch.trapezoid(x, x * x),
    "cumulative_trapezoid": lambda x: torch.cumulative_trapezoid(x, dx=0.5, dim=0),
    "gradient": lambda x: torch.gradient(x, spacing=2.0, dim=1, edge_order=2),
    "gradient points": lambda x: torch.gradient(
        x, spacing=[torch.tensor([0.0, 1, 3, 4], dtype=torch.float64)], dim=1
    ),
    "renorm": lambda x: torch.renorm(x, 2, 0, 1.0),
    "nanquantile": lambda x: torch.nanquantile(
        x, torch.tensor([0.2, 0.9], dtype=torch.float64), dim=1
    ),
    "trace": lambda x: torch.trace(x),
    "sum_to_size": lambda x: x.sum_to_size(1, 4),
    "softmin": lambda x: torch.nn.functional.softmin(x, 1),
    "sum dtype": lambda x: x.sum(0, dtype=torch.float64),
    "in place": lambda x: (x * 2).cumsum_(0),
    "axis": lambda x: torch.sum(x, axis=1, keepdims=True),
    "quantiles": lambda x: torch.quantile(
        torch.tensor([1.0, 5, 2, 9, 4], dtype=torch.float64), x[0].softmax(0)
    ),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_composed(name, derivatives):
    derivatives(COMPOSED[name], RNG.normal(size=(3, 4)), tolerance=1e-5)


def test_long_float32_sums_keep_their_digits():
    x = torch.tensor(np.full((100_000, 2), 0.1, np.float32))
    assert x.sum(0).tolist() == pytest.approx([10_000, 10_000], rel=1e-6)


def test_changing_the_values_of_max_leaves_its_gradient_alone():
    x = torch.tensor([[1.0, 2.0], [4.0, 3.0]], requires_grad=True)
    values, _ = (x * 1).max(1)
    values.mul_(2)
    values.sum().backward()
    assert x.grad.tolist() == [[0, 2], [2, 0]]
