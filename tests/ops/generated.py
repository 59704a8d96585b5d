"""Cases made by family: shapes (0-d, empty, of size 1), broadcasts, and dims from either end, alone, several, kept.

A case is a function and the arrays to differentiate it at, as in `cases`. Numbers come from a generator seeded by the
operator's name: the same on every run, and far enough from kinks and ties for differences of 1e-6.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

import gradtrace as torch

F = torch.nn.functional
S = torch.special
Case = tuple[Any, ...]

SHAPES: list[tuple[int, ...]] = [(), (1,), (3,), (2, 1, 2), (0, 2)]
BROADCASTS: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((), ()),
    ((), (3,)),
    ((2, 3), ()),
    ((2, 1), (1, 3)),
    ((2, 3), (3,)),
    ((1, 3), (2, 1, 1)),
    ((0, 3), (1, 3)),
]
ONE_DIM: list[tuple[tuple[int, ...], int]] = [
    ((), 0),
    ((), -1),
    ((1,), 0),
    ((4,), -1),
    ((2, 3), 0),
    ((2, 3), -1),
    ((2, 1, 3), 1),
    ((2, 3, 2), -3),
    ((0, 2), 1),
    ((2, 0), 0),
]
SEVERAL_DIMS: list[tuple[tuple[int, ...], Any]] = [
    *ONE_DIM,
    ((2, 3), (0, 1)),
    ((2, 3, 2), (0, -1)),
    ((2, 1, 3), (-2, 0)),
    ((2, 0), (0,)),
]
MATRICES: list[tuple[int, ...]] = [(2, 2), (3, 2), (2, 3, 2), (1, 2, 3), (0, 2)]

# Operators of one tensor, element by element, and the numbers they are tried at.
UNARY: dict[str, tuple[Callable[[Any], Any], float, float]] = {
    **{
        name: (getattr(torch, name), -2.0, 2.0)
        for name in (
            "abs",
            "neg",
            "sign",
            "exp",
            "exp2",
            "expm1",
            "square",
            "sin",
            "cos",
            "tan",
            "atan",
            "sinh",
            "cosh",
            "tanh",
            "asinh",
            "sigmoid",
            "relu",
            "floor",
            "ceil",
            "trunc",
            "round",
            "frac",
            "clone",
            "erf",
            "erfc",
            "deg2rad",
            "rad2deg",
            "sinc",
            "nan_to_num",
            "positive",
        )
    },
    **{
        name: (getattr(torch, name), 0.2, 3.0)
        for name in (
            "log",
            "log2",
            "log10",
            "sqrt",
            "rsqrt",
            "lgamma",
            "digamma",
        )
    },
    **{
        name: (getattr(torch, name), -0.9, 0.9)
        for name in ("asin", "acos", "atanh", "erfinv", "log1p")
    },
    "reciprocal of negatives": (torch.reciprocal, -3.0, -0.3),
    "acosh": (torch.acosh, 1.1, 3.0),
    "lgamma of negatives": (torch.lgamma, -0.9, -0.1),
    "digamma of negatives": (torch.digamma, -0.9, -0.1),
    "round to decimals": (lambda x: torch.round(x, decimals=1), -2.0, 2.0),
    "polygamma 0": (lambda x: torch.polygamma(0, x), 0.3, 3.0),
    "polygamma 1": (lambda x: torch.polygamma(1, x), 0.3, 3.0),
    "polygamma 3": (lambda x: torch.polygamma(3, x), 0.5, 3.0),
    "logit": (torch.logit, 0.1, 0.9),
    "logit with eps": (lambda x: torch.logit(x, 0.2), 0.0, 1.0),
    "frexp": (lambda x: torch.frexp(x)[0], 0.3, 3.0),
    "clamp": (lambda x: torch.clamp(x, -0.7, 0.9), -2.0, 2.0),
    "clamp from below": (lambda x: torch.clamp(x, min=0.1), -2.0, 2.0),
    "clamp_min": (lambda x: torch.clamp_min(x, 0.1), -2.0, 2.0),
    "clamp_max": (lambda x: torch.clamp_max(x, 0.1), -2.0, 2.0),
    "pow 3": (lambda x: x**3, -2.0, 2.0),
    "pow 2.5": (lambda x: x**2.5, 0.2, 2.0),
    "pow 0": (lambda x: x**0, -2.0, 2.0),
    "pow of a number": (lambda x: 1.7**x, -2.0, 2.0),
    "number minus": (lambda x: 2 - x, -2.0, 2.0),
    "number over": (lambda x: 2 / x, 0.3, 2.0),
    "remainder by a number": (lambda x: x % 0.7, -2.0, 2.0),
    "fmod by a number": (lambda x: torch.fmod(x, 0.7), -2.0, 2.0),
    "entr": (S.entr, 0.1, 2.0),
    "expit": (S.expit, -3.0, 3.0),
    "i0": (torch.i0, -3.0, 3.0),
    "i0e": (S.i0e, 0.3, 3.0),
    "i1": (S.i1, -3.0, 3.0),
    "i1e": (S.i1e, 0.3, 3.0),
    "i0 far": (S.i0, 22.5, 25.0),
    "i1e of negatives": (S.i1e, -30.0, -20.0),
    "gelu": (F.gelu, -2.0, 2.0),
    "gelu tanh": (lambda x: F.gelu(x, approximate="tanh"), -2.0, 2.0),
    **{
        name: (getattr(F, name), -4.0, 4.0)
        for name in (
            "silu",
            "mish",
            "softplus",
            "leaky_relu",
            "elu",
            "selu",
            "celu",
            "relu6",
            "hardtanh",
            "hardswish",
            "logsigmoid",
            "softshrink",
            "hardshrink",
            "softsign",
            "tanhshrink",
        )
    },
    "softplus beyond its threshold": (lambda x: F.softplus(x, 2, 1.5), -2.0, 2.0),
    "elu with alpha": (lambda x: F.elu(x, 0.7), -2.0, 2.0),
    "celu with alpha": (lambda x: F.celu(x, 0.7), -2.0, 2.0),
    "hardsigmoid": (F.hardsigmoid, -4.0, 4.0),
    "threshold": (lambda x: F.threshold(x, 0.3, 5.0), -2.0, 2.0),
    "rrelu": (lambda x: F.rrelu(x, training=False), -2.0, 2.0),
    "cast": (lambda x: (x * 1).to(torch.float64) + x.double(), -2.0, 2.0),
    "fill_": (lambda x: (x * 2).fill_(3.0) + x, -2.0, 2.0),
    "zero_": (lambda x: (x * 2).zero_() + x, -2.0, 2.0),
}

# Of two tensors, which broadcast, and where each is tried.
BINARY: dict[str, tuple[Callable[[Any, Any], Any], tuple[float, float], tuple[float, float]]] = {
    **{
        name: (getattr(torch, name), (-2.0, 2.0), (-2.0, 2.0))
        for name in (
            "add",
            "sub",
            "mul",
            "rsub",
            "maximum",
            "minimum",
            "fmax",
            "fmin",
            "atan2",
            "logaddexp",
            "logaddexp2",
            "hypot",
            "ldexp",
        )
    },
    **{
        name: (getattr(torch, name), (-2.0, 2.0), (0.6, 1.9))
        for name in ("div", "remainder", "fmod", "xlogy")
    },
    "xlogy": (torch.xlogy, (0.3, 2.0), (0.3, 2.0)),
    "xlog1py": (S.xlog1py, (0.3, 2.0), (-0.6, 2.0)),
    "add with alpha": (lambda a, b: torch.add(a, b, alpha=3), (-2.0, 2.0), (-2.0, 2.0)),
    "sub with alpha": (lambda a, b: torch.sub(a, b, alpha=0.5), (-2.0, 2.0), (-2.0, 2.0)),
    "div trunc": (lambda a, b: torch.div(a, b, rounding_mode="trunc"), (-2.0, 2.0), (0.6, 1.9)),
    "div by negatives": (torch.div, (-2.0, 2.0), (-2.0, -0.5)),
    "pow": (torch.pow, (0.2, 2.0), (-2.0, 2.0)),
    "xlogy_number": (lambda a, b: torch.xlogy(a, 1.5) * b, (0.3, 2.0), (0.3, 2.0)),
    "xlogy_of_number": (lambda a, b: torch.xlogy(1.5, a) * b, (0.3, 2.0), (0.3, 2.0)),
    "xlog1py_number": (lambda a, b: S.xlog1py(a, 1.5) * b, (0.3, 2.0), (0.3, 2.0)),
    "xlog1py_of_number": (lambda a, b: S.xlog1py(1.5, a) * b, (0.3, 2.0), (0.3, 2.0)),
    "copysign_number": (lambda a, b: torch.copysign(a, -2.0) * b, (0.1, 2.0), (0.1, 2.0)),
    "div_none": (lambda a, b: torch.div(a, b, rounding_mode=None), (-2.0, 2.0), (0.5, 2.0)),
    "copysign": (lambda a, b: torch.copysign(a, b), (-2.0, 2.0), (0.1, 2.0)),
    "where": (lambda a, b: torch.where(b.detach() > 0, a, b), (-2.0, 2.0), (-2.0, 2.0)),
    "clamp_min by a tensor": (lambda x, low: torch.clamp(x, min=low), (-2.0, 2.0), (-2.0, 2.0)),
    "clamp_max by a tensor": (lambda x, high: torch.clamp(x, max=high), (-2.0, 2.0), (-2.0, 2.0)),
    "clamp by tensors": (lambda x, b: torch.clamp(x, b - 0.5, b + 0.5), (-2.0, 2.0), (-2.0, 2.0)),
    "lerp by a number": (lambda a, b: torch.lerp(a, b, 0.7), (-2.0, 2.0), (-2.0, 2.0)),
    "lerp": (lambda a, b: torch.lerp(a, b, a * b), (-2.0, 2.0), (-2.0, 2.0)),
    "addcmul": (lambda a, b: torch.addcmul(a, b, a * b, value=2), (-2.0, 2.0), (-2.0, 2.0)),
    "addcdiv": (lambda a, b: torch.addcdiv(a, a, b, value=2), (-2.0, 2.0), (0.5, 2.0)),
    "dist": (torch.dist, (-2.0, 0.0), (0.5, 2.0)),
    "mse_loss": (
        lambda a, b: F.mse_loss(a + b * 0, b + a * 0, reduction="sum"),
        (-2.0, 2.0),
        (-2.0, 2.0),
    ),
}

# Over one dim, named from either end.
OVER_A_DIM: dict[str, tuple[Callable[..., Any], float, float]] = {
    **{
        name: (lambda x, dim, f=getattr(torch, name): f(x, dim), -2.0, 2.0)
        for name in (
            "cumsum",
            "cumprod",
            "logcumsumexp",
            "softmax",
            "log_softmax",
        )
    },
    **{
        name: (lambda x, dim, f=getattr(torch, name): f(x, dim)[0], -2.0, 2.0)
        for name in (
            "cummax",
            "cummin",
            "sort",
        )
    },
    "sort stable": (
        lambda x, dim: torch.sort(x, dim=dim, descending=True, stable=True)[0],
        -2.0,
        2.0,
    ),
    "topk": (lambda x, dim: torch.topk(x, 1, dim, largest=False)[0], -2.0, 2.0),
    "kthvalue": (lambda x, dim: torch.kthvalue(x, 1, dim)[0], -2.0, 2.0),
    "unsqueeze": (lambda x, dim: x.unsqueeze(dim), -2.0, 2.0),
    "squeeze": (lambda x, dim: x.squeeze(dim), -2.0, 2.0),
    "flip": (lambda x, dim: x.flip(dim), -2.0, 2.0),
    "roll": (lambda x, dim: x.roll(1, dim), -2.0, 2.0),
    "select": (lambda x, dim: x.select(dim, -1), -2.0, 2.0),
    "unbind": (lambda x, dim: x.unbind(dim), -2.0, 2.0),
    "split": (lambda x, dim: x.split(2, dim), -2.0, 2.0),
    "narrow": (lambda x, dim: x.narrow(dim, 0, 1), -2.0, 2.0),
    "transpose": (lambda x, dim: x.transpose(dim, 0), -2.0, 2.0),
    "stack": (lambda x, dim: torch.stack([x, x * 2], dim), -2.0, 2.0),
    "cat": (lambda x, dim: torch.cat([x, x * 2], dim), -2.0, 2.0),
    "movedim": (lambda x, dim: x.movedim(dim, 0), -2.0, 2.0),
    "normalize": (lambda x, dim: F.normalize(x, dim=dim), 0.3, 2.0),
    "index_select": (lambda x, dim: x.index_select(dim, torch.tensor([0])), -2.0, 2.0),
    "repeat_interleave": (lambda x, dim: x.repeat_interleave(2, dim), -2.0, 2.0),
    "diff": (lambda x, dim: x.diff(dim=dim), -2.0, 2.0),
    "softmin": (lambda x, dim: F.softmin(x, dim), -2.0, 2.0),
    "unfold": (lambda x, dim: x.unfold(dim, 1, 1), -2.0, 2.0),
}
NOT_OF_0D = {"select", "unbind", "split", "narrow", "cat", "repeat_interleave", "diff", "roll"}
NOT_OF_NOTHING = {"topk", "kthvalue", "select", "narrow", "index_select"}

# Reductions of one dim or several, which may be kept.
REDUCTIONS: dict[str, tuple[Callable[..., Any], float, float]] = {
    **{
        name: (getattr(torch, name), -2.0, 2.0)
        for name in ("sum", "mean", "logsumexp", "nansum", "nanmean")
    },
    **{name: (getattr(torch, name), -2.0, 2.0) for name in ("amax", "amin")},
    "var": (lambda x, dim, keepdim: torch.var(x, dim, correction=0, keepdim=keepdim), -2.0, 2.0),
    "std": (lambda x, dim, keepdim: torch.std(x, dim, correction=0.5, keepdim=keepdim), -2.0, 2.0),
    "var_mean": (
        lambda x, dim, keepdim: torch.var_mean(x, dim, correction=0, keepdim=keepdim),
        -2.0,
        2.0,
    ),
    "std_mean": (
        lambda x, dim, keepdim: torch.std_mean(x, dim, correction=0.5, keepdim=keepdim),
        -2.0,
        2.0,
    ),
    **{
        f"vector_norm {p}": (
            lambda x, dim, keepdim, p=p: torch.linalg.vector_norm(x, p, dim, keepdim),
            0.3,
            2.0,
        )
        for p in (1, 2, 3, 0.5, -1, float("inf"), -float("inf"))
    },
    "norm": (lambda x, dim, keepdim: torch.norm(x, 2, dim, keepdim), 0.3, 2.0),
}
REDUCTIONS_OF_ONE_DIM: dict[str, tuple[Callable[..., Any], float, float]] = {
    "prod": (torch.prod, -2.0, 2.0),
    **{
        f"{name} by dim": (
            lambda x, dim, keepdim, f=getattr(torch, name): f(x, dim, keepdim)[0],
            -2.0,
            2.0,
        )
        for name in (
            "max",
            "min",
            "median",
            "nanmedian",
            "mode",
        )
    },
    "aminmax": (
        lambda x, dim, keepdim: tuple(torch.aminmax(x, dim=dim, keepdim=keepdim)),
        -2.0,
        2.0,
    ),
    "quantile": (lambda x, dim, keepdim: torch.quantile(x, 0.3, dim, keepdim), -2.0, 2.0),
    "nanquantile": (lambda x, dim, keepdim: torch.nanquantile(x, 0.6, dim, keepdim), -2.0, 2.0),
}
NEEDS_ELEMENTS = {
    "amax",
    "amin",
    "max by dim",
    "min by dim",
    "median by dim",
    "nanmedian by dim",
    "mode by dim",
    "aminmax",
    "vector_norm inf",
    "vector_norm -inf",
    "vector_norm -1",
    "quantile",
    "nanquantile",
    "std",
    "std_mean",
}
OF_ALL: dict[str, Callable[[Any], Any]] = {
    name: getattr(torch, name)
    for name in (
        "sum",
        "mean",
        "prod",
        "max",
        "min",
        "amax",
        "amin",
        "median",
        "nanmedian",
        "nansum",
        "nanmean",
        "norm",
        "var",
        "std",
        "squeeze",
        "ravel",
    )
}


def numbers(rng: Any, shape: tuple[int, ...], low: float, high: float) -> Any:
    return rng.uniform(low, high, shape)


def seeded(name: str) -> Any:
    return np.random.default_rng(zlib.crc32(name.encode()))


def over(function: Any, *rest: Any) -> Any:
    return lambda x: function(x, *rest)


def unary_cases(name: str) -> list[Case]:
    function, low, high = UNARY[name]
    rng = seeded(name)
    return [(function, numbers(rng, shape, low, high)) for shape in SHAPES]


def binary_cases(name: str) -> list[Case]:
    function, of_a, of_b = BINARY[name]
    rng = seeded(name)
    return [(function, numbers(rng, a, *of_a), numbers(rng, b, *of_b)) for a, b in BROADCASTS]


def dim_cases(name: str) -> list[Case]:
    function, low, high = OVER_A_DIM[name]
    rng = seeded(name)
    return [
        (over(function, dim), numbers(rng, shape, low, high))
        for shape, dim in ONE_DIM
        if (shape or name not in NOT_OF_0D) and (0 not in shape or name not in NOT_OF_NOTHING)
    ]


def several(shape: tuple[int, ...], dim: Any) -> bool:
    """Whether more than one number is reduced: PyTorch's second derivative of std is nan where it is 0."""
    return bool(np.prod([shape[i] for i in np.atleast_1d(dim)] if shape else ()) > 1)


