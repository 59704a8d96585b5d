"""Max and average pooling over 1, 2 and 3 dims.

The records are 2-d and 3-d; a 1-d input is treated as an image of height 1, as in PyTorch. Of equal
elements the first in a window is its maximum, and nan is greater than all. Padding counts as -inf
for the maximum, as 0 for the average.
"""

from __future__ import annotations

from math import prod

from gradtrace.annotations import Any, Callable
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array, Ints, Kernel
from gradtrace.engine.operators.op import OneResult, SeveralResults, d, gather_op, window_op
from gradtrace.ops.api import expose, named
from gradtrace.ops.nn.patches import PerDim, widen_half
from gradtrace.ops.nn.pool_arguments import (
    check_filled,
    check_max_pool1d,
    check_pool,
    check_room,
    check_tensor,
    count_windows,
    window,
)
from gradtrace.ops.nn.pool_windows import Taps, add_windows, along, find_maxima, regular
from gradtrace.ops.shape.views import squeeze_dim, unsqueeze

# ---- kernels


def planes_take(a: Array, index: Array, n: int) -> Array:
    """Gather by `index`, which holds flat positions within each plane (the last n dims)."""
    flat = a.reshape(*a.shape[:-n], prod(a.shape[-n:]))
    places = index.reshape(*index.shape[:-n], prod(index.shape[-n:]))
    return np.take_along_axis(flat, places, -1).reshape(index.shape)


def planes_put(g: Array, index: Array, sizes: Ints) -> Array:
    """Apply the transpose of `planes_take`: add each element of g at its position in planes of
    `sizes`.
    """
    lead = g.shape[: g.ndim - len(sizes)]
    plane = prod(sizes)
    count = prod(lead)
    places = (
        index.reshape(count, prod(index.shape[-len(sizes) :])) + (np.arange(count) * plane)[:, None]
    )
    out = np.bincount(places.reshape(-1), g.reshape(-1), count * plane)
    return out.astype(g.dtype, copy=False).reshape(*lead, *sizes)


def max_kernel(
    a: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
) -> tuple[Array, Array]:
    n = len(kernel)
    sizes = a.shape
    best = a
    index: Any = 0
    for i in reversed(range(n)):
        dim = a.ndim - n + i
        window = (kernel[i], stride[i], padding[i], dilation[i])
        out = count_windows(a.shape[dim], window, ceil_mode)
        starts = np.arange(out) * window[1] - window[2]
        first = np.where(starts < 0, starts % window[3], starts)
        taps = regular(a.shape[dim], out, *window)
        beyond = np.flatnonzero(first >= a.shape[dim])
        first[beyond] = 0
        best, index = find_maxima(best, index, dim, prod(sizes[dim + 1 :]), taps, first)
        if len(beyond) and a.dtype.kind == "f":  # with a dilation a window may have only padding
            best[along(dim, beyond)] = -np.inf
    return best, index


def divisors(
    sizes: Ints, kernel: Ints, stride: Ints, padding: Ints, ceil_mode: bool, include_pad: bool
) -> Array:
    """Return each window's divisor: its number of elements in the input, or (`include_pad`) in
    input and padding.
    """
    total = np.ones((), np.int64)
    for n, k, s, p in zip(sizes, kernel, stride, padding, strict=True):
        starts = np.arange(count_windows(n, (k, s, p, 1), ceil_mode)) * s - p
        ends = np.minimum(starts + k, n + p)
        cells = ends - starts if include_pad else np.minimum(ends, n) - np.maximum(starts, 0)
        total = total[..., None] * cells
    return total


def divided(total: Array, by: Array | int) -> Array:
    if total.dtype.kind == "f":
        return total / np.asarray(by).astype(total.dtype)
    return np.trunc(total / by).astype(total.dtype)


def plane_taps(
    sizes: Ints, kernel: Ints, stride: Ints, padding: Ints, ceil_mode: bool
) -> list[tuple[int, Taps]]:
    """Return the number of windows and their taps for each dim."""
    results = []
    for n, k, s, p in zip(sizes, kernel, stride, padding, strict=True):
        out = count_windows(n, (k, s, p, 1), ceil_mode)
        results.append((out, regular(n, out, k, s, p)))
    return results


def average_kernel(
    a: Array,
    kernel: Ints,
    stride: Ints,
    padding: Ints,
    ceil_mode: bool,
    include_pad: bool,
    divisor: int | None,
) -> Array:
    sizes = a.shape[-len(kernel) :]
    total = widen_half(a)
    for i, (out, taps) in enumerate(plane_taps(sizes, kernel, stride, padding, ceil_mode)):
        total = add_windows(total, a.ndim - len(kernel) + i, out, taps)
    by = divisor or divisors(sizes, kernel, stride, padding, ceil_mode, include_pad)
    return divided(total, by).astype(a.dtype, copy=False)


