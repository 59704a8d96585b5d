"""erf in double precision, against Python's."""

import math

import numpy as np

import gradtrace as gt
from gradtrace import static
from gradtrace.batch.mapper import RowMap
from gradtrace.static.pairs import fuse_pairs


def test_within_two_units_in_the_last_place():
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [
            rng.normal(size=20000) * 1.5,
            rng.normal(size=5000) * 1e-3,
            np.linspace(-7, 7, 4001),
            np.logspace(-300, 0, 300),
        ]
    )
    want = np.array([math.erf(v) for v in x])
    got = gt.erf(gt.tensor(x)).numpy()
    assert np.max(np.abs(got - want) / np.spacing(np.abs(want))) <= 2


def test_the_ends():
    got = gt.erf(gt.tensor([0.0, -0.0, math.inf, -math.inf, math.nan, 1e-320], dtype=gt.float64)).numpy()
    assert got[:4].tolist() == [0, 0, 1, -1] and math.isnan(got[4]) and got[5] > 0
    assert np.signbit(got).tolist()[:4] == [False, True, False, True]


def test_its_bell_is_what_the_derivative_takes():
    """A plan takes exp(-x*x) from erf's own kernel: the engine's bits, at the ends too."""
    ends = np.array([0.0, -0.0, math.inf, -math.inf, math.nan, 1e-320, 1e200, -27.3, 6.0, 1e13])
    x = np.concatenate([np.random.default_rng(1).normal(size=20000) * 2, ends])
    plan = static.optimise(static.trace(lambda x: gt.erf(x) * x, {"x": 1.0}))
    assert "erf_and_bell" in [step.op for step in fuse_pairs(plan).steps]
    found = RowMap(plan)({"x": x}, len(x))
    leaf = gt.tensor(x, requires_grad=True)
    y = gt.erf(leaf) * leaf
    y.sum().backward()
    np.testing.assert_array_equal(found["y"], y.detach().numpy())
    np.testing.assert_array_equal(found["dy/dx"], leaf.grad.numpy())


def test_pairs_that_are_not_there():
    """exp before erf, of another value, or not of the square."""
    functions = [lambda x: gt.exp(-(x * x)) * gt.erf(x), lambda x: gt.erf(x) * gt.exp(-x), lambda x: gt.erf(x) + x]
    x = np.linspace(-3, 3, 500)
    for function in functions:
        plan = static.optimise(static.trace(function, {"x": 1.0}, order=0))
        np.testing.assert_array_equal(RowMap(plan)({"x": x}, 500)["y"], function(gt.tensor(x)).numpy())
