"""Operators at ties, kinks, zeros, infinities and nan: what is asked there, of PyTorch and of gradtrace alike.

An entry is an expression over `torch`, `F` and the leaves x, y, z, and the numbers of these leaves. `of_unary` and
`of_pairs` are written out over POINTS and PAIRS; every other entry stands alone. `python -m tests.ops.special_points`
(needs PyTorch 2.13, the `compare` extra) writes `recorded/special_points.txt` (see `special_record`): the value
and the gradients of its sum with respect to each leaf, in float64 and in float32.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

INF, NAN = math.inf, math.nan
RECORDED = Path(__file__).parent / "recorded" / "special_points.txt"
DTYPES = ("float64", "float32")


def words(text: str) -> list[str]:
    return text.split()


POINTS = [
    NAN,
    INF,
    -INF,
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.0,
    -2.0,
    3.0,
    -3.0,
    2.5,
    -2.5,
    6.0,
    -6.0,
    20.0,
    25.0,
    -25.0,
    1e-30,
    -1e-30,
    1e30,
    -1e30,
]
GRID = [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 2.5, -2.5]
PAIRS = [[a for a in GRID for _ in GRID], [b for _ in GRID for b in GRID]]

UNARY = words("""abs neg sign exp exp2 expm1 log log2 log10 log1p sqrt rsqrt square reciprocal sin cos tan asin acos
atan sinh cosh tanh asinh acosh atanh sigmoid relu floor ceil trunc round frac erf erfc erfinv lgamma sinc
deg2rad rad2deg nan_to_num positive logit""")
OF_UNARY = (
    [f"torch.{name}(x)" for name in UNARY]
    + """torch.special.entr(x)
torch.i0(x)
torch.special.i0e(x)
torch.special.i1(x)
torch.special.i1e(x)
torch.special.zeta(2.0, x)
torch.special.zeta(3.0, x)
torch.clamp(x, -1.0, 2.0)
torch.clamp(x, min=2.0)
torch.clamp(x, max=-1.0)
torch.clamp(x, 2.0, -1.0)
torch.clamp_min(x, 0.0)
torch.clamp_max(x, 0.0)
torch.round(x, decimals=1)
torch.nan_to_num(x, 1.0, 2.0, 3.0)
torch.logit(x, 0.1)
torch.polygamma(1, x.abs() + 1)
x ** 0
x ** 1
x ** 2
x ** 3
x ** 0.5
x ** -1
x ** -2
x ** 1.5
2.0 ** x
0.0 ** x
1.0 ** x
(-2.0) ** x
2.0 - x
2.0 / x
0.0 / x
x / 0.0
x * 0.0
x % 2.0
x % -2.0
x % 0.0
torch.fmod(x, 2.0)
torch.fmod(x, -2.0)
torch.remainder(x, 0.5)
torch.div(x, 2.0, rounding_mode='floor')
torch.div(x, 2.0, rounding_mode='trunc')
torch.where(x > 0, x, 0.0)
torch.where(x > 0, x.sqrt(), 0.0)
torch.threshold(x, 1.0, 5.0)
torch.hardshrink(x)
torch.celu(x)
x.masked_fill(x > 0, 1.0)
torch.lerp(x, x * 2, 0.5)
F.gelu(x)
F.gelu(x, approximate='tanh')
F.silu(x)
F.mish(x)
F.softplus(x)
F.softplus(x, 2.0, 5.0)
F.leaky_relu(x)
F.leaky_relu(x, -0.5)
F.elu(x)
F.elu(x, 0.5)
F.selu(x)
F.celu(x, 2.0)
F.relu6(x)
F.hardtanh(x)
F.hardtanh(x, -2.0, 3.0)
F.hardswish(x)
F.hardsigmoid(x)
F.logsigmoid(x)
F.softshrink(x)
F.softshrink(x, 1.0)
F.hardshrink(x, 1.0)
F.softsign(x)
F.tanhshrink(x)
F.threshold(x, 0.0, -1.0)""".splitlines()
)

OF_PAIRS = (
    [
        f"torch.{name}(x, y)"
        for name in words(
            "add sub mul div true_divide maximum minimum fmax fmin pow atan2 remainder fmod hypot xlogy logaddexp logaddexp2 "
            "copysign ldexp float_power"
        )
    ]
    + """torch.special.xlog1py(x, y)
