"""Adaptive pooling: a given number of windows of nearly equal size, which may overlap by one.

Window o of n inputs is floor(o n / out) .. ceil((o + 1) n / out). A 1-d input is treated as an
image of height 1.
"""

from __future__ import annotations

from math import prod

from gradtrace.annotations import Any, Callable
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array, Ints
from gradtrace.engine.operators.op import OneResult, d, window_op
from gradtrace.ops.api import expose, named
from gradtrace.ops.arguments import need_float, require_float
from gradtrace.ops.create.factories import checked_sizes
from gradtrace.ops.nn.conv_arguments import lengths
from gradtrace.ops.nn.patches import PerDim, widen_half
from gradtrace.ops.nn.pool import NO_INPUT_GRAD, divided, index_record, refuse_empty
from gradtrace.ops.nn.pool_arguments import check_tensor
from gradtrace.ops.nn.pool_windows import (
    Taps,
    adaptive,
    add_windows,
    dual,
    find_maxima,
    irregular,
    regular,
)
from gradtrace.ops.reduce.sums import mean_dim
from gradtrace.ops.shape.views import squeeze_dim, unsqueeze


def taps_of(n: int, out: int) -> Taps:
    """Return the taps (see `pool_windows`) of the windows along one dim; even windows give slices,
    which are faster.
    """
    if out and n % out == 0:
        return regular(n, out, n // out, n // out, 0)
    return irregular(*adaptive(n, out))


def cells(sizes: Ints, outs: Ints) -> Array:
    """Return the number of input elements in each window."""
    total = np.ones((), np.int64)
    for n, out in zip(sizes, outs, strict=True):
        starts, ends = adaptive(n, out)
        total = total[..., None] * (ends - starts)
    return total


def average_kernel(a: Array, outs: Ints) -> Array:
    sizes = a.shape[-len(outs) :]
    total = widen_half(a)
    for i, out in enumerate(outs):
        total = add_windows(total, a.ndim - len(outs) + i, out, taps_of(sizes[i], out))
    return divided(total, cells(sizes, outs)).astype(a.dtype, copy=False)


def average_back(g: Array, sizes: Ints) -> Array:
    refuse_empty(f"adaptive_avg_pool{len(sizes)}d", g, len(sizes))
    outs = g.shape[-len(sizes) :]
    total = divided(widen_half(g), cells(sizes, outs))
    for i, n in enumerate(sizes):
        back = irregular(*dual(*adaptive(n, outs[i]), n))
        total = add_windows(total, g.ndim - len(sizes) + i, n, back)
    return total.astype(g.dtype, copy=False)


def max_kernel(a: Array, outs: Ints) -> tuple[Array, Array]:
    sizes = a.shape
    best = a
    index: Any = 0
    for i in reversed(range(len(outs))):
        dim = a.ndim - len(outs) + i
        starts, _ = adaptive(sizes[dim], outs[i])
        best, index = find_maxima(
            best, index, dim, prod(sizes[dim + 1 :]), taps_of(sizes[dim], outs[i]), starts
        )
    return best, index


# The window of an output: sizes are those of the output, n those of the input.
WINDOW = "floor(x * n / sizes) <= i < ceil((x + 1) * n / sizes)"


def average_record(n: int) -> OneResult:
    name = f"adaptive_avg_pool{n}d"
    node = f"AdaptiveAvgPool{n}DBackward"
    window_op(f"{name}_back(g, self)", lambda g, x: average_back(g, x.shape[-n:]), node=node + "Backward0",
        g=d("~g", lambda xp, gg, out, g, self: getattr(xp, name)(gg, tuple(g.shape[-n:]))),
        self=NO_INPUT_GRAD)  # fmt: skip
    return window_op(f"{name}(self; sizes)", average_kernel, f"out[x] = sum[i](self[i]) / n; {WINDOW}",
        node=node + "0", c_order=True,
        self=d("self", lambda xp, g, out, self, sizes: getattr(xp, name + "_back")(g, self)))  # fmt: skip


averages = {n: average_record(n) for n in (2, 3)}
maxima = {
    n: index_record(
        f"adaptive_max_pool{n}d(self; sizes)",
        max_kernel,
        f"AdaptiveMaxPool{n}DBackward",
        n,
        f"out[x] = max[i](self[i]); {WINDOW}",
    )
    for n in (2, 3)
}


# ---- the public names


def with_defaults(output_size: Any, input: Tensor) -> Any:
    """Return the output size with None replaced by the input's sizes."""
    if not isinstance(output_size, (tuple, list)):
        return output_size
    n = len(output_size)
    if input.ndim <= n:
        raise ValueError(f"Input dimension should be at least {n + 1}")
    return [size if o is None else o for o, size in zip(output_size, input.shape[-n:], strict=True)]


def check_output_size(name: str, input: Tensor, output_size: Any, n: int) -> Ints:
    """Return the output sizes; raise RuntimeError if they or the input's shape are invalid."""
    check_tensor(name, input)
    average = "avg" in name
    outs = lengths(name, "output_size", with_defaults(output_size, input), n, " (position 2)")
    if len(outs) != n:
        raise RuntimeError(f"{name}: output_size must be {n}")
    if average and min(outs) < 0:
        shown = f"{outs[0]}, {outs[1]}" + "".join(f",{o}" for o in outs[2:])
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received {{{shown}}}"
        )
    return outs


