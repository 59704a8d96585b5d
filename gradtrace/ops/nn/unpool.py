"""Max unpooling, and power-average pooling, which is composed of average pooling."""

from __future__ import annotations

import math

from gradtrace.annotations import Callable, Sequence
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array, Ints
from gradtrace.engine.operators.op import OneResult, d, gather_op
from gradtrace.ops.api import expose, named
from gradtrace.ops.nn.conv_arguments import lengths
from gradtrace.ops.nn.patches import PerDim
from gradtrace.ops.nn.pool import average_pools, max_pools
from gradtrace.ops.shape.views import squeeze_dim, unsqueeze

# ---- unpooling


def place_kernel(a: Array, index: Array, sizes: Ints) -> Array:
    """Return zeros with each element at its position in the plane; of several at one position the
    last is kept.
    """
    lead = a.shape[: a.ndim - len(sizes)]
    count = math.prod(a.shape[-len(sizes) :])
    out = np.zeros((*lead, math.prod(sizes)), a.dtype)
    np.put_along_axis(out, index.reshape(*lead, count), a.reshape(*lead, count), -1)
    return out.reshape(*lead, *sizes)


def unpool_record(n: int) -> OneResult:
    return gather_op(f"max_unpool{n}d(self; index, sizes)", place_kernel, "out[index[i]] = self[i]",
        unsupported_dtypes=f"bi max_unpool{n}d", c_order=True,
        self=d("index", lambda xp, g, out, self, index, sizes: xp.planes_take(g, index, n)))  # fmt: skip


records = {n: unpool_record(n) for n in (2, 3)}


def unpooled_sizes(
    input: Tensor, kernel: Ints, stride: Ints, padding: Ints, output_size: Sequence[int] | None
) -> Ints:
    """Return the input sizes of a pooling with these windows; `output_size` resolves the
    ambiguity.
    """
    n = len(kernel)
    usual = tuple(
        (size - 1) * s + k - 2 * p
        for size, k, s, p in zip(input.shape[-n:], kernel, stride, padding, strict=True)
    )
    if output_size is None:
        return usual
    wanted = output_size[2:] if len(output_size) == n + 2 else output_size
    if len(wanted) != n:
        raise ValueError(
            f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a length of "
            f"'{len(wanted)}'"
        )
    for i, (size, s) in enumerate(zip(usual, stride, strict=True)):
        if not size - s < wanted[i] < size + s:
            raise ValueError(
                f'invalid output_size "{wanted}" (dim {i} must be between {size - s} and {size + s})'
            )
    return tuple(wanted)


def check_places(input: Tensor, indices: Tensor, sizes: Ints) -> None:
    n = len(sizes)
    if indices.dtype.scalar_type != "Long":
        raise RuntimeError(
            f"elements in indices should be type int64 but got: {indices.dtype.scalar_type}"
        )
    if input.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"Input to max_unpooling{n}d should be a {n + 1}d or {n + 2}d Tensor, but got a tensor with {input.ndim} "
            "dimensions."
        )
    if input.shape != indices.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) but got indices "
            f"tensor with shape: {list(indices.shape)}"
        )
    places = indices.array
    wrong = places[(places < 0) | (places >= math.prod(sizes))]
    if wrong.size:
        raise RuntimeError(
            f"Found an invalid max index: {wrong.flat[0]} (output volumes are of size {'x'.join(map(str, sizes))})"
        )


def _unpool(n: int) -> Callable[..., Tensor]:
    name = f"max_unpool{n}d"

    def function(
        input: Tensor,
        indices: Tensor,
        kernel_size: PerDim,
        stride: PerDim | None = None,
        padding: PerDim = 0,
        output_size: Sequence[int] | None = None,
    ) -> Tensor:
        kernel = lengths(name, "kernel_size", kernel_size, n)
        if len(kernel) != n:
            wanted = f"{('one', 'two', 'three')[n - 1]} elements ({', '.join(('depth', 'height', 'width')[-n:])})"
            raise RuntimeError(
                f"There should be exactly {wanted} in output_size, but got {len(kernel)} elements."
            )
        step = kernel if stride is None else lengths(name, "stride", stride, n)
        sizes = unpooled_sizes(
            input, kernel, step, lengths(name, "padding", padding, n), output_size
        )
        if n > 1:
            check_places(input, indices, sizes)
            return records[n](input, indices, sizes)
        line = unsqueeze(input, input.ndim)
        places = unsqueeze(indices, indices.ndim)
        check_places(line, places, (*sizes, 1))
        return squeeze_dim(records[2](line, places, (*sizes, 1)), input.ndim)

    return named(
        function,
        name,
        (
            f"Inverse of max_pool{n}d: zeros, and input at its indices (torch.nn.functional.{name}).\n\n"
            "Raises ValueError for an impossible output_size, RuntimeError for invalid indices."
        ),
    )


for _n in (1, 2, 3):
    expose(_unpool(_n), forms="n", record=records[max(_n, 2)])


# ---- power-average pooling


def _power_average(n: int) -> Callable[..., Tensor]:
    name = f"lp_pool{n}d"

    def function(
        input: Tensor,
        norm_type: float,
        kernel_size: PerDim,
        stride: PerDim | None = None,
        ceil_mode: bool = False,
    ) -> Tensor:
        if math.isinf(norm_type):
            pool = max_pools[n]
            size = input.abs()
            rest = (kernel_size, stride, 0, 1, ceil_mode)
            return pool(size, *rest) if norm_type > 0 else -pool(-size, *rest)
        cells = math.prod(lengths(name, "kernel_size", kernel_size, n))
        mean = average_pools[n](input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
        return (mean.sign() * mean.abs().relu()).mul(cells).pow(1.0 / norm_type)

    return named(
        function,
        name,
        (
            f"norm_type-norm of each window over the last {n} dim(s) (torch.nn.functional.{name}).\n\n"
            "The gradient is 0 where a window's sum of powers is 0."
        ),
    )


for _n in (1, 2, 3):
    expose(_power_average(_n), forms="n")
