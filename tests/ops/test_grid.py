"""grid_sample and affine_grid: as PyTorch prints them, derivatives by differences."""

import itertools

import numpy as np
import pytest

import gradtrace as torch

F = torch.nn.functional
RNG = np.random.default_rng(12)


def test_prints_what_pytorch_prints(expression, printed, printed_by_gradtrace):
    assert printed_by_gradtrace(expression) == printed


CASES = list(
    itertools.product(
        ["bilinear", "nearest", "bicubic"], ["zeros", "border", "reflection"], [True, False]
    )
)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("mode", "padding", "corners"), CASES)
def test_derivatives(mode, padding, corners, derivatives):
    x, grid = RNG.normal(size=(2, 2, 3, 4)), RNG.uniform(-1.4, 1.4, size=(2, 1, 2, 2))

    def sample(a, g):
        return F.grid_sample(a, g, mode, padding, corners)

    if mode == "nearest":  # the gradient of the points is 0, whatever differences say
        derivatives(lambda a: sample(a, torch.tensor(grid)), x)
        points = torch.tensor(grid, requires_grad=True)
        (found,) = torch.autograd.grad(sample(torch.tensor(x), points).sum(), points)
        assert not found.any()
        return
    derivatives(sample, x, grid, tolerance=1e-5)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_derivatives_of_volumes(padding, derivatives):
    derivatives(
        lambda a, g: F.grid_sample(a, g, padding_mode=padding, align_corners=False),
        RNG.normal(size=(1, 1, 2, 3, 2)),
        RNG.uniform(-1.4, 1.4, size=(1, 1, 2, 1, 3)),
        tolerance=1e-5,
    )


@pytest.mark.parametrize("corners", [True, False])
def test_the_identity_map_samples_the_image(corners):
    image = torch.tensor(RNG.normal(size=(1, 2, 3, 5)))
    theta = torch.tensor([[[1.0, 0, 0], [0, 1, 0]]], dtype=torch.float64)
    grid = F.affine_grid(theta, image.shape, align_corners=corners)
    np.testing.assert_allclose(
        F.grid_sample(image, grid, align_corners=corners).numpy(), image.numpy(), atol=1e-12
    )


@pytest.mark.parametrize("n", [2, 3])
def test_affine_derivatives(n, derivatives):
    size = (2, 1, 2, 3, 1)[: n + 2]
    derivatives(
        lambda t: F.affine_grid(t, size, align_corners=False) ** 2,
        RNG.normal(size=(2, n, n + 1)),
        tolerance=1e-5,
    )


def test_empty_batches():
    x, grid = torch.ones(0, 1, 2, 3, requires_grad=True), torch.ones(0, 2, 2, 2, requires_grad=True)
    F.grid_sample(x, grid, align_corners=False).sum().backward()
    assert x.grad.shape == x.shape and grid.grad.shape == grid.shape