def reduction_cases(name: str) -> list[Case]:
    function, low, high = REDUCTIONS.get(name) or REDUCTIONS_OF_ONE_DIM[name]
    rng = seeded(name)
    choices = SEVERAL_DIMS if name in REDUCTIONS else ONE_DIM
    return [
        (over(function, dim, i % 2 == 0), numbers(rng, shape, low, high))
        for i, (shape, dim) in enumerate(choices)
        if (0 not in shape or name not in NEEDS_ELEMENTS)
        and (several(shape, dim) or not name.startswith("std"))
    ]


def all_cases(name: str) -> list[Case]:
    rng = seeded(name)
    shapes = [shape for shape in SHAPES if np.prod(shape) > 1 or name not in ("var", "std")]
    empty = name in ("sum", "prod", "nansum", "ravel", "squeeze")
    return [
        (OF_ALL[name], numbers(rng, shape, -2, 2)) for shape in shapes if empty or 0 not in shape
    ]


FAMILIES: list[tuple[Any, Callable[[str], list[Case]]]] = [
    (UNARY, unary_cases),
    (BINARY, binary_cases),
    (OVER_A_DIM, dim_cases),
    (REDUCTIONS, reduction_cases),
    (REDUCTIONS_OF_ONE_DIM, reduction_cases),
    ({f"{name} of all": name for name in OF_ALL}, all_cases),
]


def every_case() -> dict[str, list[Case]]:
    """All cases by the operator's name."""
    found: dict[str, list[Case]] = {}
    for family, make in FAMILIES:
        for shown in family:
            found[shown] = make(shown.removesuffix(" of all") if make is all_cases else shown)
    return found