def average_back(
    g: Array,
    input: object,
    sizes: Ints,
    kernel: Ints,
    stride: Ints,
    padding: Ints,
    ceil_mode: bool,
    include_pad: bool,
    divisor: int | None,
) -> Array:
    by = divisor or divisors(sizes, kernel, stride, padding, ceil_mode, include_pad)
    total = divided(widen_half(g), by)
    for i, (_, taps) in enumerate(plane_taps(sizes, kernel, stride, padding, ceil_mode)):
        back = [(inputs, outputs) for outputs, inputs in taps]
        total = add_windows(total, g.ndim - len(kernel) + i, sizes[i], back)
    return total.astype(g.dtype, copy=False)


# ---- records

# fmt: off
planes_take_record = gather_op("planes_take(self; index, n)", planes_take, "out[i] = self[index[i]]",
    node="GatherBackward0",
    self=d("~self index", lambda xp, g, out, self, index, n: xp.planes_put(g, index, tuple(self.shape[-n:]))))
planes_put_record = gather_op("planes_put(g; index, sizes)", planes_put,
    "out[j] = sum[i](g[i] if index[i] == j else 0)", node="ScatterAddBackward0",
    g=d("index", lambda xp, gg, out, g, index, sizes: xp.planes_take(gg, index, len(sizes))))
# fmt: on


# PyTorch's backward operators take the input, but do not depend on it.
NO_INPUT_GRAD = "zeros_like(self)"


def refuse_empty(name: str, g: Array, n: int) -> None:
    """Raise RuntimeError for a gradient without elements in one of its last n dims."""
    for dim in range(g.ndim - n, g.ndim):
        if not g.shape[dim]:
            raise RuntimeError(
                f"{name}_backward(): Expected grad_output to have non-zero size for non-batch dimensions, but "
                f"grad_output has sizes {list(g.shape)} with dimension {dim} being empty"
            )


def index_record(signature: str, kernel: Kernel, node: str, n: int, formula: str) -> SeveralResults:
    """Return a record with the results (values, indices); the gradient of values goes to the
    positions in indices.
    """
    name = signature.partition("(")[0]
    back = name + "_back"

    def back_kernel(g: Array, _: object, index: Array, sizes: Ints) -> Array:
        if name.startswith("adaptive"):
            refuse_empty(name, g, n)
        return planes_put(g, index, sizes)

    window_op(f"{back}(g, self; index, sizes)", back_kernel, node=node + "Backward0",
        g=d("", lambda xp, gg, out, g, self, index, sizes: xp.planes_take(gg, index, n)),
        self=NO_INPUT_GRAD)  # fmt: skip
    return window_op(signature, kernel, formula, zero="choice", node=node + "0", outputs=2, differentiable=(0,),
        c_order=True,
        self=d("self out1", lambda xp, g, out, self, *_:
            getattr(xp, back)(g[0], self, out[1], tuple(self.shape[-n:]))))  # fmt: skip


def average_record(n: int) -> OneResult:
    node = f"AvgPool{n}DBackward"
    name = f"avg_pool{n}d"
    window_op(f"{name}_back(g, self; sizes, kernel, stride, padding, ceil_mode, include_pad, divisor)",
        average_back, node=node + "Backward0",
        g=d("", lambda xp, gg, out, g, self, sizes, *rest: getattr(xp, name)(gg, *rest)),
        self=NO_INPUT_GRAD)  # fmt: skip
    return window_op(f"{name}(self; kernel, stride, padding, ceil_mode, include_pad, divisor)", average_kernel,
        "out[x] = sum[k](self[stride * x + k - padding]) / n", node=node + "0", c_order=True,
        self=d("self", lambda xp, g, out, self, *rest:
            getattr(xp, name + "_back")(g, self, tuple(self.shape[-n:]), *rest)))  # fmt: skip


maxima = {
    n: index_record(
        f"max_pool{n}d(self; kernel, stride, padding, dilation, ceil_mode)",
        max_kernel,
        f"MaxPool{n}DWithIndicesBackward",
        n,
        "out[x] = max[k](self[stride * x + dilation * k - padding])",
    )
    for n in (2, 3)
}
averages = {n: average_record(n) for n in (2, 3)}


# ---- the public names


def maxima_of_windows(
    n: int, input: Tensor, ceil_mode: bool, *arguments: Any
) -> tuple[Tensor, Tensor]:
    """Return the maxima over n dims and their indices; `given` are the arguments of `window`."""
    name = f"max_pool{n}d"
    check_tensor(name, input)
    if n == 1:
        return maxima_of_line(input, ceil_mode, *arguments)
    where = window(name, n, *arguments)
    out = check_pool(input, n, where, ceil_mode)
    check_filled(input, n)
    check_room(input, n, out)
    check_bool(input, name)
    return maxima[n](input, *where, ceil_mode)


