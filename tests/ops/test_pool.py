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


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("n", "window"), list(itertools.product([1, 2, 3], WINDOWS)))
def test_derivatives(n, window, derivatives):
    x = apart(*(1, 2, 3, 4, 5)[:1], *(5, 4, 3)[:n])
    derivatives(lambda a: getattr(F, f"max_pool{n}d")(a, **window), x)
    for options in ({}, {"count_include_pad": False}):
        derivatives(lambda a, o=options: getattr(F, f"avg_pool{n}d")(a, **window, **o), x)


@pytest.mark.parametrize(
    ("n", "size"), [(1, 2), (1, 7), (2, (2, 3)), (2, (5, 1)), (3, (2, 1, 4)), (3, 1), (2, 1)]
)
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
    values, places = F.max_pool2d(
        torch.tensor(x), kernel, stride, padding, dilation, return_indices=True
    )
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
    derivatives(
        lambda a: F.max_unpool1d(a, index, 2, output_size=(5,)) ** 2, line.numpy(), tolerance=1e-5
    )
    cube, index3 = F.max_pool3d(torch.tensor(apart(1, 2, 4, 4)), 2, return_indices=True)
    derivatives(lambda a: F.max_unpool3d(a, index3, 2) ** 2, cube.numpy(), tolerance=1e-5)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_power_average(n, derivatives):
    x = RNG.uniform(0.5, 2, size=(2, 4, 4, 2)[: n + 1])
    derivatives(lambda a: getattr(F, f"lp_pool{n}d")(a, 3.0, 2), x, tolerance=1e-5)
    whole = getattr(F, f"lp_pool{n}d")(torch.tensor(x), 2, 2)
    assert whole.flatten()[0].item() == pytest.approx(
        np.sqrt((x[(0, *[slice(0, 2)] * n)] ** 2).sum())
    )


def test_dtypes_stay():
    for dtype in (torch.float16, torch.float32, torch.float64):
        x = torch.ones(1, 4, 6, dtype=dtype, requires_grad=True)
        for out in (
            F.max_pool2d(x, 2),
            F.avg_pool2d(x, 2),
            F.adaptive_avg_pool2d(x, 3),
            F.adaptive_max_pool2d(x, 3),
        ):
            (g,) = torch.autograd.grad(out.sum(), x)
            assert out.dtype == g.dtype == dtype


def test_empty_batches():
    x = torch.ones(0, 2, 4, 4, requires_grad=True)
    for function in (F.max_pool2d, F.avg_pool2d, F.adaptive_avg_pool2d, F.adaptive_max_pool2d):
        function(x, 2).sum().backward()
        assert x.grad.shape == x.shape


@pytest.mark.parametrize("n", [2, 3])
def test_fractional_pooling_takes_the_maximum_of_each_window(n, derivatives):
    sizes, kernel, outs = (6, 7, 5)[:n], (2, 3, 1)[:n], (3, 4, 2)[:n]
    x = apart(2, 3, *sizes)
    samples = RNG.uniform(size=(2, 3, n))

    def pool(a, **options):
        return getattr(F, f"fractional_max_pool{n}d")(
            a, kernel, outs, _random_samples=torch.tensor(samples, dtype=a.dtype), **options
        )

    def starts(sample, size, k, out):
        ratio = (size - k) / (out - 1)
        return [int((i + sample) * ratio) - int(sample * ratio) for i in range(out - 1)] + [
            size - k
        ]

    values, places = pool(torch.tensor(x), return_indices=True)
    for batch, channel in itertools.product(range(2), range(3)):
        drawn = (
            samples[batch, channel][::-1] if n == 2 else samples[batch, channel]
        )  # over images the width is first
        firsts = [starts(*one) for one in zip(drawn, sizes, kernel, outs, strict=True)]
        for index in np.ndindex(outs):
            corner = tuple(
                slice(firsts[d][i], firsts[d][i] + kernel[d]) for d, i in enumerate(index)
            )
            best = values[(batch, channel, *index)].item()
            assert best == x[batch, channel][corner].max()
            assert x[batch, channel].flat[places[(batch, channel, *index)].item()] == best
    derivatives(pool, x)


