"""Cases of functions made of others, and of those without a derivative (PLAIN), for docs/operators.md as well."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradtrace as torch

F = torch.nn.functional
L = torch.linalg
S = torch.special
RNG = np.random.default_rng(31)
BOTH = torch.tensor([1, 0])


def some(*shape: int) -> Any:
    return RNG.uniform(-2, 2, shape)


def regular(*shape: int) -> Any:
    return RNG.normal(size=shape) + 3 * np.eye(shape[-2], shape[-1])


def seeded(function: Any) -> Any:
    """The function with the same random numbers at each call."""

    def call(*args: Any) -> Any:
        torch.manual_seed(5)
        return function(*args)

    return call


def definite(x: Any) -> Any:
    return x @ x.mT + torch.eye(x.shape[-1], dtype=torch.float64)


def spots(pool: Any, *shape: int) -> tuple[Any, ...]:
    """Unpooling, at the places where pooling found its maxima."""
    _, where = pool(torch.tensor(some(*shape)), 2, return_indices=True)
    return (lambda x: F.max_unpool1d(x, where, 2), some(*where.shape))


CASES: dict[str, list[tuple[Any, ...]]] = {
    "atleast": [
        (torch.atleast_1d, some()),
        (torch.atleast_2d, some(2)),
        (torch.atleast_3d, some(2, 2)),
    ],
    "broadcast_tensors": [(torch.broadcast_tensors, some(2, 1), some(3))],
    "chain_matmul": [(torch.chain_matmul, some(2, 3), some(3, 2), some(2, 1))],
    "constant_pad_nd": [(lambda x: torch.constant_pad_nd(x, (1, 2), 0.5), some(2, 2))],
    "batch_norm of torch": [
        (
            lambda x, w: torch.batch_norm(x, w, None, None, None, True, 0.1, 1e-5, False),
            some(4, 3),
            some(3),
        ),
        (
            lambda x, w: torch.native_batch_norm(x, w, None, None, None, True, 0.1, 1e-5)[0],
            some(4, 3),
            some(3),
        ),
        (lambda x: torch.native_layer_norm(x, (3,), None, None, 1e-5)[0], some(2, 3)),
    ],
    "convolution": [
        (
            lambda x, w: torch.convolution(x, w, None, [1], [0], [1], False, [0], 1),
            some(1, 1, 3),
            some(1, 1, 2),
        )
    ],
    "copies of views": [
        (torch.alias_copy, some(2, 3)),
        (lambda x: torch.as_strided_copy(x, (2, 2), (1, 1)), some(3)),
        (lambda x: torch.detach_copy(x) * 0 + x, some(3)),
        (torch.diagonal_copy, some(2, 3)),
        (lambda x: torch.expand_copy(x, (2, 3)), some(3)),
        (lambda x: torch.narrow_copy(x, 1, 1, 2), some(2, 3)),
        (lambda x: torch.permute_copy(x, (1, 0)), some(2, 3)),
        (lambda x: torch.select_copy(x, 0, 1), some(2, 3)),
        (lambda x: torch.split_copy(x, 2)[0] * torch.split_with_sizes_copy(x, [2, 1])[1], some(3)),
        (torch.squeeze_copy, some(2, 1)),
        (torch.t_copy, some(2, 3)),
        (lambda x: torch.transpose_copy(x, 0, 1), some(2, 3)),
        (lambda x: torch.unbind_copy(x)[1], some(2, 3)),
        (lambda x: torch.unfold_copy(x, 0, 2, 1), some(3)),
        (lambda x: torch.unsqueeze_copy(x, 0), some(3)),
        (lambda x: torch.view_copy(x, (3, 2)), some(2, 3)),
    ],
    "real": [(lambda x: torch.real(x) * x.real, some(2))],
    "channels_last": [
        (lambda x: x.contiguous(memory_format=torch.channels_last) * x, some(1, 2, 2, 2)),
        (
            lambda x: x.to(memory_format=torch.channels_last).clone(
                memory_format=torch.channels_last
            ),
            some(1, 2, 2, 1),
        ),
    ],
    "random in place": [
        (seeded(lambda x, n=n: x + getattr(x * 1, n)().tanh()), some(2, 3))
        for n in (
            "normal_",
            "uniform_",
            "exponential_",
            "cauchy_",
            "log_normal_",
            "random_",
            "bernoulli_",
        )
    ]
    + [
        (seeded(lambda x: x + (x * 1).geometric_(0.5)), some(2, 3)),
        (seeded(lambda x: x + (x * 1).random_(5) + (x * 1).random_(2, 5)), some(2, 3)),
        (
            seeded(
                lambda x: (
                    x + (x * 1).bernoulli_(torch.full((3,), 0.5)) + torch.bernoulli(x.sigmoid())
                )
            ),
            some(2, 3),
        ),
        (
            seeded(
                lambda x: x + torch.poisson(x.exp()) + torch.binomial(x.exp().ceil(), x.sigmoid())
            ),
            some(2, 3),
        ),
    ],
    "fill_diagonal_": [(lambda x: (x * 1).fill_diagonal_(2.0), some(2, 3))],
    "dropouts": [
        (seeded(lambda x, f=f: f(x, 0.4)), some(2, 3, *[2] * n))
        for n, f in (
            (0, F.dropout1d),
            (0, F.alpha_dropout),
            (1, F.dropout2d),
            (2, F.dropout3d),
            (0, F.feature_alpha_dropout),
            (0, lambda x, p: torch.dropout(x, p, True)),
        )
    ],
    "splits": [
        (lambda x: x.hsplit(2), some(2, 4)),
        (lambda x: x.vsplit(2), some(2, 3)),
        (lambda x: x.dsplit(2), some(1, 1, 4)),
        (lambda x: x.split_with_sizes([1, 2], 1), some(2, 3)),
        (lambda x: torch.hsplit(x, 2), some(2)),
        (lambda x: torch.vsplit(x, 2), some(2, 1)),
        (lambda x: torch.dsplit(x, 1), some(1, 1, 1)),
        (lambda x: torch.split_with_sizes(x, [1, 1]), some(2)),
    ],
    "dstack": [(lambda a, b: torch.dstack([a, b]), some(2), some(2))],
    "fill": [(lambda x: torch.fill(x, 2.0) + x, some(2))],
    "fliplr": [(torch.fliplr, some(2, 3))],
    "flipud": [(torch.flipud, some(2, 3))],
    "msort": [(torch.msort, some(3, 2))],
    "float_power": [
        (lambda x: torch.float_power(x, 3), some(2)),
        (lambda x, y: torch.float_power(x * x + 1, y), some(2, 2), some(2)),
    ],
    "sgn": [(torch.sgn, some(2, 3))],
    "reshape_as": [(lambda x: x.reshape_as(torch.zeros(4)), some(2, 2))],
    "sum_to_size": [(lambda x: x.sum_to_size(2, 1), some(2, 3))],
    "type_as": [(lambda x: x.type_as(torch.zeros(1, dtype=torch.float64)) * 2, some(2))],
    "lu of torch": [(lambda x: torch.lu(x)[0], regular(2, 2))],
    "orgqr": [(torch.orgqr, regular(3, 2), some(2))],
    "lu_solve of torch": [
        (
            lambda b, lu: torch.lu_solve(b, lu, torch.tensor([1, 2], dtype=torch.int32)),
            some(2, 1),
            regular(2, 2),
        )
    ],
    "pinverse": [(torch.pinverse, regular(3, 2))],
    "lowrank": [
        (seeded(lambda x: torch.pca_lowrank(x, 2)[1]), regular(3, 2)),
        (seeded(lambda x: torch.svd_lowrank(x, 2)[1]), regular(2, 3)),
    ],
    "qr": [(torch.qr, regular(3, 2))],
    "svd": [(lambda x: torch.svd(x)[1], regular(3, 2))],
    "slogdet": [(lambda x: torch.slogdet(x)[1], regular(2, 2))],
    "vander": [(lambda x: torch.vander(x, 3), some(3))],
    "linalg beside": [
        (lambda x: L.cholesky_ex(definite(x))[0], regular(2, 2)),
        (L.diagonal, some(2, 3)),
        (lambda x: L.eigvalsh(x + x.mT), regular(3, 3)),
        (lambda x: L.inv_ex(x)[0], regular(2, 2)),
        (lambda x: L.lu_factor_ex(x)[0], regular(2, 2)),
        (lambda a, b: L.solve_ex(a, b)[0], regular(2, 2), some(2, 1)),
    ],
    "pools of one dim": [
        (lambda x: F.avg_pool1d(x, 2), some(1, 2, 5)),
        (lambda x: F.lp_pool1d(x, 2, 2), some(1, 2, 4)),
        (lambda x: F.adaptive_avg_pool1d(x, 2), some(1, 2, 5)),
        (lambda x: F.adaptive_max_pool1d(x, 2), some(1, 2, 5)),
        (lambda x: F.lp_pool2d(x, 3, 2), 0.2 + np.abs(some(1, 1, 2, 4))),
        (lambda x: F.lp_pool3d(x, 2, 2), some(1, 1, 2, 2, 2)),
        spots(F.max_pool1d, 1, 1, 4),
        (lambda x: F.max_pool1d_with_indices(x, 2)[0], some(1, 2, 4)),
        (lambda x: F.max_pool2d_with_indices(x, 2)[0], some(1, 1, 2, 4)),
        (lambda x: F.max_pool3d_with_indices(x, 2)[0], some(1, 1, 2, 2, 4)),
        (lambda x: torch.adaptive_max_pool1d(x, 2)[0], some(1, 2, 5)),
        (lambda x: F.adaptive_max_pool1d_with_indices(x, 2)[0], some(1, 2, 5)),
        (lambda x: F.adaptive_max_pool2d_with_indices(x, 2)[0], some(1, 1, 3, 3)),
        (lambda x: F.adaptive_max_pool3d_with_indices(x, 1)[0], some(1, 1, 2, 2, 2)),
    ],
    "convolutions": [
        (lambda x, w, b: F.conv_tbc(x, w, b, 1), some(3, 1, 2), some(2, 2, 2), some(2)),
        (F.conv_transpose3d, some(1, 1, 1, 2, 2), some(1, 1, 2, 1, 2)),
    ],
    "upsample": [
        (lambda x: F.upsample(x, scale_factor=2), some(1, 1, 2)),
        (lambda x: F.upsample_bilinear(x, scale_factor=2), some(1, 1, 2, 2)),
        (lambda x: F.upsample_nearest(x, 3), some(1, 1, 2)),
    ],
    "triplet_margin_with_distance_loss": [
        (F.triplet_margin_with_distance_loss, some(2, 3), some(2, 3), some(2, 3))
    ],
    "gumbel_softmax": [(seeded(F.gumbel_softmax), some(2, 3))],
    "softmax of nn.functional": [
        (lambda x: F.softmax(x, 1), some(2, 3)),
        (lambda x: F.log_softmax(x, 0), some(2, 3)),
    ],
    "special's names": [
        (getattr(S, name), 0.3 + 0.4 * RNG.random(3))
        for name in (
            "digamma",
            "psi",
            "erf",
            "erfc",
            "erfinv",
            "exp2",
            "expm1",
            "gammaln",
            "log1p",
            "sinc",
            "round",
        )
    ],
    "sigmoid of special": [
        (S.expit, some(3)),
        (lambda x: getattr(S, "sigmoid", S.expit)(x), some(3)),
    ],
    "polygamma of a tensor": [(lambda x: x.polygamma(1), 1 + RNG.random(3))],
    "igamma": [
        (
            lambda x: torch.igamma(torch.tensor([0.7, 2.0, 20.0], dtype=torch.float64), x),
            0.5 + 2 * RNG.random((2, 3)),
        ),
        (
            lambda x: torch.igamma(torch.tensor(3.0, dtype=torch.float64), x),
            0.5 + 2 * RNG.random(3),
        ),
    ],
    "igammac": [
        (
            lambda x: torch.igammac(torch.tensor([0.7, 2.0, 20.0], dtype=torch.float64), x),
            0.5 + 2 * RNG.random((2, 3)),
        )
    ],
    "special.zeta": [
        (lambda q: S.zeta(2.5, q), 0.5 + RNG.random(3)),
        (lambda q: S.zeta(torch.tensor(3.0, dtype=torch.float64), q), -0.2 - 0.6 * RNG.random(3)),
    ],
    "special.xlogy": [(S.xlogy, 1 + RNG.random(3), 1 + RNG.random(3))],
    "methods of two tensors": [
        (lambda a, b, n=n: getattr(a, n)(b), some(2, 3), some(3))
        for n in ("fmax", "fmin", "maximum", "hypot", "logaddexp", "logaddexp2")
    ],
    "relu_ and kin": [
        (lambda x, f=f: f(x * 1), some(2, 3))
        for f in (
            torch.rrelu_,
            F.rrelu_,
            torch.relu_,
            torch.selu_,
            torch.celu_,
            F.elu_,
            F.leaky_relu_,
            F.hardtanh_,
            lambda x: torch.threshold_(x, 0.3, 1),
        )
    ],
}

# Without a derivative: the result never requires grad.
PLAIN: dict[str, list[tuple[Any, ...]]] = {
    **{
        name: [(lambda a, b, n=name: getattr(a, n)(b), some(2, 3), some(3))]
        for name in ("greater", "less", "greater_equal", "less_equal", "not_equal")
    },
    **{
        name: [(getattr(torch, name), some(2, 3))]
        for name in (
            "all",
            "argmax",
            "argmin",
            "argsort",
            "argwhere",
            "count_nonzero",
            "isfinite",
            "isinf",
            "isnan",
            "isneginf",
            "isposinf",
            "logical_not",
            "nonzero",
            "ones_like",
            "zeros_like",
            "empty_like",
            "rand_like",
            "randn_like",
            "signbit",
            "any",
            "histc",
        )
    },
    **{
        name: [(getattr(torch, name), some(2, 3), some(3))]
        for name in (
            "allclose",
            "isclose",
            "eq",
            "ne",
            "lt",
            "le",
            "gt",
            "ge",
            "logical_and",
            "logical_or",
            "logical_xor",
            "isin",
        )
    },
    "is_nonzero": [(torch.is_nonzero, some())],
    "equal": [(torch.equal, some(2), some(2))],
    "bucketize": [(lambda x: torch.bucketize(x, torch.tensor([0.0, 1.0])), some(3))],
    "searchsorted": [
        (lambda x: torch.searchsorted(torch.tensor([0.0, 1.0], dtype=x.dtype), x), some(3))
    ],
    "histogramdd": [(lambda x: torch.histogramdd(x, [2, 3]), some(4, 2))],
    "histogram": [(lambda x: torch.histogram(x, 3), some(4))],
    "full_like": [(lambda x: torch.full_like(x, 2), some(2))],
    "matrix_rank": [(L.matrix_rank, regular(2, 2))],
    "one_hot": [(lambda x: F.one_hot(BOTH), some(1))],
    "creation": [
        (
            lambda x: (
                torch.arange(3),
                torch.range(0, 3),
                torch.zeros(2),
                torch.ones(2),
                torch.full((2,), 1.0),
                torch.eye(2),
                torch.linspace(0, 1, 3),
                torch.logspace(0, 1, 3),
                torch.empty(2),
                torch.tensor(1.0),
                torch.tril_indices(2, 2),
                torch.triu_indices(2, 2),
                torch.scalar_tensor(1.0),
                torch.as_tensor(1.0),
                torch.asarray([1.0]),
                torch.hann_window(3),
                torch.hamming_window(3),
                torch.blackman_window(3),
                torch.bartlett_window(3),
                torch.kaiser_window(3),
            ),
            some(1),
        )
    ],
    "random": [
        (
            lambda x: (
                torch.rand(2),
                torch.randn(2),
                torch.randint(3, (2,)),
                torch.randint_like(torch.ones(2), 3),
                torch.randperm(3),
                torch.normal(0.0, 1.0, (2,)),
                torch.multinomial(torch.ones(3), 2),
                torch.bernoulli(torch.ones(2) * 0.5),
            ),
            some(1),
        )
    ],
    "new": [
        (
            lambda x: (
                x.new_zeros(2),
                x.new_ones(2),
                x.new_full((2,), 1.0),
                x.new_empty(2),
                x.new_empty_strided((2, 2), (1, 2)),
                torch.empty_strided((2,), (1,)),
                x.new_tensor([1.0]),
                x.new([1.0]),
            ),
            some(1),
        )
    ],
    "unravel_index": [(lambda x: torch.unravel_index(BOTH, (2, 2)), some(1))],
    "nonzero_static": [(lambda x: torch.nonzero_static(x, size=2), some(3))],
}

# On integers only.
INTEGER: dict[str, list[tuple[Any, ...]]] = {
    **{
        name: [
            (getattr(torch, name), np.array([6, 4]), np.array([4, 1])),
            (lambda a, b, n=name: getattr(a, n)(b), np.array([6, 4]), np.array([4, 1])),
        ]
        for name in (
            "bitwise_and",
            "bitwise_or",
            "bitwise_xor",
            "bitwise_left_shift",
            "bitwise_right_shift",
            "gcd",
            "lcm",
        )
    },
    "bitwise_not": [(torch.bitwise_not, np.array([3]))],
    "bincount": [(torch.bincount, np.array([3, 0]))],
}

# To another dtype; the gradient comes back in the input's.
CASTS: dict[str, list[tuple[Any, ...]]] = {
    name: [(lambda x, n=name: getattr(x, n)(), some(2, 3))]
    for name in ("half", "float", "double", "bool", "byte", "char", "short", "int", "long")
}

# PyTorch has no derivative of these, yet their results require grad: backward raises.
RAISE: dict[str, list[tuple[Any, ...]]] = {
    "floor_divide": [
        (torch.floor_divide, some(3), some(3)),
        (lambda a, b: a.floor_divide(b), some(3), some(3)),
    ],
    "unique": [(torch.unique, some(2, 3))],
    "unique_consecutive": [(torch.unique_consecutive, some(2, 3))],
    "heaviside": [
        (torch.heaviside, some(3), some(3)),
        (lambda a, b: a.heaviside(b), some(3), some(3)),
    ],
    "native_channel_shuffle": [(lambda x: torch.native_channel_shuffle(x, 2), some(1, 4, 1, 1))],
}