torch.igamma(x.detach().abs(), y)
torch.igammac(x.detach().abs(), y)
torch.igamma(x.detach(), y.abs())
torch.special.zeta(x.detach(), y)
torch.div(x, y, rounding_mode='floor')
torch.div(x, y, rounding_mode='trunc')
torch.clamp(x, min=y)
torch.clamp(x, max=y)
torch.clamp_min(x, y)
torch.clamp_max(x, y)
torch.clamp(x, y, torch.ones_like(y))
torch.clamp(x, torch.zeros_like(y), y)
torch.where(x > y, x, y)
torch.lerp(x, y, 0.25)
torch.addcmul(x, x, y, value=0.5)
torch.addcdiv(x, x, y, value=0.5)
F.mse_loss(x, y, reduction='none')
F.l1_loss(x, y, reduction='none')
F.smooth_l1_loss(x, y, reduction='none', beta=1.0)
F.smooth_l1_loss(x, y, reduction='none', beta=0.0)
F.huber_loss(x, y, reduction='none', delta=1.5)
F.kl_div(x, y, reduction='none')
F.binary_cross_entropy_with_logits(x, y, reduction='none')
F.poisson_nll_loss(x, y, reduction='none', full=True)
F.hinge_embedding_loss(x, y, reduction='none')""".splitlines()
)

HUGE = [1e200, 1e200, 1e-200]
ROWS = [
    [1.0, 1.0, 0.0],
    [0.0, 0.0, 0.0],
    [2.0, -2.0, 2.0],
    [NAN, 1.0, 2.0],
    [3.0, NAN, NAN],
    [NAN, NAN, NAN],
    [INF, 1.0, INF],
    [-INF, -INF, -INF],
    [INF, -INF, 0.0],
    [-INF, 0.0, 1.0],
    [0.0, -0.0, 0.0],
    [0.0, 3.0, 0.0],
    [5.0, 0.0, 2.0],
    [-1.0, -1.0, -1.0],
    HUGE,
    [NAN, INF, -INF],
]
REDUCTIONS = (
    [
        f"{name}({{}})"
        for name in words(
            "x.sum x.mean x.prod x.max x.min x.amax x.amin x.median x.nanmedian x.nansum x.nanmean x.var x.std"
        )
    ]
    + """torch.aminmax(x{})
