"""Choosing by a mask gives numpy's bits, whatever the numbers are."""

import numpy as np
import pytest

import gradtrace as gt
from gradtrace.engine.operators.select import MANY, select, where_kept

ODD = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -2.0, 5e-324])


def cases(dtype, size):
    rng = np.random.default_rng(0)
    pick = lambda: rng.choice(ODD, size).astype(dtype)
    return rng.random(size) < 0.5, pick(), pick()


@pytest.mark.parametrize("size", [1, 7, MANY, 3 * MANY + 1])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_the_bits_are_numpys(dtype, size):
    mask, a, b = cases(dtype, size)
    assert select(mask, a, b).tobytes() == np.where(mask, a, b).tobytes()
    assert where_kept(mask, a).tobytes() == np.where(mask, a, np.zeros_like(a)).tobytes()
    assert select(mask, a, b).dtype == a.dtype


def test_other_shapes_and_kinds_are_numpys_own():
    mask, a, b = cases("f8", 4 * MANY)
    square = (4, MANY)
    for one, two, three in (
        (mask.reshape(square), a[:MANY], b.reshape(square)),
        (mask.reshape(square), a.reshape(square).copy("F"), b[:1]),
        (mask, a, 0.0),
        (mask, a.astype("f4"), b),
        (mask, mask, ~mask),
        (mask, np.arange(4 * MANY), np.zeros(1, int)),
    ):
        found, wanted = select(one, two, three), np.where(one, two, three)
        assert found.dtype == wanted.dtype and found.tobytes() == wanted.tobytes()


def test_relu_keeps_nan_out_of_what_it_cut_off():
    x = gt.tensor(np.linspace(-1, 1, 2 * MANY), requires_grad=True)
    y = gt.relu(x)
    y.backward(gt.full((2 * MANY,), float("nan"), dtype=gt.float64))
    grad = x.grad.numpy()
    assert np.array_equal(grad[:MANY], np.zeros(MANY)) and not np.signbit(grad[:MANY]).any()
    assert np.isnan(grad[MANY:]).all()
