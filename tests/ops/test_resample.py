"""Resampling and shuffling: as PyTorch prints them, derivatives by differences."""

import numpy as np
import pytest

import gradtrace as torch

F = torch.nn.functional
RNG = np.random.default_rng(10)


def test_prints_what_pytorch_prints(expression, printed, printed_by_gradtrace):
    assert printed_by_gradtrace(expression) == printed


MODES = [
    ("nearest", 1),
    ("nearest-exact", 2),
    ("nearest", 3),
    ("area", 2),
    ("linear", 1),
    ("bilinear", 2),
    ("trilinear", 3),
    ("bicubic", 2),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("mode", "n"), MODES)
@pytest.mark.parametrize("factor", [1.7, 0.6])
def test_derivatives(mode, n, factor, derivatives):
    x = RNG.normal(size=(1, 2, 4, 3, 2)[: n + 2])
    scale = [factor] + [1.5] * (n - 1)
    derivatives(lambda a: F.interpolate(a, scale_factor=scale, mode=mode), x)
    if "linear" in mode or mode == "bicubic":
        derivatives(lambda a: F.interpolate(a, size=[5] * n, mode=mode, align_corners=True), x)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos"])
def test_with_antialiasing(mode, derivatives):
    x = RNG.normal(size=(1, 1, 7, 4))
    derivatives(lambda a: F.interpolate(a, size=(3, 6), mode=mode, antialias=True), x)
    flat = F.interpolate(torch.ones(1, 1, 9, 8), size=(4, 3), mode=mode, antialias=True)
    assert flat.flatten().tolist() == pytest.approx([1.0] * 12)


@pytest.mark.parametrize(("mode", "n"), MODES)
def test_the_same_size_changes_nothing(mode, n):
    x = RNG.normal(size=(1, 2, 4, 3, 2)[: n + 2])
    np.testing.assert_allclose(
        F.interpolate(torch.tensor(x), size=x.shape[2:], mode=mode).numpy(), x
    )


def test_an_infinite_gradient_stays_where_it_is():
    x = torch.zeros(1, 1, 6, requires_grad=True)
    out = F.interpolate(x, size=2, mode="linear")
    out.backward(torch.tensor([[[float("inf"), 1.0]]]))
    assert x.grad.tolist() == [[[0, float("inf"), 0, 0, 1, 0]]]


def test_shuffles(derivatives):
    derivatives(lambda a: F.pixel_shuffle(a, 2) ** 2, RNG.normal(size=(1, 4, 2, 1)), tolerance=1e-5)
    derivatives(lambda a: F.pixel_unshuffle(a, 2) ** 2, RNG.normal(size=(1, 2, 4)), tolerance=1e-5)
    derivatives(lambda a: F.channel_shuffle(a, 2) ** 2, RNG.normal(size=(1, 6, 2)), tolerance=1e-5)
    x = torch.tensor(RNG.normal(size=(2, 8, 3, 4)))
    assert F.pixel_unshuffle(F.pixel_shuffle(x, 2), 2).equal(x)
    assert F.channel_shuffle(F.channel_shuffle(x, 2), 4).equal(x)


def test_results_have_a_storage_of_their_own():
    x = torch.ones(1, 2, 2, 2)
    for out in (
        F.pixel_shuffle(x, 1),
        F.pixel_unshuffle(x, 1),
        F.channel_shuffle(x, 1),
        F.unfold(x, 1),
        F.interpolate(x, size=2),
        F.interpolate(x, size=2, mode="bilinear"),
        F.avg_pool2d(x, 1),
    ):
        out.zero_()
    assert x.sum().item() == 8