torch.var(x{}, correction=0)
torch.std(x{}, correction=0)
torch.logsumexp(x, -1)
torch.softmax(x, -1)
torch.log_softmax(x, -1)
torch.cumsum(x, -1)
torch.cumprod(x, -1)
torch.logcumsumexp(x, -1)
torch.cummax(x, -1)
torch.cummin(x, -1)
torch.sort(x, stable=True, dim=-1)
torch.sort(x, stable=True, dim=-1, descending=True)
torch.norm(x)
torch.norm(x, 1)
torch.norm(x, 3)
torch.norm(x, INF)
torch.norm(x, -INF)
torch.norm(x, 0.5)
torch.linalg.vector_norm(x)
torch.linalg.vector_norm(x, 0)
torch.linalg.vector_norm(x, -1)
torch.linalg.vector_norm(x, INF)
F.normalize(x, dim=-1)
F.normalize(x, p=1, dim=-1)
F.cosine_similarity(x, torch.ones_like(x), dim=-1)
F.cosine_similarity(x, x, dim=-1)
F.softmin(x, dim=-1)
F.layer_norm(x, (3,))
F.rms_norm(x, (3,))
x.renorm(2, 0, 1.0) if x.ndim == 2 else x.reshape(1, 3).renorm(2, 0, 1.0)
x.diff()
x.max(-1)
x.min(-1)
x.median(-1)
x.nanmedian(-1)
x.mode(-1)
x.quantile(0.5, -1)
x.nanquantile(0.25, -1)
x.masked_fill(x == 0, 2.0)
x.dist(torch.ones_like(x))
x.dist(x.detach())
x.gather(-1, torch.tensor([0, 0, 1]))
x.index_select(-1, torch.tensor([1, 1]))
F.pairwise_distance(x, x.detach())
F.max_pool1d(x.reshape(1, 1, 3), 2, 1)
F.max_pool1d(x.reshape(1, 1, 3), 3, 2, padding=1)
F.adaptive_max_pool1d(x.reshape(1, 1, 3), 2)
F.avg_pool1d(x.reshape(1, 1, 3), 2, 1)
F.cross_entropy(x.reshape(1, 3), torch.tensor([1]))
F.cross_entropy(x.reshape(1, 3), torch.tensor([-100]))
F.nll_loss(x.reshape(1, 3), torch.tensor([2]))
F.multi_margin_loss(x.reshape(1, 3), torch.tensor([0]))
F.soft_margin_loss(x, torch.tensor([1, -1, 1]))
F.margin_ranking_loss(x, x.detach(), torch.tensor([1, -1, 1]))""".splitlines()
)

# Rows where PyTorch's result is an accident: a sort that nan confuses, overflow inside, inf beside zeros in a product,
# the sign of a zero among zeros.
LEFT_OUT: dict[str, list[list[float]]] = {
    "x.mode(-1)": [[NAN, 1.0, 2.0], [NAN, INF, -INF]],
    "torch.cumprod(x, -1)": [[INF, -INF, 0.0], [-INF, 0.0, 1.0], [0.0, -0.0, 0.0], HUGE],
    "x.prod()": [[0.0, -0.0, 0.0]],
    "F.layer_norm(x, (3,))": [[0.0, -0.0, 0.0], HUGE],
    "F.cosine_similarity(x, x, dim=-1)": [[0.0, -0.0, 0.0]],
}

ALONE: list[tuple[str, dict[str, Any]]] = [
    ("torch.linalg.det(x)", {"x": [[1.0, 2.0], [3.0, 4.0]]}),
    ("torch.linalg.det(x)", {"x": [[0.0, 0.0], [0.0, 0.0]]}),
    ("torch.linalg.slogdet(x)[1]", {"x": [[1.0, 2.0], [3.0, 4.0]]}),
    ("torch.logdet(x)", {"x": [[0.0, 1.0], [1.0, 0.0]]}),
    ("torch.linalg.norm(x)", {"x": [[0.0, 0.0], [0.0, 0.0]]}),
    ("torch.linalg.matrix_norm(x, 1)", {"x": [[1.0, -1.0], [-1.0, 1.0]]}),
    ("torch.linalg.matrix_norm(x, INF)", {"x": [[1.0, -1.0], [0.0, 2.0]]}),
    ("torch.linalg.matrix_norm(x, 'nuc')", {"x": [[1.0, 0.0], [0.0, 1.0]]}),
    ("torch.linalg.svdvals(x)", {"x": [[2.0, 0.0], [0.0, 2.0]]}),
    ("torch.linalg.eigvalsh(x)", {"x": [[1.0, 0.0], [0.0, 1.0]]}),
    ("torch.linalg.matrix_power(x, 0)", {"x": [[1.0, 2.0], [3.0, 4.0]]}),
    *(
        (f"torch.cdist(x, y, {p})", {"x": [[0.0, 1.0], [2.0, 2.0]], "y": [[0.0, 1.0], [2.0, 3.0]]})
        for p in (0.0, 1.0, 2.0, 3.0, "INF")
    ),
    *(
        (f"F.pdist(x, {p})", {"x": [[0.0, 1.0], [0.0, 1.0], [2.0, 2.0]]})
        for p in (0.0, 1.0, 2.0, "INF")
    ),
    ("F.prelu(x, y)", {"x": [[0.0, -0.0], [-1.0, NAN], [INF, -INF]], "y": [0.25, 0.0]}),
    *(
        (
            f"x.scatter_reduce(0, torch.tensor([0, 0, 1, 1]), y, {reduce!r}{own})",
            {"x": [2.0, 0.0], "y": [2.0, 2.0, 0.0, 0.0]},
        )
        for reduce in ("sum", "prod", "amax", "amin", "mean")
        for own in ("", ", include_self=False")
    ),
    ("x.index_copy(0, torch.tensor([0, 0]), y)", {"x": [1.0, 2.0], "y": [3.0, 4.0]}),
    ("x.prod(0)", {"x": [[0.0, 1.0, 0.0], [2.0, 0.0, 0.0]]}),
    ("x.cumprod(0)", {"x": [0.0, 2.0, 0.0, 3.0]}),
    ("x.amax((0, 1))", {"x": [[1.0, 3.0], [3.0, NAN]]}),
    ("x.amax((0, 1))", {"x": [[1.0, 3.0], [3.0, 3.0]]}),
    ("x.cummax(0)", {"x": [1.0, 1.0, NAN, 3.0, NAN]}),
    ("torch.addmm(x, y, z, beta=0.0)", {"x": [[NAN]], "y": [[1.0, 2.0]], "z": [[3.0], [4.0]]}),
    (
        "torch.baddbmm(x, y, z, beta=0.0)",
        {"x": [[[INF]]], "y": [[[1.0, 2.0]]], "z": [[[3.0], [4.0]]]},
    ),
    ("x @ y", {"x": [[0.0, INF]], "y": [[1.0], [0.0]]}),
    (
        "F.binary_cross_entropy(x, y, reduction='none')",
        {"x": [0.0, 1.0, 0.0, 1.0, 0.5], "y": [0.0, 1.0, 1.0, 0.0, 0.5]},
    ),
    (
        "F.gaussian_nll_loss(x, y, z, reduction='none')",
        {"x": [0.0, 1.0, NAN], "y": [0.0, 3.0, 1.0], "z": [0.0, 1e-9, 1.0]},
    ),
    (
        "F.cosine_embedding_loss(x, y, torch.tensor([1, -1]))",
        {"x": [[0.0, 0.0], [1.0, 0.0]], "y": [[1.0, 1.0], [0.0, 1.0]]},
    ),
    (
        "F.triplet_margin_loss(x, y, z, reduction='none')",
        {"x": [[0.0, 0.0]], "y": [[0.0, 0.0]], "z": [[1.0, 0.0]]},
    ),
    ("F.multilabel_margin_loss(x, torch.tensor([1, -1, 0]))", {"x": [1.0, 0.0, 0.0]}),
    ("F.max_pool2d(x.reshape(1, 1, 2, 4), 2)", {"x": [1.0, 1.0, NAN, 2.0, 1.0, 1.0, 3.0, NAN]}),
    (
        "F.max_pool2d(x.reshape(1, 1, 2, 4), 2, 1, padding=1)",
        {"x": [-INF, -INF, 0.0, -0.0, -INF, -INF, -1.0, 0.0]},
    ),
    (
        "F.scaled_dot_product_attention(x, y, z, torch.tensor([[False, False], [True, False]]))",
        {"x": [[1.0], [2.0]], "y": [[1.0], [0.0]], "z": [[3.0], [4.0]]},
    ),
    ("F.batch_norm(x, None, None, training=True)", {"x": [[1.0, 0.0], [1.0, NAN], [1.0, 2.0]]}),
    (
        "F.interpolate(x.reshape(1, 1, 3), size=2, mode='linear', align_corners=True)",
        {"x": [0.0, INF, NAN]},
    ),
    # At the poles the slope is any huge number.
    ("torch.digamma(x)", {"x": [NAN, INF, -INF, 0.0, -0.0, 1.0, 0.5, -0.5, 2.0, 25.0, 1e-10]}),
    *(
        (f"x.kthvalue({k}, -1)", {"x": row})
        for k in (1, 2)
        for row in ([NAN, 1.0, 2.0], [INF, -INF, 0.0])
    ),
    (
        "F.grid_sample(x.reshape(1, 1, 2, 2), y.reshape(1, 1, 3, 2), align_corners=True)",
        {"x": [1.0, 2.0, 4.0, 7.0], "y": [-1.0, -1.0, 0.0, 0.5, NAN, 0.0]},
    ),
    ("x.nan_to_num().log()", {"x": [NAN, 0.0, INF]}),
    ("x.max()", {"x": [[1.0, 2.0], [2.0, 2.0]]}),
    ("torch.cross(x, y, dim=0)", {"x": [0.0, INF, 1.0], "y": [1.0, 0.0, NAN]}),
    ("torch.trapezoid(x, y)", {"x": [1.0, NAN, 2.0], "y": [0.0, 0.0, INF]}),
    ("torch.corrcoef(x)", {"x": [[1.0, 1.0, 1.0], [1.0, 2.0, 3.0]]}),
    ("torch.sum(x)", {"x": []}),
    ("torch.prod(x)", {"x": []}),
    ("torch.mean(x)", {"x": []}),
    ("torch.nansum(x)", {"x": []}),
    ("torch.norm(x)", {"x": []}),
    ("torch.logsumexp(x, 0)", {"x": []}),
]


def every_entry() -> Iterator[tuple[str, dict[str, Any]]]:
    """All expressions with the numbers of their leaves."""
    yield from ((text, {"x": POINTS}) for text in OF_UNARY)
    yield from ((text, {"x": PAIRS[0], "y": PAIRS[1]}) for text in OF_PAIRS)
    for text in REDUCTIONS:
        for row in ROWS:
            full = text.replace("({})", "()").replace("{}", "")
            if str(row) not in map(str, LEFT_OUT.get(full, [])):
                yield full, {"x": row}
    yield from ALONE


def outputs_of(result: Any) -> list[Any]:
    several = list(result) if isinstance(result, (tuple, list)) else [result]
    return several


def evaluate(torch: Any, text: str, numbers: dict[str, Any], dtype: str) -> Any:
    """[values of the results, gradients by leaf] as nested lists, None for no gradient; or an error's type."""
    leaves = {
        k: torch.tensor(v, dtype=getattr(torch, dtype), requires_grad=True)
        for k, v in numbers.items()
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            results = outputs_of(
                eval(text, {"torch": torch, "F": torch.nn.functional, "INF": INF, **leaves})
            )
            return [
                [out.tolist() for out in results],
                gradients(torch, results, list(leaves.values())),
            ]
        except (RuntimeError, IndexError, ValueError) as error:
            return "RuntimeError" if isinstance(error, RuntimeError) else type(error).__name__


def gradients(torch: Any, results: list[Any], leaves: list[Any]) -> list[Any]:
    differentiable = [out for out in results if out.requires_grad]
    if not differentiable:
        return [None] * len(leaves)
    ones = [torch.ones_like(out) for out in differentiable]
    found = torch.autograd.grad(differentiable, leaves, ones, allow_unused=True)
    return [None if g is None else g.tolist() for g in found]


def one_by_one(torch: Any, text: str, numbers: dict[str, Any], dtype: str) -> Any:
    """As `evaluate` for a pointwise expression, number by number.

    PyTorch's kernels for whole vectors treat nan and -0.0 otherwise in places; small programs meet those for few.
    """
    count = len(numbers["x"])
    each = [
        evaluate(torch, text, {k: [v[i]] for k, v in numbers.items()}, dtype) for i in range(count)
    ]
    return [
        [joined(one[part][k] for one in each) for k in range(len(each[0][part]))] for part in (0, 1)
    ]


def joined(parts: Any) -> Any:
    several = list(parts)
    return None if several[0] is None else [number for part in several for number in part]


def record() -> None:
    import torch

    from tests.ops import special_record

    entries = []
    pointwise = {*OF_UNARY, *OF_PAIRS}
    for text, numbers in every_entry():
        way = one_by_one if text in pointwise else evaluate
        results = {dtype: way(torch, text, numbers, dtype) for dtype in DTYPES}
        if isinstance(results["float64"], str):
            print("refused:", text, numbers, results["float64"])
        entries.append({"expression": text, **results})
    RECORDED.write_text(special_record.write(entries), encoding="utf-8")


if __name__ == "__main__":
    record()