def test_fractional_pooling_of_nan_of_nothing_and_by_ratio():
    x = torch.full((1, 1, 3, 3), float("nan"), requires_grad=True)
    out = torch.nn.FractionalMaxPool2d(2, output_size=1)(x)
    out.sum().backward()
    assert out.isnan().all() and x.grad.sum() == 1
    assert torch.nn.FractionalMaxPool3d(2, output_ratio=0.5)(torch.ones(0, 2, 4, 6, 8)).shape == (
        0,
        2,
        2,
        3,
        4,
    )
    assert F.fractional_max_pool2d(torch.ones(1, 4, 4), 2, (0, 2)).shape == (1, 0, 2)
    for sizes, message in (
        ((3, 3), "height 3 too large"),
        ((1, 4), "width 3 too large"),
        ((1,), "single Int or tuple"),
    ):
        with pytest.raises(RuntimeError, match=message):
            F.fractional_max_pool2d(torch.ones(1, 4, 4), 3, sizes)
    with pytest.raises(RuntimeError, match="no less then input batch size"):
        F.fractional_max_pool2d(torch.ones(1, 1, 4, 4), 3, 1, _random_samples=torch.rand(0, 1, 2))
    with pytest.raises(ValueError, match="only one of output_size and output_ratio"):
        torch.nn.FractionalMaxPool2d(2, 1, 0.5)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.max_pool1d(x[0], 2, return_indices=True),
        lambda x: F.max_pool2d(x, 2, return_indices=True),
        lambda x: F.adaptive_max_pool2d(x, 2, return_indices=True),
        lambda x: F.fractional_max_pool2d(x, 2, 1, return_indices=True),
        lambda x: x.max(1),
        lambda x: x.sort(1),
        lambda x: x.topk(1, 1),
        lambda x: x.kthvalue(1, 1, keepdim=True),
        lambda x: x.cummax(1),
    ],
)
def test_indices_that_were_changed_are_refused(function):
    values, indices = function(torch.tensor(apart(1, 3, 3), requires_grad=True))
    indices.zero_()
    with pytest.raises(RuntimeError, match=r"LongTensor .* is at version 1; expected version 0"):
        values.sum().backward()


def test_a_window_with_only_padding_has_no_maximum():
    assert F.max_pool1d(torch.ones(1, 1), 2, padding=1, dilation=2).tolist() == [[-float("inf")]]
    assert F.max_pool1d(torch.tensor([[1.0, 2.0]]), 2, 1, 1, 2).tolist() == [[2.0, 1.0]]


@pytest.mark.parametrize(
    "function", [F.adaptive_avg_pool2d, F.adaptive_max_pool2d, F.adaptive_avg_pool1d]
)
def test_no_gradient_through_no_outputs(function):
    with pytest.raises(
        RuntimeError, match="Expected grad_output to have non-zero size for non-batch dimensions"
    ):
        function(torch.ones(1, 3, 3, requires_grad=True), 0).sum().backward()
    with pytest.raises(RuntimeError, match="overflowed"):
        F.adaptive_max_pool1d(torch.ones(2, 2), 2**62)
    with pytest.raises(RuntimeError, match="exactly three elements"):
        F.max_unpool3d(torch.ones(1, 1, 1, 1), torch.zeros(1, 1, 1, 1, dtype=torch.int64), [1, 1])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sort(1),
        lambda x: x.topk(2, 1),
        lambda x: x.max(1),
        lambda x: x.median(1),
        lambda x: F.max_pool1d(x, 2, return_indices=True),
        lambda x: (x[i := torch.tensor([1, 0])], i),
        lambda x: (x.gather(1, i := torch.tensor([[1], [0]])), i),
        lambda x: (x.index_select(0, i := torch.tensor([1, 0])), i),
        lambda x: (x.take(i := torch.tensor([1, 3])), i),
    ],
)
def test_indices_that_were_changed_after_a_hook_copied_them_are_as_they_were(function):
    values = apart(2, 3)
    x, y = (torch.tensor(values, requires_grad=True) for _ in range(2))
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        out, indices = function(x)
    indices.zero_()
    out.sum().backward()
    function(y)[0].sum().backward()
    assert torch.equal(x.grad, y.grad)


def test_fractional_pooling_refuses_what_pytorch_refuses():
    x = torch.ones(1, 5, 6, 7)
    with pytest.raises(
        RuntimeError, match=r"max_pool3d_out\(\): pool time 2 too large relative to input time 5"
    ):
        F.fractional_max_pool3d(x, 2, (4, 2, 2))
    assert F.fractional_max_pool3d(x, 2, output_ratio=0.5).shape == (1, 2, 3, 3)
    with pytest.raises(TypeError, match="object of type 'float' has no len"):
        F.fractional_max_pool2d(x, 2, output_ratio=0.5)
    with pytest.raises(ValueError, match="kernel_size must be greater than 0, but got 0"):
        torch.nn.FractionalMaxPool3d(0, 3)
    for layer in (torch.nn.FractionalMaxPool2d, torch.nn.FractionalMaxPool3d):
        with pytest.raises(IndexError):
            layer(2, output_ratio=(0.5,))
