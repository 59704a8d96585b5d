"""Max and average pooling: as PyTorch prints them, against windows written out, derivatives by differences."""

import itertools

import numpy as np
import pytest

import gradtrace as torch

F = torch.nn.functional
RNG = np.random.default_rng(8)


def test_prints_what_pytorch_prints(expression, printed, printed_by_gradtrace):
    assert printed_by_gradtrace(expression) == printed


def apart(*shape):
    """Numbers without ties, far enough from each other for differences."""
    return RNG.permutation(np.arange(np.prod(shape)) * 0.37).reshape(shape)


WINDOWS = [
    {"kernel_size": 2},
    {"kernel_size": 3, "stride": 2, "padding": 1},
    {"kernel_size": 3, "stride": 1},
    {"kernel_size": 2, "stride": 3, "ceil_mode": True},
]


@pytest.mark.parametrize(("n", "window"), list(itertools.product([1, 2, 3], WINDOWS)))
def test_derivatives(n, window, derivatives):
    x = apart(*(1, 2, 3, 4, 5)[:1], *(5, 4, 3)[:n])
    derivatives(lambda a: getattr(F, f"max_pool{n}d")(a, **window), x)
    for options in ({}, {"count_include_pad": False}):
        derivatives(lambda a, o=options: getattr(F, f"avg_pool{n}d")(a, **window, **o), x)


@pytest.mark.parametrize(("n", "size"), [(1, 2), (1, 7), (2, (2, 3)), (2, (5, 1)), (3, (2, 1, 4)), (3, 1), (2, 1)])
def test_adaptive_derivatives(n, size, derivatives):
    x = apart(2, *(5, 4, 3)[:n])
    derivatives(lambda a: getattr(F, f"adaptive_max_pool{n}d")(a, size), x)
    derivatives(lambda a: getattr(F, f"adaptive_avg_pool{n}d")(a, size), x)


@pytest.mark.parametrize(
    ("kernel", "stride", "padding", "dilation"),
    [(2, 2, 0, 1), (3, 2, 1, 1), (3, 1, 1, 2), ((2, 3), (1, 2), (1, 1), (2, 1))],
)
def test_maxima_and_where_they_are(kernel, stride, padding, dilation):
    x = RNG.integers(0, 4, size=(2, 3, 7, 8)).astype(float)  # many ties
    x[0, 0, 2, 2:4] = np.nan
    x[1, 1] = -np.inf
    values, places = F.max_pool2d(torch.tensor(x), kernel, stride, padding, dilation, return_indices=True)
    k, s, p, d = (np.broadcast_to(v, 2) for v in (kernel, stride, padding, dilation))
    for index in np.ndindex(tuple(values.shape)):
        rows = [r for r in index[2] * s[0] - p[0] + d[0] * np.arange(k[0]) if 0 <= r < 7]
        columns = [c for c in index[3] * s[1] - p[1] + d[1] * np.arange(k[1]) if 0 <= c < 8]
        place, best = rows[0] * 8 + columns[0], -np.inf
        for r, c in itertools.product(rows, columns):
            value = x[index[0], index[1], r, c]
            if value > best or np.isnan(value):
                place, best = r * 8 + c, value
        assert places[index].item() == place
        assert values[index].item() == best or np.isnan(best)


def test_the_first_of_equal_maxima_takes_the_gradient():
    x = torch.zeros(1, 3, 3, requires_grad=True)
    F.max_pool2d(x, 2, 1).sum().backward()
    assert x.grad.tolist() == [[[1, 1, 0], [1, 1, 0], [0, 0, 0]]]


def test_unpooling_undoes_pooling(derivatives):
    x = torch.tensor(apart(2, 6, 4))
    pooled, places = F.max_pool2d(x, 2, return_indices=True)
    back = F.max_unpool2d(pooled, places, 2)
    assert back.shape == x.shape and back.max().item() == x.max().item()
    derivatives(lambda a: F.max_unpool2d(a, places, 2) ** 2, pooled.numpy(), tolerance=1e-5)
    line, index = F.max_pool1d(x[0], 2, return_indices=True)
    derivatives(lambda a: F.max_unpool1d(a, index, 2, output_size=(5,)) ** 2, line.numpy(), tolerance=1e-5)
    cube, index3 = F.max_pool3d(torch.tensor(apart(1, 2, 4, 4)), 2, return_indices=True)
    derivatives(lambda a: F.max_unpool3d(a, index3, 2) ** 2, cube.numpy(), tolerance=1e-5)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_power_average(n, derivatives):
    x = RNG.uniform(0.5, 2, size=(2, 4, 4, 2)[: n + 1])
    derivatives(lambda a: getattr(F, f"lp_pool{n}d")(a, 3.0, 2), x, tolerance=1e-5)
    whole = getattr(F, f"lp_pool{n}d")(torch.tensor(x), 2, 2)
    assert whole.flatten()[0].item() == pytest.approx(np.sqrt((x[(0, *[slice(0, 2)] * n)] ** 2).sum()))


def test_dtypes_stay():
    for dtype in (torch.float16, torch.float32, torch.float64):
        x = torch.ones(1, 4, 6, dtype=dtype, requires_grad=True)
        for out in (F.max_pool2d(x, 2), F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, 3), F.adaptive_max_pool2d(x, 3)):
            (g,) = torch.autograd.grad(out.sum(), x)
            assert out.dtype == g.dtype == dtype


def test_empty_batches():
    x = torch.ones(0, 2, 4, 4, requires_grad=True)
    for function in (F.max_pool2d, F.avg_pool2d, F.adaptive_avg_pool2d, F.adaptive_max_pool2d):
        function(x, 2).sum().backward()
        assert x.grad.shape == x.shape