def check_shape(name: str, input: Tensor, outs: Ints) -> None:
    n = len(outs)
    shape = list(input.shape)
    if input.ndim not in (n + 1, n + 2):
        colon = "" if "avg" in name else ":"
        raise RuntimeError(
            f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got{colon} {shape}"
        )
    first = -n if "avg" in name else input.ndim - n - 1
    for dim in range(first % input.ndim, input.ndim):
        if not shape[dim]:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes {shape} "
                f"with dimension {dim} being empty"
            )
    if prod(checked_sizes((*shape[:-n], *outs))) >= 2**60:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={shape[:-n] + list(outs)}"
        )
    need_float(input, name)


def average(name: str, input: Tensor, outs: Ints) -> Tensor:
    n = len(outs)
    if outs == (1,) * n and input.ndim > n:  # PyTorch takes the mean here
        require_float(
            input,
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            "Got: {}",
        )
        return mean_dim(input, tuple(range(input.ndim - n, input.ndim)), True)
    check_shape(name, input, outs)
    return averages[n](input, outs)


def one_length(name: str, input: Tensor, output_size: Any) -> int:
    check_tensor(name, input)
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {input.ndim}-dimensional tensor for argument #1 'self' (while "
            f"checking arguments for {name})"
        )
    outs = lengths(name, "output_size", output_size, 1, " (position 2)")
    if len(outs) != 1:
        raise RuntimeError(
            f"{name}() argument 'output_size' should contain one int (got {len(outs)})"
        )
    return outs[0]


def adaptive_avg_pool1d(input: Tensor, output_size: PerDim) -> Tensor:
    """Average pooling into `output_size` windows over the last dim
    (torch.nn.functional.adaptive_avg_pool1d).
    """
    outs = (1, one_length("adaptive_avg_pool1d", input, output_size))
    dim = input.ndim - 1
    return squeeze_dim(average("adaptive_avg_pool2d", unsqueeze(input, dim), outs), dim)


def max_with_indices1d(input: Tensor, output_size: PerDim) -> tuple[Tensor, Tensor]:
    outs = (1, one_length("adaptive_max_pool1d", input, output_size))
    dim = input.ndim - 1
    image = unsqueeze(input, dim)
    check_shape("adaptive_max_pool2d", image, outs)
    values, index = maxima[2](image, outs)
    return squeeze_dim(values, dim), squeeze_dim(index, dim)


def max_with_indices(n: int) -> Callable[..., tuple[Tensor, Tensor]]:
    name = f"adaptive_max_pool{n}d"

    def function(input: Tensor, output_size: PerDim) -> tuple[Tensor, Tensor]:
        outs = check_output_size(name, input, output_size, n)
        check_shape(name, input, outs)
        return maxima[n](input, outs)

    return function


def _averages(n: int) -> Callable[..., Tensor]:
    name = f"adaptive_avg_pool{n}d"
    return named(
        lambda input, output_size: average(
            name, input, check_output_size(name, input, output_size, n)
        ),
        name,
        (
            f"Mean of each of output_size windows over the last {n} dims (torch.nn.functional.{name}).\n\n"
            "input (N, C, *sizes) or (C, *sizes); None keeps a size."
        ),
    )


def _expose_max(n: int, both: Callable[..., tuple[Tensor, Tensor]]) -> None:
    name = f"adaptive_max_pool{n}d"
    doc = (
        f"Maximum of each of output_size windows over the last {n} dim(s) (torch.nn.functional.{name}).\n\n"
        "With return_indices also their flat positions within the plane."
    )

    def function(
        input: Tensor, output_size: PerDim, return_indices: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        result = both(input, output_size)
        return result if return_indices else result[0]

    def with_indices(
        input: Tensor, output_size: PerDim, return_indices: bool = False
    ) -> tuple[Tensor, Tensor]:
        return both(input, output_size)

    record = maxima[max(n, 2)]
    expose(named(function, name, doc), forms="n", record=record)
    expose(named(with_indices, name + "_with_indices", doc), forms="n", record=record)
    if n == 1:
        expose(named(both, name, doc), forms="f", record=record)


expose(adaptive_avg_pool1d, forms="fn", record=averages[2])
for _n, _both in ((1, max_with_indices1d), (2, max_with_indices(2)), (3, max_with_indices(3))):
    _expose_max(_n, _both)
adaptive_avg_pools = {1: adaptive_avg_pool1d} | {
    n: expose(_averages(n), forms="n", record=averages[n]) for n in (2, 3)
}
