"""Convolution, unfold and fold: as PyTorch prints them; against a sum written out; derivatives by differences."""

import itertools

import numpy as np
import pytest

import gradtrace as torch

F = torch.nn.functional
RNG = np.random.default_rng(5)


def test_prints_what_pytorch_prints(expression, printed, printed_by_gradtrace):
    assert printed_by_gradtrace(expression) == printed


def written_out(x, w, stride, padding, dilation, groups):
    """Convolution over any number of dims by its definition."""
    n = w.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0)] + [(padding, padding)] * n)
    sizes = [
        (size - dilation * (k - 1) - 1) // stride + 1
        for size, k in zip(x.shape[2:], w.shape[2:], strict=True)
    ]
    out = np.zeros((len(x), len(w), *sizes))
    each, made = w.shape[1], len(w) // groups
    for o in range(len(w)):
        part = x[:, o // made * each :][:, :each]
        for at in itertools.product(*map(range, sizes)):
            cut = tuple(
                slice(i * stride, i * stride + dilation * (k - 1) + 1, dilation)
                for i, k in zip(at, w.shape[2:], strict=True)
            )
            products = part[(slice(None), slice(None), *cut)] * w[o]
            out[(slice(None), o, *at)] = products.sum(axis=tuple(range(1, n + 2)))
    return out


WINDOWS = list(itertools.product([1, 2], [0, 2], [1, 2], [1, 2]))


@pytest.mark.parametrize(("n", "window"), list(itertools.product([1, 2, 3], WINDOWS)))
def test_values(n, window):
    x, w = (
        RNG.normal(size=(2, 4, 6, 5, 5)[: n + 2]),
        RNG.normal(size=(6, 4 // window[3], 2, 3, 2)[: n + 2]),
    )
    got = getattr(torch, f"conv{n}d")(torch.tensor(x), torch.tensor(w), None, *window)
    np.testing.assert_allclose(got.numpy(), written_out(x, w, *window), atol=1e-12)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("window", WINDOWS)
def test_derivatives(window, derivatives):
    x, w, b = (
        RNG.normal(size=(2, 2, 5)),
        RNG.normal(size=(4, 2 // window[3], 2)),
        RNG.normal(size=4),
    )
    derivatives(lambda *a: F.conv1d(*a, *window), x, w, b)
    derivatives(
        lambda *a: F.conv_transpose1d(
            *a, stride=window[0], padding=min(window[1], 1), dilation=window[2]
        ),
        x,
        RNG.normal(size=(2, 2, 2)),
        RNG.normal(size=2),
    )


SHAPES = {
    "conv2d": ((2, 4, 3), (2, 2, 2, 2), {"padding": (1, 0), "stride": (2, 1)}),
    "conv2d groups": ((1, 4, 3, 3), (4, 2, 2, 2), {"groups": 2}),
    "conv2d same": ((1, 2, 3, 3), (1, 2, 2, 3), {"padding": "same"}),
    "conv3d": ((1, 1, 3, 3, 2), (2, 1, 2, 2, 2), {"padding": 1, "stride": 2}),
    "conv_transpose2d": (
        (1, 2, 2, 2),
        (2, 1, 2, 3),
        {"stride": 2, "output_padding": 1, "groups": 2},
    ),
    "conv_transpose2d dilated": ((2, 2, 2), (2, 1, 2, 2), {"dilation": 2, "output_padding": 1}),
    "conv_transpose3d": ((1, 1, 2, 2, 1), (1, 2, 2, 1, 2), {"padding": (1, 0, 0)}),
}


@pytest.mark.parametrize("name", SHAPES)
def test_derivatives_over_more_dims(name, derivatives):
    shape, kernel, options = SHAPES[name]
    function = getattr(F, name.partition(" ")[0])
    derivatives(
        lambda x, w: function(x, w, **options), RNG.normal(size=shape), RNG.normal(size=kernel)
    )


def test_third_order():
    x, w = (torch.tensor(RNG.normal(size=s), requires_grad=True) for s in ((1, 1, 4), (1, 1, 2)))
    y = (F.conv1d(x, w) ** 3).sum()
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    assert first.grad_fn.name() == "ConvolutionBackwardBackward0"
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    (third,) = torch.autograd.grad(second.sum(), x)
    a, b = w.tolist()[0][0]
    met = [a, a + b, a + b, b]  # the weights that each number of x meets
    assert third.flatten().tolist() == pytest.approx([6 * (a + b) ** 2 * k for k in met])


def test_parts_of_a_large_batch_add_up():
    x, w = RNG.normal(size=(9, 8, 40, 40)), RNG.normal(size=(4, 8, 5, 5))
    got = F.conv2d(torch.tensor(x), torch.tensor(w, requires_grad=True))
    one = [F.conv2d(torch.tensor(x[i : i + 1]), torch.tensor(w)).numpy() for i in range(9)]
    np.testing.assert_allclose(got.detach().numpy(), np.concatenate(one), atol=1e-10)


def test_float32_stays_float32_and_half_is_summed_in_float32():
    for dtype in (torch.float32, torch.float16):
        x = torch.ones(1, 64, 8, 8, dtype=dtype, requires_grad=True)
        w = torch.ones(1, 64, 8, 8, dtype=dtype, requires_grad=True)
        y = F.conv2d(x, w)
        y.sum().backward()
        assert (y.dtype, x.grad.dtype, w.grad.dtype, y.item()) == (dtype, dtype, dtype, 4096.0)


def test_arrays_that_are_not_contiguous():
    x = torch.tensor(RNG.normal(size=(2, 6, 5, 3)), requires_grad=True)
    seen = x.permute(0, 3, 2, 1)[:, :, :, ::2]
    w = torch.tensor(RNG.normal(size=(2, 2, 3, 2))).transpose(1, 2)
    copy = F.conv2d(seen.detach().clone(), w.clone())
    np.testing.assert_allclose(F.conv2d(seen, w).detach().numpy(), copy.numpy(), atol=1e-12)


@pytest.mark.parametrize("shape", [(1, 2, 4, 3), (2, 4, 3)])
def test_unfold_and_fold(shape, derivatives):
    derivatives(
        lambda x: F.unfold(x, 2, dilation=(2, 1), padding=1, stride=(1, 2)), RNG.normal(size=shape)
    )
    columns = F.unfold(torch.tensor(RNG.normal(size=shape)), 2, stride=2, padding=1).numpy()
    derivatives(lambda x: F.fold(x, (4, 3), 2, stride=2, padding=1), columns)
