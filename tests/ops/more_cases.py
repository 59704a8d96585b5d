"""Cases beyond `cases`: operators of tier 3, other forms, and whatever only one form of an operator records."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradtrace as torch

F = torch.nn.functional
L = torch.linalg
RNG = np.random.default_rng(29)


def some(*shape: int) -> Any:
    return RNG.uniform(-2, 2, shape)


def positive(*shape: int) -> Any:
    return RNG.uniform(0.3, 1.7, shape)


def regular(*shape: int) -> Any:
    return RNG.normal(size=shape) + 3 * np.eye(shape[-2], shape[-1])


def index(*values: Any) -> Any:
    return torch.tensor(list(values))


def definite(x: Any) -> Any:
    """A symmetric positive definite matrix made of any square one: the operators read one triangle of it."""
    return x @ x.mT + torch.eye(x.shape[-1], dtype=torch.float64)


def resized(mode: str, *shape: int, **options: Any) -> tuple[Any, ...]:
    n = len(shape)
    size = [3, 2, 4][:n]
    return (lambda x: F.interpolate(x, size=size, mode=mode, **options), some(1, 1, *shape))


def padded(mode: str, n: int) -> tuple[Any, ...]:
    return (lambda x: F.pad(x, (1, 0) * n, mode=mode), some(1, *[2] * n))


def pooled(function: Any, shape: tuple[int, ...], *options: Any) -> tuple[Any, ...]:
    return (lambda x: function(x, *options), some(*shape))


def unpooled(function: Any, pool: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    _, where = pool(torch.tensor(some(*shape)), 2, return_indices=True)
    return (lambda x: function(x, where, 2), some(*where.shape))


LU, PIVOTS = L.lu_factor(torch.tensor(regular(3, 3)))
MASK = torch.tensor([[True, False], [True, True]])
CLASSES = index(2, 0)
SAMPLES = torch.tensor([[[0.3, 0.7, 0.1]]], dtype=torch.float64)

CASES: dict[str, list[tuple[Any, ...]]] = {
    # products
    "addr": [
        (lambda c, a, b: torch.addr(c, a, b, beta=0.5, alpha=2), some(2, 3), some(2), some(3))
    ],
    "addmv": [
        (lambda c, a, b: torch.addmv(c, a, b, beta=0.5, alpha=2), some(2), some(2, 3), some(3))
    ],
    "addbmm": [
        (
            lambda c, a, b: torch.addbmm(c, a, b, beta=0.5, alpha=2),
            some(2, 2),
            some(2, 2, 3),
            some(2, 3, 2),
        )
    ],
    "baddbmm": [
        (
            lambda c, a, b: torch.baddbmm(c, a, b, beta=0.5, alpha=2),
            some(2, 1, 2),
            some(2, 2, 3),
            some(2, 3, 2),
        )
    ],
    "vdot": [(torch.vdot, some(3), some(3))],
    "inner": [(torch.inner, some(2, 3), some(2, 3))],
    "kron": [(torch.kron, some(2, 1), some(2, 2))],
    "linalg.vecdot": [(L.vecdot, some(2, 3), some(2, 3))],
    "cross": [
        (torch.linalg.cross, some(2, 3), some(1, 3)),
        (lambda a, b: torch.cross(a, b, dim=-2), some(3, 2), some(3, 2)),
    ],
    "linalg.multi_dot": [(lambda a, b, c: L.multi_dot([a, b, c]), some(2, 3), some(3, 2), some(2))],
    "matrix_power": [
        (lambda x: L.matrix_power(x, 3), some(2, 2)),
        (lambda x: L.matrix_power(x, -2), regular(2, 2)),
        (lambda x: L.matrix_power(x, 0) + x, some(2, 2, 2)),
    ],
    "bilinear": [(F.bilinear, some(2, 3), some(2, 2), some(4, 3, 2), some(4))],
    "matmul of many shapes": [
        (torch.matmul, some(3), some(3)),
        (torch.matmul, some(2, 1, 3), some(3)),
        (torch.matmul, some(3), some(2, 3, 1)),
        (torch.matmul, some(0, 3), some(3, 2)),
        (torch.matmul, some(2, 0), some(0, 3)),
        (torch.matmul, some(3, 1, 1, 2), some(2, 2, 1)),
    ],
    "einsum of many forms": [
        (lambda a: torch.einsum("ii->i", a), some(3, 3)),
        (lambda a: torch.einsum("...ij->...ji", a), some(2, 1, 3)),
        (lambda a, b: torch.einsum("i,j", a, b), some(2), some(3)),
        (lambda a, b, c: torch.einsum("ij,jk,kl->il", a, b, c), some(2, 2), some(2, 3), some(3, 1)),
        (lambda a, b: torch.einsum("bi,bi->b", a, b), some(2, 3), some(1, 3)),
    ],
    # shapes and places
    "squeeze of several": [(lambda x: x.squeeze((0, -1)), some(1, 2, 1))],
    "rot90": [(lambda x, k=k: x.rot90(k, (0, 1)), some(2, 3)) for k in (1, 2, -1)],
    "take_along_dim": [(lambda x: x.take_along_dim(index([0], [1]), -1), some(2, 3))],
    "clamp by tensors alone": [
        (torch.clamp_min, some(2, 3), some(3)),
        (torch.clamp_max, some(2, 1), some(2, 3)),
    ],
    "copy_": [
        (lambda x, s: (x * 2).copy_(s) + x, some(2, 3), some(3)),
        (lambda x, s: torch.zeros_like(x).copy_(s) * x, some(2, 3), some(2, 1)),
    ],
    "fill_ with a tensor": [(lambda x, v: (x * 2).fill_(v) + x, some(2), some())],
    "backward(create_graph=True)": [(lambda x: accumulated(x), some(2, 3))],
    "renorm": [(lambda x, p=p: x.renorm(p, 0, 1.5), some(3, 2)) for p in (1, 2, 3)],
    "index_reduce": [
        (lambda x, s: x.index_reduce(0, index(0, 0), s, "prod"), some(2, 3), some(2, 3))
    ],
    "scatter_reduce of many": [
        (
            lambda x, s, r=r: x.scatter_reduce(
                -1, index([0, 0, 1], [2, 0, 0]), s, r, include_self=r != "amin"
            ),
            some(2, 3),
            some(2, 3),
        )
        for r in ("sum", "prod", "amax", "amin")
    ],
    "as places in a view": [(lambda x, s: assigned(x, s), some(2, 3), some(3))],
    "index of many forms": [
        (lambda x: x[index(1, 1, 0)], some(2, 3)),
        (lambda x: x[..., index([0, 2], [1, 1])], some(2, 3)),
        (lambda x: x[index(0, 1), :, index(1, 0)], some(2, 2, 2)),
        (lambda x: x[None, :, -1], some(2, 3)),
        (lambda x: x[x > 0], some(2, 3)),
        (lambda x: x[:, index(0)], some(0, 2)),
    ],
    "cdist of many": [
        (lambda a, b, p=p: torch.cdist(a, b, p), some(2, 3), some(4, 3))
        for p in (1, 3, float("inf"))
    ],
    # statistics
    "cov": [(torch.cov, some(2, 4))],
    "corrcoef": [(torch.corrcoef, some(2, 4))],
    "trapezoid": [
        (torch.trapezoid, some(2, 4)),
        (lambda y, x: torch.trapezoid(y, x), some(4), np.arange(4.0) ** 1.5),
    ],
    "cumulative_trapezoid": [(torch.cumulative_trapezoid, some(2, 4))],
    "gradient": [(torch.gradient, some(4))],
    "quantiles": [
        (lambda x: torch.quantile(x, torch.tensor([0.2, 0.7], dtype=torch.float64), 1), some(2, 4))
    ],
    # windows over images
    "glu": [(F.glu, some(2, 4)), (lambda x: F.glu(x, 0), some(2, 3))],
    "rrelu": [(lambda x: seeded_rrelu(x), some(2, 3))],
    "gradient of max_pool2d": [(lambda g: backward_of_pool(g), some(1, 1, 2, 2))],
    "attention with a mask": [
        (
            lambda q, k, v: F.scaled_dot_product_attention(q, k, v, MASK),
            some(1, 1, 2, 3),
            some(1, 1, 2, 3),
            some(1, 1, 2, 3),
        )
    ],
    "conv_transpose1d": [
        (lambda x, w: F.conv_transpose1d(x, w, stride=2, padding=1), some(1, 2, 3), some(2, 1, 2))
    ],
    "conv3d": [(F.conv3d, some(1, 1, 2, 2, 2), some(1, 1, 2, 1, 2), some(1))],
    "conv of one image": [(F.conv2d, some(1, 3, 3), some(2, 1, 2, 2))],
    "avg_pool3d": [pooled(F.avg_pool3d, (1, 1, 2, 3, 2), 2, 1)],
    "max_pool3d": [pooled(F.max_pool3d, (1, 1, 2, 3, 2), 2, 1)],
    "max_pool1d": [pooled(F.max_pool1d, (1, 2, 5), 2)],
    "adaptive_avg_pool3d": [pooled(F.adaptive_avg_pool3d, (1, 1, 3, 2, 3), 2)],
    "adaptive_max_pool2d": [pooled(F.adaptive_max_pool2d, (1, 1, 3, 4), 2)],
    "adaptive_max_pool3d": [pooled(F.adaptive_max_pool3d, (1, 1, 3, 2, 3), 2)],
    "max_unpool2d": [unpooled(F.max_unpool2d, F.max_pool2d, (1, 1, 4, 4))],
    "max_unpool3d": [unpooled(F.max_unpool3d, F.max_pool3d, (1, 1, 2, 4, 2))],
    "fractional_max_pool2d": [
        (
            lambda x: F.fractional_max_pool2d(x, 2, (2, 3), _random_samples=SAMPLES[..., :2]),
            some(1, 1, 4, 5),
        )
    ],
    "fractional_max_pool3d": [
        (lambda x: F.fractional_max_pool3d(x, 2, 2, _random_samples=SAMPLES), some(1, 1, 4, 4, 4))
    ],
    "unfold and fold": [
        (lambda x: F.unfold(x, 2, stride=2, padding=1), some(1, 1, 3, 3)),
        (lambda x: F.fold(x, (3, 3), 2), some(1, 4, 4)),
    ],
    "pad of many": [padded(mode, n) for mode in ("reflect", "replicate") for n in (1, 2, 3)],
    "pixel_shuffle": [
        (lambda x: F.pixel_shuffle(x, 2), some(1, 4, 1, 2)),
        (lambda x: F.pixel_unshuffle(x, 2), some(1, 1, 2, 4)),
    ],
    "channel_shuffle": [(lambda x: F.channel_shuffle(x, 2), some(1, 4, 1, 2))],
    "interpolate of many": [
        *(
            resized(mode, *[2, 3, 2][:n])
            for mode in ("nearest", "nearest-exact")
            for n in (1, 2, 3)
        ),
        *(
            resized(mode, *[2, 3, 2][:n], align_corners=corners)
            for n, mode in enumerate(("linear", "bilinear", "trilinear"), 1)
            for corners in (True, False)
        ),
        resized("bicubic", 3, 4, align_corners=True),
        *(resized(mode, 5, 4, antialias=True) for mode in ("bilinear", "bicubic", "lanczos")),
    ],
    "grid_sample": [
        (
            lambda x, grid, m=m, p=p: F.grid_sample(x, grid, m, p, align_corners=False),
            some(1, 1, 3, 3),
            RNG.uniform(-1.2, 1.2, (1, 2, 2, 2)),
        )
        for m, p in (("bilinear", "zeros"), ("bilinear", "border"), ("bicubic", "reflection"))
    ]
    + [
        (
            lambda x, grid: F.grid_sample(x, grid, align_corners=True),
            some(1, 1, 2, 2, 2),
            RNG.uniform(-0.9, 0.9, (1, 1, 1, 2, 3)),
        )
    ],
    "affine_grid": [(lambda t: F.affine_grid(t, (1, 1, 2, 3), align_corners=False), some(1, 2, 3))],
    # layers and losses
    "batch_norm in evaluation": [
        (
            lambda x, w, b: F.batch_norm(
                x, torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64), w, b
            ),
            some(4, 3),
            some(3),
            some(3),
        )
    ],
    "instance_norm": [(F.instance_norm, some(2, 2, 3))],
    "local_response_norm": [(lambda x: F.local_response_norm(x, 2), some(1, 3, 4))],
    "pdist": [(lambda x, p=p: F.pdist(x, p), some(3, 2)) for p in (1, 2, 3)],
    "pairwise_distance": [
        (F.pairwise_distance, some(2, 3), some(3)),
        (lambda a, b: F.pairwise_distance(a, b, 3, keepdim=True), some(2, 3), some(2, 3)),
    ],
    "nll_loss of images": [
        (lambda x: F.nll_loss(x, index([[0, 2], [1, 1]]), ignore_index=2), some(1, 3, 2, 2))
    ],
    "soft_margin_loss": [(lambda x: F.soft_margin_loss(x, index(1, -1, 1)), some(3))],
    "packed sequences": [
        (
            lambda x: torch.nn.utils.rnn.pad_packed_sequence(
                torch.nn.utils.rnn.pack_padded_sequence(x, [3, 1])
            )[0],
            some(3, 2, 2),
        )
    ],
    # Not over nothing: the second derivative at the norm 0 is nan, as in PyTorch.
    "dist 3": [
        (lambda a, b: torch.dist(a, b, 3), some(2, 3), some(3) + 3.0),
        (lambda a, b: torch.dist(a, b, 3), some(2, 1), some(3) + 3.0),
    ],
    "multi_margin_loss": [
        *((lambda x, p=p: F.multi_margin_loss(x, CLASSES, p), some(2, 3)) for p in (1, 2)),
        *(
            (lambda x, r=r: F.multi_margin_loss(x, index(1), reduction=r), some(3))
            for r in ("none", "mean")
        ),
        (lambda x: F.multi_margin_loss(x, CLASSES, reduction="none"), some(2, 3)),
    ],
    "multilabel_margin_loss": [
        (lambda x: F.multilabel_margin_loss(x, index([2, 0, -1], [1, -1, 0])), some(2, 3)),
        *(
            (lambda x, r=r: F.multilabel_margin_loss(x, index(2, 0, -1), reduction=r), some(3))
            for r in ("none", "mean")
        ),
    ],
    "multilabel_soft_margin_loss": [
        (lambda x: F.multilabel_soft_margin_loss(x, index([1, 0, 1])), some(1, 3))
    ],
    "margin_ranking_loss": [
        (lambda a, b: F.margin_ranking_loss(a, b, index(1, -1, 1), 0.3), some(3), some(3))
    ],
    "triplet_margin_loss": [
        (
            lambda a, b, c: F.triplet_margin_loss(a, b, c, swap=True),
            some(2, 3),
            some(2, 3),
            some(2, 3),
        )
    ],
    "cosine_embedding_loss": [
        (lambda a, b: F.cosine_embedding_loss(a, b, index(1, -1)), some(2, 3), some(2, 3))
    ],
    "hinge_embedding_loss": [(lambda x: F.hinge_embedding_loss(x, index(1, -1, 1)), some(3))],
    "poisson_nll_loss": [(F.poisson_nll_loss, some(3), positive(3))],
    "gaussian_nll_loss": [(F.gaussian_nll_loss, some(3), some(3), positive(3))],
    "nextafter": [(torch.nextafter, some(3), some(3))],
    "embedding_bag": [
        *(
            (lambda w, m=m: F.embedding_bag(index(0, 2, 2, 1), w, index(0, 3), mode=m), some(3, 2))
            for m in ("sum", "mean", "max")
        ),
        *(
            (
                lambda w, m=m: F.embedding_bag(index([0, 2], [1, 1]), w, mode=m, padding_idx=1),
                some(3, 2),
            )
            for m in ("sum", "mean", "max")
        ),
        (
            lambda w, f: F.embedding_bag(
                index(0, 2, 2, 1),
                w,
                index(0, 3, 4),
                mode="sum",
                per_sample_weights=f,
                include_last_offset=True,
            ),
            some(3, 2),
            some(4),
        ),
    ],
    "ctc_loss": [
        (
            lambda x: F.ctc_loss(x.log_softmax(2), index([1, 2, 2], [2, 1, 0]), (5, 4), (3, 2)),
            some(5, 2, 3),
        ),
        (lambda x: torch.ctc_loss(x.log_softmax(1), index(1, 2), 3, 2), some(3, 3)),
    ],
    # linear algebra
    "linalg of batches": [
        (L.inv, regular(2, 2, 2)),
        (L.det, regular(2, 2, 2)),
        (L.solve, regular(2, 2, 2), some(2, 2, 1)),
        (lambda x: L.slogdet(x)[1], regular(2, 2, 2)),
        (L.solve, regular(2, 2), some(2)),
    ],
    "linalg.qr": [
        (L.qr, regular(3, 2)),
        (L.qr, regular(2, 2, 2)),
        (lambda x: L.qr(x, "complete"), regular(2, 2)),
    ],
    "linalg.lu": [
        (lambda x: L.lu(x)[1:], regular(3, 3)),
        (lambda x: L.lu(x)[1:], regular(2, 3)),
        (lambda x: L.lu(x)[1:], regular(3, 2)),
    ],
    "lu_factor": [(lambda x: L.lu_factor(x)[0], regular(3, 3))],
    "lu_unpack": [(lambda x: torch.lu_unpack(x, PIVOTS)[1:], LU.numpy())],
    "lu_solve": [
        (lambda lu, b: L.lu_solve(lu, PIVOTS, b), LU.numpy(), some(3, 2)),
        (lambda lu, b: L.lu_solve(lu, PIVOTS, b, adjoint=True), LU.numpy(), some(3, 1)),
    ],
    "linalg.lstsq": [(lambda a, b: L.lstsq(a, b)[0], regular(3, 2), some(3, 2))],
    "linalg.pinv": [(L.pinv, regular(3, 2)), (L.pinv, regular(2, 3))],
    "linalg.eigh": [
        (lambda x: L.eigh(x + x.mT)[0], regular(3, 3)),
        (lambda x: L.eigh(x + x.mT)[1].abs(), regular(2, 2, 2)),
    ],
    "linalg.svd": [
        (lambda x: L.svd(x, False)[1], regular(3, 2)),
        (L.svdvals, regular(2, 2, 3)),
        (lambda x: tuple(t.abs() for t in L.svd(x, False)), regular(3, 2)),
    ],
    "cholesky": [
        (lambda x: torch.cholesky(definite(x)), regular(3, 3)),
        (lambda x: L.cholesky(definite(x), upper=True), regular(2, 2, 2)),
    ],
    "cholesky_inverse": [(lambda x: torch.cholesky_inverse(x.tril()), regular(3, 3))],
    "cholesky_solve": [(lambda b, x: torch.cholesky_solve(b, x.tril()), some(3, 2), regular(3, 3))],
    "triangular_solve": [(lambda b, a: torch.triangular_solve(b, a)[0], some(3, 2), regular(3, 3))],
    "linalg.solve_triangular of many": [
        (
            lambda a, b: L.solve_triangular(a, b, upper=False, unitriangular=True),
            regular(2, 2, 2),
            some(2, 2, 1),
        ),
        (lambda a, b: L.solve_triangular(a, b, upper=True, left=False), regular(2, 2), some(3, 2)),
    ],
    "linalg.householder_product": [(L.householder_product, regular(3, 2), some(2))],
    "matrix_exp": [(torch.matrix_exp, some(2, 2)), (torch.matrix_exp, some(2, 2, 2))],
    "linalg.matrix_norm": [
        (lambda x, p=p: L.matrix_norm(x, p), regular(3, 2))
        for p in ("fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf"))
    ],
    "linalg.cond": [(L.cond, regular(3, 3)), (lambda x: L.cond(x, "fro"), regular(3, 3))],
    "linalg.vander": [(L.vander, some(3))],
    "linalg.tensorinv": [(lambda x: L.tensorinv(x, 1), regular(4, 4).reshape(4, 2, 2))],
    "linalg.tensorsolve": [(L.tensorsolve, regular(4, 4).reshape(2, 2, 4), some(2, 2))],
}


def seeded_rrelu(x: Any) -> Any:
    torch.manual_seed(3)
    return F.rrelu(x, training=True)


def accumulated(x: Any) -> Any:
    leaf = torch.ones(3, dtype=torch.float64).requires_grad_()
    (x * leaf**2).sum().backward(create_graph=True, inputs=[leaf])
    return leaf.grad * 2


def backward_of_pool(g: Any) -> Any:
    x = torch.tensor(np.arange(16.0).reshape(1, 1, 4, 4), requires_grad=True)
    return torch.autograd.grad(F.max_pool2d(x, 2), x, g, create_graph=True)[0] ** 2


def assigned(x: Any, source: Any) -> Any:
    """Writes through views: a row, a step, a mask, a list, a diagonal."""
    y = x * 1
    y[0] = source
    y[:, ::2] *= 2
    y[y < 0] = 0.5
    y[[1, 1], [0, 2]] = source[:2]
    y.diagonal().mul_(source[:2])
    return y


# One derivative only, as in PyTorch.
FIRST_ORDER = {
    "attention with a mask",
    "hardsigmoid",
    "cdist of many",
    "pdist",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "embedding_bag",
    "ctc_loss",
}
CONTIGUOUS_ONLY = {"view", "view_as", "as_strided"}
