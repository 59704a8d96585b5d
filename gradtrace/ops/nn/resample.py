"""Resampling to another size: nearest, linear, cubic, area; with and without antialiasing
(F.interpolate).

Every mode is a weighted sum of a few inputs along each dim in turn (`resample_tables`); the
gradient is its transpose.
"""

from __future__ import annotations

import math
import warnings

from gradtrace.annotations import Any, Sequence
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array, Ints, Kernel, NumpyDtype
from gradtrace.engine.operators.op import OneResult, d, window_op
from gradtrace.lazy_names import words
from gradtrace.ops.api import expose
from gradtrace.ops.arguments import need_float
from gradtrace.ops.nn.adaptive import adaptive_avg_pools
from gradtrace.ops.nn.patches import PerDim, widen_half
from gradtrace.ops.nn.pool_arguments import check_tensor
from gradtrace.ops.nn.pool_windows import take_back, weigh_back, weigh_windows
from gradtrace.ops.nn.resample_tables import TABLES, Table

Scales = tuple[float | None, ...]
MODES = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"
# A result along one dim, of n elements: at its place in the input, where corners are aligned if
# `corners`.
PLACE = "u = x * (n - 1) / (sizes - 1) if corners else (x + 1 / 2) * n / sizes - 1 / 2"
SMOOTHED = "out[x] = sum[i](w[i] * self[i]) / sum[i](w[i]); w[i] = "
FORMULAS = {
    "nearest": "out[x] = self[floor(x * n / sizes)]",
    "nearest_exact": "out[x] = self[floor((x + 1 / 2) * n / sizes)]",
    "linear": f"out[x] = sum[i](max(0, 1 - abs(u - i)) * self[i]); {PLACE}",
    "cubic": f"out[x] = sum[i](cubic(u - i) * self[i]); {PLACE}",
    "linear_aa": f"{SMOOTHED}max(0, 1 - abs(u - i) / max(1, n / sizes)); {PLACE}",
    "cubic_aa": f"{SMOOTHED}cubic((u - i) / max(1, n / sizes)); {PLACE}",
    "lanczos_aa": f"{SMOOTHED}lanczos((u - i) / max(1, n / sizes)); {PLACE}",
}
# modes with the table "linear", and their numbers of dims
LINEAR = {"linear": 1, "bilinear": 2, "trilinear": 3}
# The names in PyTorch's nodes, by table; each has its number of dims before the D.
NODES = {
    "nearest": "Nearest1D Nearest2D Nearest3D",
    "nearest_exact": "NearestExact1D NearestExact2D NearestExact3D",
    "linear": "Linear1D Bilinear2D Trilinear3D",
    "cubic": "Bicubic2D",
    "linear_aa": "Bilinear2DAa",
    "cubic_aa": "Bicubic2DAa",
    "lanczos_aa": "Lanczos2DAa",
}


def tables(
    kind: str, sizes: Ints, outs: Ints, corners: bool, scales: Scales, dtype: NumpyDtype
) -> list[Table]:
    return [
        TABLES[kind](n, out, corners, scale, dtype)
        for n, out, scale in zip(sizes, outs, scales, strict=True)
    ]


def resample_kernel(kind: str) -> Kernel:
    def kernel(a: Array, outs: Ints, corners: bool, scales: Scales) -> Array:
        n = len(outs)
        x = widen_half(a)
        dim_tables = tables(kind, a.shape[-n:], outs, corners, scales, np.dtype(x.dtype))
        for i in reversed(range(n)):
            index, weights = dim_tables[i]
            dim = a.ndim - n + i
            x = (
                np.take(x, index[0], dim)
                if len(index) == 1
                else weigh_windows(x, dim, index, weights)
            )
        return x.astype(a.dtype, copy=False)

    return kernel


def resample_back(kind: str) -> Kernel:
    def kernel(g: Array, sizes: Ints, corners: bool, scales: Scales) -> Array:
        n = len(sizes)
        x = widen_half(g)
        dim_tables = tables(kind, sizes, g.shape[-n:], corners, scales, np.dtype(x.dtype))
        for i in range(n):
            index, weights = dim_tables[i]
            dim = g.ndim - n + i
            where = (x, dim, sizes[i])
            x = (
                take_back(*where, index[0])
                if len(index) == 1
                else weigh_back(*where, index, weights)
            )
        return x.astype(g.dtype, copy=False)

    return kernel


def resample_record(kind: str, n: int, shown: str) -> OneResult:
    name = f"upsample_{shown.lower()}"
    node = f"Upsample{shown}Backward"
    window_op(f"{name}_back(g; sizes, corners, scales)", resample_back(kind), node=node + "Backward0",
        g=d("~g", lambda xp, gg, out, g, sizes, *rest: getattr(xp, name)(gg, tuple(g.shape[-n:]), *rest)))  # fmt: skip
    return window_op(f"{name}(self; sizes, corners, scales)", resample_kernel(kind), FORMULAS[kind], node=node + "0",
        c_order=True, self=d("~self", lambda xp, g, out, self, sizes, *rest:
            getattr(xp, name + "_back")(g, tuple(self.shape[-n:]), *rest)))  # fmt: skip


