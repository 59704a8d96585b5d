"""Padding: as PyTorch prints it, as numpy pads, derivatives by differences."""

import itertools

import numpy as np
import pytest

import gradtrace as torch

F = torch.nn.functional
RNG = np.random.default_rng(6)
NUMPY = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
PADS = {1: (2, 1), 2: (2, 1, 1, 0), 3: (2, 0, 1, 1, 1, 0)}
CASES = list(itertools.product(NUMPY, PADS))


def test_prints_what_pytorch_prints(expression, printed, printed_by_gradtrace):
    assert printed_by_gradtrace(expression) == printed


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("mode", "n"), CASES)
def test_values_and_derivatives(mode, n, derivatives):
    x = RNG.normal(size=(2, 3, 4, 3)[: n + 1])
    widths = [(0, 0)] * (x.ndim - n) + [PADS[n][i : i + 2] for i in range(0, 2 * n, 2)][::-1]
    np.testing.assert_array_equal(
        F.pad(torch.tensor(x), PADS[n], mode).numpy(), np.pad(x, widths, NUMPY[mode])
    )
    derivatives(lambda a: F.pad(a, PADS[n], mode) ** 2, x, tolerance=1e-5)


@pytest.mark.parametrize("mode", NUMPY)
def test_negative_pads_crop(mode, derivatives):
    x = RNG.normal(size=(2, 5))
    if mode != "circular":
        np.testing.assert_array_equal(F.pad(torch.tensor(x), (-1, -2), mode).numpy(), x[:, 1:3])
    derivatives(lambda a: F.pad(a, (2, -1), mode) ** 2, x, tolerance=1e-5)


def test_a_pad_of_nothing_is_a_copy():
    x = torch.ones(2, 3)
    for mode in NUMPY:
        out = F.pad(x, (0, 0), mode)
        out.zero_()
    assert x.tolist() == [[1, 1, 1], [1, 1, 1]]