def maxima_of_line(input: Tensor, ceil_mode: bool, *arguments: Any) -> tuple[Tensor, Tensor]:
    check_max_pool1d(input, *arguments)
    (k,), (s,), (p,), (e,) = window("max_pool1d", 1, *arguments)
    out = count_windows(input.shape[-1], (k, s, p, e), ceil_mode)
    if out < 1:
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {out}")
    dim = input.ndim - 1
    values, index = maxima[2](unsqueeze(input, dim), (1, k), (1, s), (0, p), (1, e), ceil_mode)
    return squeeze_dim(values, dim), squeeze_dim(index, dim)


def check_bool(input: Tensor, name: str) -> None:
    if input.dtype.scalar_type == "Bool":
        raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'")


def alone(values: Tensor) -> Tensor:
    """Return the result of max_pool1d: without a gradient PyTorch uses another kernel, whose result
    is not a view.
    """
    if values.requires_grad:
        return values
    out = Tensor._wrap(values.own_array())
    out.counter().n = 1 if values.ndim == 2 else 0  # squeezed in place
    return out


def _max_pool(n: int, always_indices: bool) -> Callable[..., Any]:
    """Expose and return max_pool over n dims, or its form that always returns the indices too."""
    name = f"max_pool{n}d"
    doc = (
        f"Maximum of each window over the last {n} dim(s) (torch.nn.functional.{name}).\n\n"
        f"input (N, C, *sizes) or (C, *sizes). With return_indices also their flat positions within the plane."
    )

    def function(
        input: Tensor,
        kernel_size: PerDim,
        stride: PerDim | None = None,
        padding: PerDim = 0,
        dilation: PerDim = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        result = maxima_of_windows(n, input, ceil_mode, kernel_size, stride, padding, dilation)
        if return_indices or always_indices:
            return result
        return alone(result[0]) if n == 1 else result[0]

    record = maxima[max(n, 2)]
    if always_indices:
        function.__annotations__["return"] = "tuple[Tensor, Tensor]"
        return expose(
            named(function, name + "_with_indices", doc),
            forms="fn" if n == 1 else "n",
            record=record,
        )
    expose(named(function, name, doc), forms="fn", record=record)
    return function


max_pools = {n: _max_pool(n, False) for n in (1, 2, 3)}
for _n in max_pools:
    _max_pool(_n, True)


def _average(n: int) -> Callable[..., Tensor]:
    name = f"avg_pool{n}d"

    def function(
        input: Tensor,
        kernel_size: PerDim,
        stride: PerDim | None = None,
        padding: PerDim = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        check_tensor(name, input)
        where = window(name, n, kernel_size, stride, padding)
        if n == 2 and input.ndim < 3:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-max(input.ndim, 1)}, "
                f"{max(input.ndim, 1) - 1}], but got -3)"
            )
        out = check_pool(input, n, where, ceil_mode)
        check_average(input, n, where[0], out, divisor_override)
        check_bool(input, name)
        return averages[n](input, *where[:3], ceil_mode, count_include_pad, divisor_override)

    return named(
        function,
        name,
        (
            f"The mean of each window over the last {n} dims (torch.nn.functional.{name}).\n\n"
            "input (N, C, *sizes) or (C, *sizes). Padding counts as zeros unless count_include_pad is False; "
            "divisor_override divides instead of the number of cells."
        ),
    )


def check_average(input: Tensor, n: int, kernel: Ints, out: Ints, divisor: int | None) -> None:
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    if n == 2:
        check_filled(input, n)
        check_room(input, n, out)
    elif any(size < 1 for size in out):
        sizes = " ".join(f"{a}: {size}" for a, size in zip("THW", input.shape[-3:], strict=True))
        small = " ".join(f"k{a}: {k}" for a, k in zip("THW", kernel, strict=True))
        raise RuntimeError(f"input image ({sizes}) smaller than kernel size ({small})")


def avg_pool1d(
    input: Tensor,
    kernel_size: PerDim,
    stride: PerDim | None = None,
    padding: PerDim = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Mean of each window over the last dim; input (N, C, L) or (C, L)
    (torch.nn.functional.avg_pool1d).
    """
    check_tensor("avg_pool1d", input)
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {input.ndim}-dimensional tensor for argument #1 'self' (while "
            "checking arguments for avg_pool1d)"
        )
    for argument, value in (
        ("kernel_size", kernel_size),
        ("stride", stride or ()),
        ("padding", padding),
    ):
        if isinstance(value, (tuple, list)) and len(value) > 1:
            raise RuntimeError(
                f"avg_pool1d() argument '{argument}' should contain one int (got {len(value)})"
            )
    (k,), (s,), (p,), _ = window("avg_pool1d", 1, kernel_size, stride, padding)
    dim = input.ndim - 1
    image = unsqueeze(input, dim)
    check_filled(image, 2)
    where = ((1, k), (1, s), (0, p), (1, 1))
    check_room(image, 2, check_pool(image, 2, where, ceil_mode))
    return squeeze_dim(averages[2](image, *where[:3], ceil_mode, count_include_pad, None), dim)


expose(avg_pool1d, forms="fn", record=averages[2])
average_pools = {1: avg_pool1d} | {
    n: expose(_average(n), forms="n", record=averages[n]) for n in (2, 3)
}