records = {
    (kind, n): resample_record(kind, n, name)
    for kind, names in NODES.items()
    for name in words(names)
    for n in (int(name.partition("D")[0][-1]),)
}


# ---- the public names


def interpolate(
    input: Tensor,
    size: PerDim | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resample input (N, C, *sizes) to `size` or by `scale_factor`
    (torch.nn.functional.interpolate).

    Modes: "nearest", "nearest-exact" and "area" for 1 to 3 spatial dims, "linear", "bilinear",
    "bicubic", "lanczos" and "trilinear" for the number they name. Raises ValueError or
    NotImplementedError for conflicting arguments.
    """
    check_tensor("interpolate", input)
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    n = input.ndim - 2
    outs, scales = wanted_sizes(input, size, scale_factor, n)
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if recompute_scale_factor or mode == "area":
        scales = (None,) * n
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and input.ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if mode == "area" and n in (1, 2, 3):
        return adaptive_avg_pools[n](input, outs)
    kind = kind_of(mode, n, input.ndim, align_corners, antialias)
    check_sizes(input, outs, kind)
    return records[kind, n](input, outs, bool(align_corners), scales)


def wanted_sizes(
    input: Tensor, size: PerDim | None, scale_factor: float | Sequence[float] | None, n: int
) -> tuple[Ints, Scales]:
    """Return the output sizes, and the scale factor of each dim (None if `size` is given)."""
    sizes = list(input.shape[2:])
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        several = isinstance(size, (list, tuple))
        outs = for_each_dim(size, sizes, n, "output", "output size", "output size of", "o")
        if not all(isinstance(o, int) for o in outs):
            got = (
                f"size with types {[type(o) for o in outs]}"
                if several
                else f"a size of type {type(size).__name__}"
            )
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got "
                + got
            )
        return outs, (None,) * n
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    scales = for_each_dim(
        scale_factor, sizes, n, "scale_factor", "scale_factor", "scale_factor of shape", "s"
    )
    return tuple(int(size * float(s)) for size, s in zip(sizes, scales, strict=True)), tuple(
        map(float, scales)
    )


def for_each_dim(
    value: Any, entries: list[int], n: int, label: str, name: str, shown: str, letter: str
) -> tuple[Any, ...]:
    """Return one value for each of the n dims; raise ValueError for another number of values."""
    values = tuple(value) if isinstance(value, (list, tuple)) else (value,) * n
    if len(values) != n:
        raise ValueError(
            f"Input and {label} must have the same number of spatial dimensions, but got input with spatial "
            f"dimensions of {entries} and {shown} {value}. Please provide input tensor in (N, C, d1, d2, ...,dK) "
            f"format and {name} in ({letter}1, {letter}2, ...,{letter}K) format."
        )
    return values


def kind_of(mode: str, n: int, ndim: int, corners: bool | None, antialias: bool) -> str:
    """Return the name of the interpolation table; raise NotImplementedError if the mode does not
    support n dims.
    """
    if mode == "lanczos" and n == 2:
        if corners:
            raise ValueError("Lanczos mode does not support align_corners=True")
        if not antialias:
            raise ValueError("Lanczos mode requires antialias=True")
    kind = {
        "nearest-exact": "nearest_exact",
        "bicubic": "cubic",
        **dict.fromkeys(LINEAR, "linear"),
    }.get(mode, mode)
    kind += "_aa" if antialias else ""
    if mode in LINEAR and LINEAR[mode] != n and n in (1, 2, 3):
        raise NotImplementedError(
            f"Got {ndim}D input, but {mode} mode needs {LINEAR[mode] + 2}D input"
        )
    if (kind, n) not in records:
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {ndim}D) for the modes: {MODES} (got {mode})"
        )
    return kind


def check_sizes(input: Tensor, outs: Ints, kind: str) -> None:
    n = len(outs)
    sizes = tuple(input.shape[2:])
    if min(*sizes, *outs) < 1:
        axes = "DHW"[3 - n :]
        shown = [
            ", ".join(f"{axis}: {o}" for axis, o in zip(axes, values, strict=True))
            for values in (sizes, outs)
        ]
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({shown[0]}) and output ({shown[1]})"
        )
    if not math.prod(input.shape[1:]):
        raise RuntimeError(
            f"Non-empty {n + 2}D data tensor expected but got a tensor with sizes {list(input.shape)}"
        )
    if kind.startswith("nearest"):
        kernel = "nearest"
    else:
        kernel = "linear" if kind.startswith("linear") else "cubic"
    if kernel != "nearest" or input.dtype.scalar_type != "Byte":
        need_float(input, f"compute_indices_weights_{kernel}")


def upsample(
    input: Tensor,
    size: PerDim | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """Deprecated name of interpolate (torch.nn.functional.upsample)."""
    warn("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(
    input: Tensor, size: PerDim | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """interpolate with mode "nearest" (torch.nn.functional.upsample_nearest)."""
    warn("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(
    input: Tensor, size: PerDim | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """interpolate with mode "bilinear" and aligned corners
    (torch.nn.functional.upsample_bilinear).
    """
    warn("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def warn(name: str) -> None:
    warnings.warn(
        f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.",
        UserWarning,
        stacklevel=3,
    )


for _function in (interpolate, upsample, upsample_nearest, upsample_bilinear):
    expose(_function, forms="n")
