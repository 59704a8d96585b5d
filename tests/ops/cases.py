"""A case for each operator with a derivative: a function and the arrays to differentiate it at.

`x`, `y` broadcast against each other; arrays keep away from kinks, for differences across one say nothing. A case
whose operator is checked in its own file all the same stands here, so that no operator can be forgotten.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import gradtrace as torch
from gradtrace.ops.linalg import sparse as sparse_matrices

F = torch.nn.functional
L = torch.linalg
RNG = np.random.default_rng(11)


def away(*shape: int) -> Any:
    """Distinct numbers, at least 0.03 from 0 and from halves."""
    n = int(np.prod(shape))
    values = (np.arange(n) - n / 2 + 0.3) * 0.37 + 0.11
    near = np.abs(values * 2 - np.round(values * 2)) < 0.06
    return RNG.permutation(np.where(near, values + 0.07, values)).reshape(shape)


def positive(*shape: int) -> Any:
    return RNG.uniform(0.3, 1.7, shape)


def inside(*shape: int) -> Any:
    """Within (-1, 1)."""
    return RNG.uniform(-0.8, 0.8, shape)


def regular(n: int) -> Any:
    return RNG.normal(size=(n, n)) + 3 * np.eye(n)


def index(*values: Any) -> Any:
    return torch.tensor(list(values))


def sparse(values: Any) -> Any:
    """A (2, 3) sparse tensor of 4 values, two of them at one place."""
    return torch.sparse_coo_tensor(index([0, 1, 1, 1], [2, 0, 2, 2]), values, (2, 3))


X, Y = away(2, 3), away(3)  # broadcast: the second gets its gradient summed over the first dim
COLUMN = away(2, 1)
CUBE = away(2, 3, 4)
IMAGE = away(1, 2, 5, 5)
MASK = torch.tensor([[True, False, True], [False, False, True]])
COLUMNS = index([0, 2, 1], [1, 1, 0])

CASES: dict[str, list[tuple[Any, ...]]] = {
    # one tensor, element by element
    "abs": [(torch.abs, X)],
    "neg": [(torch.neg, X)],
    "exp": [(torch.exp, X)],
    "log": [(torch.log, positive(2, 3))],
    "log1p": [(torch.log1p, positive(3))],
    "sqrt": [(torch.sqrt, positive(2, 3))],
    "square": [(torch.square, X)],
    "sin": [(torch.sin, X)],
    "cos": [(torch.cos, X)],
    "tanh": [(torch.tanh, X)],
    "sigmoid": [(torch.sigmoid, X)],
    "rsqrt": [(torch.rsqrt, positive(3))],
    "reciprocal": [(torch.reciprocal, positive(3))],
    "sign": [(torch.sign, X)],
    "expm1": [(torch.expm1, X)],
    "log2": [(torch.log2, positive(3))],
    "log10": [(torch.log10, positive(3))],
    "tan": [(torch.tan, inside(3))],
    "asin": [(torch.asin, inside(3))],
    "acos": [(torch.acos, inside(3))],
    "atan": [(torch.atan, X)],
    "sinh": [(torch.sinh, X)],
    "cosh": [(torch.cosh, X)],
    "erf": [(torch.erf, X)],
    "erfc": [(torch.erfc, X)],
    "floor": [(torch.floor, X)],
    "ceil": [(torch.ceil, X)],
    "round": [(torch.round, X)],
    "trunc": [(torch.trunc, X)],
    "nan_to_num": [(torch.nan_to_num, X)],
    "clamp": [
        (lambda x: x.clamp(-0.4, 0.5), X),
        (lambda x: x.clamp(min=0.2), X),
        (
            lambda x, low, high: torch.clamp(x, low, high),
            X,
            np.full(3, -0.45),
            np.full((2, 1), 0.4),
        ),
    ],
    "lgamma": [(torch.lgamma, positive(3))],
    "digamma": [(torch.digamma, positive(3))],
    "polygamma": [(lambda x: torch.polygamma(2, x), positive(3))],
    "logit": [
        (torch.logit, RNG.uniform(0.2, 0.8, 3)),
        (lambda x: torch.logit(x, 0.1), RNG.uniform(0.2, 0.8, 3)),
    ],
    "erfinv": [(torch.erfinv, inside(3))],
    "sinc": [(torch.sinc, X)],
    "special.entr": [(torch.special.entr, positive(3))],
    # two tensors
    "logaddexp2": [(torch.logaddexp2, X, Y)],
    "copysign": [(lambda x, y: torch.copysign(x, y.detach()), X, Y)],
    "ldexp": [(torch.ldexp, X, Y)],
    "special.xlog1py": [(torch.special.xlog1py, X, positive(3))],
    "add": [(torch.add, X, Y), (lambda a, b: torch.add(a, b, alpha=3), COLUMN, Y)],
    "sub": [(torch.sub, X, Y)],
    "mul": [(torch.mul, X, Y), (torch.mul, COLUMN, Y)],
    "div": [
        (torch.div, X, positive(3)),
        (torch.div, Y, positive(2, 1)),
        (lambda a, b: torch.div(a, b, rounding_mode="floor"), X, positive(3)),
    ],
    "true_divide": [(torch.true_divide, X, positive(3))],
    "pow": [
        (torch.pow, positive(2, 3), Y),
        (lambda x: x**3, X),
        (lambda x: x**-1.5, positive(3)),
        (lambda x: torch.pow(2.0, x), X),
    ],
    "maximum": [(torch.maximum, X, away(3) + 0.05)],
    "minimum": [(torch.minimum, X, away(3) + 0.05)],
    "where": [
        (lambda a, b: torch.where(MASK, a, b), X, Y),
        (lambda a: torch.where(MASK, a, torch.zeros(3)), X),
    ],
    "atan2": [(torch.atan2, X, positive(3))],
    "logaddexp": [(torch.logaddexp, X, Y)],
    "remainder": [(torch.remainder, X, positive(3)), (lambda x: x % 0.7, X)],
    "lerp": [(torch.lerp, X, Y, COLUMN), (lambda a, b: torch.lerp(a, b, 0.3), X, Y)],
    "rsub": [(torch.rsub, X, Y)],
    "__radd__": [(lambda x: 2 + x, X)],
    "__rsub__": [(lambda x: 2 - x, X)],
    "__rmul__": [(lambda x: 2 * x, X)],
    "__rdiv__": [(lambda x: 2 / x, positive(2, 3))],
    "__rpow__": [(lambda x: 2**x, X)],
    "__rmatmul__": [(lambda x, y: x.__rmatmul__(y), away(3, 2), away(2, 3))],
    # reductions
    "sum": [(torch.sum, X), (lambda x: x.sum(0), X), (lambda x: x.sum((0, 2), keepdim=True), CUBE)],
    "mean": [(torch.mean, X), (lambda x: x.mean(1), X)],
    "prod": [(torch.prod, X), (lambda x: x.prod(1), X)],
    "var": [(torch.var, X), (lambda x: x.var(1, correction=0), X)],
    "std": [(torch.std, X), (lambda x: x.std(0, keepdim=True), X)],
    "max": [(torch.max, X), (lambda x: x.max(1)[0], X)],
    "min": [(torch.min, X), (lambda x: x.min(0)[0], X)],
    "amax": [(lambda x: x.amax((0, 1)), CUBE)],
    "amin": [(lambda x: x.amin(1), X)],
    "median": [(lambda x: x.median(1)[0], X), (torch.median, Y)],
    "softmax": [(lambda x: x.softmax(1), X)],
    "log_softmax": [(lambda x: x.log_softmax(0), X)],
    "logsumexp": [(lambda x: x.logsumexp(1), X)],
    "cumsum": [(lambda x: x.cumsum(1), X)],
    "cumprod": [(lambda x: x.cumprod(1), X)],
    "norm": [(torch.norm, X), (lambda x: x.norm(3, 1), X), (lambda x: x.norm(1), X)],
    "trace": [(torch.trace, X)],
    "topk": [(lambda x: x.topk(2, 1)[0], X)],
    "sort": [(lambda x: x.sort(1)[0], X)],
    # products
    "matmul": [
        (torch.matmul, X, away(3, 2)),
        (torch.matmul, Y, away(3)),
        (torch.matmul, CUBE, away(4, 2)),
        (torch.matmul, away(2, 1, 2, 3), away(3, 3, 2)),
    ],
    "mm": [(torch.mm, X, away(3, 2))],
    "bmm": [(torch.bmm, CUBE, away(2, 4, 2))],
    "dot": [(torch.dot, Y, away(3))],
    "mv": [(torch.mv, X, Y)],
    "outer": [(torch.outer, Y, away(2))],
    "addmm": [(lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2), Y, away(2, 2), X)],
    "einsum": [
        (lambda a, b: torch.einsum("ij,jk->ik", a, b), X, away(3, 2)),
        (lambda a, b: torch.einsum("bij,j->bi", a, b), CUBE, away(4)),
    ],
    "tensordot": [(lambda a, b: torch.tensordot(a, b, 1), CUBE, away(4, 2))],
    "cdist": [(torch.cdist, X, away(2, 3))],
    # shapes
    "reshape": [
        (lambda x: x.reshape(3, -1), X),
        (lambda x: x.t().reshape(-1), X),
        (lambda x: x[..., ::2].reshape(-1, 1, 1), X[0]),
    ],
    "view": [(lambda x: x.view(6), X)],
    "permute": [(lambda x: x.permute(2, 0, 1), CUBE)],
    "transpose": [(lambda x: x.transpose(0, -1), CUBE)],
    "T": [(lambda x: x.T, X)],
    "mT": [(lambda x: x.mT, CUBE)],
    "t": [(torch.t, X)],
    "squeeze": [(torch.squeeze, COLUMN), (lambda x: x.squeeze(1), COLUMN)],
    "unsqueeze": [(lambda x: x.unsqueeze(1), X)],
    "expand": [(lambda x: x.expand(4, 2, 3), COLUMN)],
    "broadcast_to": [(lambda x: x.broadcast_to((2, 3)), Y)],
    "flatten": [(lambda x: x.flatten(1), CUBE)],
    "view_as": [(lambda x: x.view_as(torch.zeros(6)), X)],
    "unflatten": [(lambda x: x.unflatten(2, (2, 2)), CUBE)],
    "movedim": [(lambda x: x.movedim(0, 2), CUBE)],
    "contiguous": [(lambda x: x.t().contiguous(), X)],
    "clone": [(torch.clone, X)],
    "to": [(lambda x: x.to(torch.float64) * 1, X)],
    "float": [(lambda x: x.double().to(torch.float64) * 1, X)],
    "double": [(lambda x: x.double() * 1, X)],
    "diag": [(torch.diag, regular(3)), (torch.diag, Y)],
    "diagonal": [(lambda x: x.diagonal(1), X)],
    "diag_embed": [(torch.diag_embed, X)],
    "select": [(lambda x: x.select(1, 2), X)],
    "narrow": [(lambda x: x.narrow(1, 1, 2), X)],
    "unfold": [(lambda x: x.unfold(0, 2, 1), Y)],
    "unbind": [(lambda x: x.unbind(1), X)],
    "chunk": [(lambda x: x.chunk(2, 1), X)],
    "split": [(lambda x: x.split(2, 1), X), (lambda x: x.split([1, 2], 1), X)],
    "cat": [(lambda a, b: torch.cat([a, b, a]), X, away(1, 3))],
    "stack": [(lambda a, b: torch.stack([a, b], 1), X, X)],
    "hstack": [(lambda a, b: torch.hstack([a, b]), X, COLUMN)],
    "vstack": [(lambda a, b: torch.vstack([a, b]), X, Y)],
    "meshgrid": [(lambda a, b: torch.meshgrid(a, b, indexing="ij"), Y, away(2))],
    "repeat": [(lambda x: x.repeat(2, 2), X)],
    "tile": [(lambda x: x.tile(2), Y)],
    "repeat_interleave": [(lambda x: x.repeat_interleave(2, 1), X)],
    "roll": [(lambda x: x.roll(1, 1), X)],
    "flip": [(lambda x: x.flip(0, 1), X)],
    "tril": [(torch.tril, regular(3))],
    "triu": [(torch.triu, regular(3))],
    "as_strided": [(lambda x: x.as_strided((2, 2), (1, 2)), X)],
    "diagflat": [(torch.diagflat, X)],
    "cartesian_prod": [(torch.cartesian_prod, Y, away(2))],
    "combinations": [(torch.combinations, Y)],
    "block_diag": [(torch.block_diag, X, Y)],
    "column_stack": [(lambda a, b: torch.column_stack([a, b]), Y, away(3, 2))],
    "tensor_split": [(lambda x: x.tensor_split(2, 1), X)],
    "kthvalue": [(lambda x: x.kthvalue(2, 1)[0], X)],
    "select_scatter": [(lambda x, s: x.select_scatter(s, 0, 1), X, away(3))],
    "slice_scatter": [(lambda x, s: x.slice_scatter(s, 1, 0, 2), X, away(2, 2))],
    "diagonal_scatter": [(lambda x, s: x.diagonal_scatter(s), X, away(2))],
    # indices
    "take": [(lambda x: x.take(index(0, 5, 5)), X)],
    "put": [(lambda x, s: x.put(index(0, 5), s), X, away(2))],
    "index_fill": [(lambda x: x.index_fill(1, index(0, 2), 3.0), X)],
    "index_fill_tensor": [(lambda x, v: x.index_fill(1, index(0, 2, -1), v), X, away())],
    "index_copy": [(lambda x, s: x.index_copy(1, index(0, 2), s), X, away(2, 2))],
    "masked_scatter": [(lambda x, s: x.masked_scatter(MASK, s), X, away(4))],
    "gather": [(lambda x: x.gather(1, COLUMNS), X)],
    "index_select": [(lambda x: x.index_select(1, index(0, 2, 2)), X)],
    "take_along_dim": [(lambda x: x.take_along_dim(COLUMNS, 1), X)],
    "__getitem__": [
        (lambda x: x[1], X),
        (lambda x: x[:, 1:], X),
        (lambda x: x[[0, 1, 1], [2, 0, 0]], X),
        (lambda x: x[MASK], X),
        (lambda x: x[None, ..., ::2], X),
    ],
    "masked_fill": [
        (lambda x: x.masked_fill(MASK, 3.0), X),
        (lambda x, v: x.masked_fill(MASK, v), X, np.array(0.7)),
    ],
    "masked_select": [(lambda x: x.masked_select(MASK), X)],
    "scatter": [(lambda x, s: x.scatter(1, index([0], [2]), s), X, COLUMN)],
    "scatter_add": [(lambda x, s: x.scatter_add(1, COLUMNS, s), X, away(2, 3))],
    "scatter_reduce": [(lambda x, s: x.scatter_reduce(1, COLUMNS, s, "mean"), X, away(2, 3))],
    "sparse_coo_tensor": [
        (lambda v: sparse(v).to_dense(), away(4)),
        (lambda v: sparse(v).coalesce().values(), away(4)),
    ],
    "spmm": [(lambda v, x: torch.spmm(sparse(v), x), away(4), away(3, 2))],
    "sparse.mm": [(lambda v, x: sparse_matrices.mm(sparse(v), x), away(4), away(3, 2))],
    "to_dense": [(lambda x: x.to_dense() * x, X)],
    "to_sparse": [(lambda x: x.to_sparse().to_dense(), X)],
    "adjoint": [(lambda x: x.adjoint(), X)],
    "conj": [(lambda x: torch.conj(x) * 2, X)],
    "conj_physical": [(lambda x: x.conj_physical() * 2, X)],
    "real": [(lambda x: torch.real(x) * 2, X)],
    "resolve_conj": [(lambda x: x.resolve_conj() * 2, X)],
    "resolve_neg": [(lambda x: x.resolve_neg() * 2, X)],
    "index_add": [(lambda x, s: x.index_add(1, index(0, 2), s), X, away(2, 2))],
    "index_put": [
        (lambda x, v: x.index_put((index(0, 1), index(2, 0)), v), X, away(2)),
        (lambda x, v: x.index_put((index(0, 0), index(2, 2)), v, accumulate=True), X, away(2)),
    ],
    "fill": [(lambda x: (x * 1).fill_(2.0) + x, X)],
    "zero_": [(lambda x: (x * 1).zero_() + x, X)],
    # layers
    "nn.functional.relu": [(F.relu, X)],
    "nn.functional.gelu": [(F.gelu, X), (lambda x: F.gelu(x, approximate="tanh"), X)],
    "nn.functional.linear": [(F.linear, X, away(4, 3), away(4)), (F.linear, Y, away(2, 3))],
    "nn.functional.conv2d": [
        (F.conv2d, IMAGE, away(3, 2, 2, 2), away(3)),
        (
            lambda x, w: F.conv2d(x, w, stride=2, padding=1, dilation=2, groups=2),
            IMAGE,
            away(2, 1, 2, 2),
        ),
    ],
    "nn.functional.conv1d": [
        (lambda x, w: F.conv1d(x, w, padding="same"), away(1, 2, 5), away(2, 2, 3))
    ],
    "nn.functional.conv_transpose2d": [
        (lambda x, w: F.conv_transpose2d(x, w, stride=2), away(1, 2, 3, 3), away(2, 1, 2, 2))
    ],
    "nn.functional.max_pool2d": [(lambda x: F.max_pool2d(x, 2), IMAGE)],
    "nn.functional.avg_pool2d": [(lambda x: F.avg_pool2d(x, 2, padding=1), IMAGE)],
    "nn.functional.adaptive_avg_pool2d": [(lambda x: F.adaptive_avg_pool2d(x, 2), IMAGE)],
    "nn.functional.batch_norm": [
        (lambda x, w, b: F.batch_norm(x, None, None, w, b, True), away(4, 3), Y, away(3))
    ],
    "nn.functional.layer_norm": [(lambda x, w, b: F.layer_norm(x, (3,), w, b), X, Y, away(3))],
    "nn.functional.group_norm": [
        (lambda x, w, b: F.group_norm(x, 2, w, b), away(2, 4, 3), away(4), away(4))
    ],
    "nn.functional.rms_norm": [(lambda x, w: F.rms_norm(x, (3,), w), X, Y)],
    "nn.functional.embedding": [
        (lambda w: F.embedding(index(0, 2, 2), w), away(3, 2)),
        (lambda w: F.embedding(index([0, 1]), w, scale_grad_by_freq=True), away(3, 2)),
    ],
    "nn.functional.dropout": [
        (lambda x: F.dropout(x, 0.5, training=False) * 1, X),
        (lambda x: seeded_dropout(x), X),
    ],
    "nn.functional.cross_entropy": [
        (lambda x: F.cross_entropy(x, index(2, 0)), X),
        (lambda x: F.cross_entropy(x, index(2, 0), reduction="none"), X),
        (lambda x: F.cross_entropy(x, index(2, 0), label_smoothing=0.1), X),
        (lambda x, t: F.cross_entropy(x, t), X, positive(2, 3)),
    ],
    "nn.functional.nll_loss": [
        (lambda x: F.nll_loss(x, index(2, 0), torch.tensor([1.0, 2.0, 3.0]).double()), X)
    ],
    "nn.functional.mse_loss": [
        (F.mse_loss, X, away(2, 3)),
        (lambda a, b: F.mse_loss(a, b, reduction="none"), X, X + 1),
    ],
    "nn.functional.binary_cross_entropy_with_logits": [
        (lambda x, t: F.binary_cross_entropy_with_logits(x, t), X, positive(2, 3)),
        (
            lambda x, t: F.binary_cross_entropy_with_logits(
                x, t, pos_weight=torch.tensor(2.0).double()
            ),
            X,
            positive(2, 3),
        ),
    ],
    "nn.functional.binary_cross_entropy": [
        (F.binary_cross_entropy, RNG.uniform(0.2, 0.8, (2, 3)), RNG.uniform(0.2, 0.8, (2, 3)))
    ],
    "nn.functional.l1_loss": [(F.l1_loss, X, X + 0.3)],
    "nn.functional.smooth_l1_loss": [
        (lambda a, b: F.smooth_l1_loss(a, b, beta=0.5), X, X + np.array([0.3, 0.9, -1.2]))
    ],
    "nn.functional.huber_loss": [
        (lambda a, b: F.huber_loss(a, b, delta=0.5), X, X + np.array([0.3, 0.9, -1.2]))
    ],
    "nn.functional.kl_div": [(F.kl_div, X, positive(2, 3))],
    "nn.functional.pad": [
        (lambda x: F.pad(x, (1, 2)), X),
        (lambda x: F.pad(x, (1, 1), mode="reflect"), X),
        (lambda x: F.pad(x, (1, 1), mode="replicate"), X),
        (lambda x: F.pad(x, (1, 1), mode="circular"), X),
    ],
    "nn.functional.leaky_relu": [(F.leaky_relu, X)],
    "nn.functional.softplus": [(F.softplus, X)],
    "nn.functional.silu": [(F.silu, X)],
    "nn.functional.relu6": [(F.relu6, X)],
    "nn.functional.elu": [(F.elu, X)],
    "nn.functional.selu": [(F.selu, X)],
    "nn.functional.mish": [(F.mish, X)],
    "nn.functional.hardswish": [(F.hardswish, X)],
    "nn.functional.logsigmoid": [(F.logsigmoid, X)],
    "nn.functional.prelu": [(F.prelu, X, away(3)), (F.prelu, X, away(1))],
    "nn.functional.normalize": [(F.normalize, X)],
    "nn.functional.cosine_similarity": [(F.cosine_similarity, X, X + 0.4)],
    "nn.functional.interpolate": [
        (
            lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False),
            away(1, 1, 3, 3),
        ),
        (lambda x: F.interpolate(x, 4), away(1, 2, 3)),
    ],
    "nn.functional.scaled_dot_product_attention": [
        (F.scaled_dot_product_attention, away(1, 1, 2, 3), away(1, 1, 4, 3), away(1, 1, 4, 3)),
        (
            lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
            X,
            away(2, 3),
            away(2, 2),
        ),
    ],
    # linear algebra
    "linalg.norm": [(L.norm, regular(3)), (lambda x: L.norm(x, "nuc"), regular(3))],
    "linalg.vector_norm": [(L.vector_norm, X)],
    "linalg.inv": [(L.inv, regular(3))],
    "linalg.solve": [(L.solve, regular(3), away(3, 2))],
    "linalg.det": [(L.det, regular(3))],
    "linalg.slogdet": [(lambda x: L.slogdet(x)[1], regular(3))],
    "logdet": [(torch.logdet, regular(3))],
    "linalg.cholesky": [(lambda x: L.cholesky(x @ x.mT + 3 * torch.eye(3).double()), regular(3))],
    "linalg.solve_triangular": [
        (lambda a, b: L.solve_triangular(a, b, upper=True), regular(3), away(3, 2))
    ],
    "linalg.eigh": [(lambda x: L.eigh(x + x.mT)[0], regular(3))],
    "linalg.svd": [(lambda x: L.svd(x)[1], regular(3))],
}


def seeded_dropout(x: Any) -> Any:
    torch.manual_seed(3)
    return F.dropout(x, 0.4)


# One derivative only, as in PyTorch.
FIRST_ORDER = {"cdist", "nn.functional.scaled_dot_product_attention"}
