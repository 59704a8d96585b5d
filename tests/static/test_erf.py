"""erf in double precision, against Python's."""

import math

import numpy as np

import gradtrace as gt
from gradtrace import static
from gradtrace.batch.mapper import RowMap


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
    got = gt.erf(
        gt.tensor([0.0, -0.0, math.inf, -math.inf, math.nan, 1e-320], dtype=gt.float64)
    ).numpy()
    assert got[:4].tolist() == [0, 0, 1, -1] and math.isnan(got[4]) and got[5] > 0
    assert np.signbit(got).tolist()[:4] == [False, True, False, True]


def test_rows_have_the_engines_bits():
    """Also at the ends, and of the derivative."""
    ends = np.array([0.0, -0.0, math.inf, -math.inf, math.nan, 1e-320, 1e200, -27.3, 6.0, 1e13])
    x = np.concatenate([np.random.default_rng(1).normal(size=20000) * 2, ends])
    plan = static.optimise(static.trace(lambda x: gt.erf(x) * x, {"x": 1.0}))
    found = RowMap(plan)({"x": x}, len(x))
    leaf = gt.tensor(x, requires_grad=True)
    y = gt.erf(leaf) * leaf
    y.sum().backward()
    np.testing.assert_array_equal(found["y"], y.detach().numpy())
    np.testing.assert_array_equal(found["dy/dx"], leaf.grad.numpy())
