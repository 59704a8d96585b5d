"""Fractional max pooling: windows of one size whose distances are random, so that a plane shrinks
by any ratio.

Each plane has a random number for each dim, from which all starts along the dim follow
(https://arxiv.org/abs/1412.6071).
"""

from __future__ import annotations

from math import prod

from gradtrace import ops
from gradtrace.annotations import Any, Callable
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array, Ints
from gradtrace.ops.api import expose, functions, named
from gradtrace.ops.create.factories import checked_sizes
from gradtrace.ops.nn.conv_arguments import lengths
from gradtrace.ops.nn.patches import PerDim
from gradtrace.ops.nn.pool import index_record
from gradtrace.ops.nn.pool_arguments import check_tensor
from gradtrace.ops.random import sampling  # noqa: F401 - defines rand

AXES = ("time", "height", "width")


def starts_of(samples: Array, size: int, kernel: int, out: int) -> Array:
    """Return the starts (planes, out) of the windows over `size` inputs; the last window ends with
    the input.
    """
    room = samples.dtype.type(size - kernel)
    sample = samples[:, None]
    steps = np.arange(out).astype(samples.dtype)
    if out > 1:
        ratio = room / samples.dtype.type(out - 1)
        starts = ((steps + sample) * ratio).astype(np.int64) - (sample * ratio).astype(np.int64)
    else:
        starts = np.zeros((len(samples), out), np.int64)
    starts[:, out - 1 :] = size - kernel
    return starts


def max_kernel(a: Array, samples: Array, kernel: Ints, outs: Ints) -> tuple[Array, Array]:
    """Return the maxima and their positions; the first of equal elements is taken, but the last
    nan.
    """
    n = len(kernel)
    sizes = a.shape[-len(kernel) :]
    lead = a.shape[: -len(kernel)]
    count = prod(lead)
    samples = samples[: a.shape[0] if len(lead) == 2 else 1].reshape(count, n)
    cells: Array = np.zeros((count, *(1,) * (2 * n)), np.int64)  # (planes, *outs, *kernel)
    for i in range(n):
        starts = starts_of(samples[:, n - 1 - i if n == 2 else i], sizes[i], kernel[i], outs[i])
        cell = starts[:, :, None] + np.arange(kernel[i])
        shape = [1] * (2 * n)
        shape[i] = outs[i]
        shape[n + i] = kernel[i]
        cells = cells * sizes[i] + cell.reshape(count, *shape)
    cells = cells.reshape(count, prod(outs), prod(kernel))
    values = (
        np.take_along_axis(a.reshape(count, 1, prod(sizes)), cells, -1)
        if count
        else cells.astype(a.dtype)
    )
    best = np.argmax(values, -1)
    nans = np.isnan(values)
    best = np.where(nans.any(-1), prod(kernel) - 1 - np.argmax(nans[..., ::-1], -1), best)[
        ..., None
    ]
    result = (*lead, *outs)
    return np.take_along_axis(values, best, -1).reshape(result), np.take_along_axis(
        cells, best, -1
    ).reshape(result)


records = {
    n: index_record(
        f"fractional_max_pool{n}d(self; samples, kernel, sizes)",
        max_kernel,
        f"FractionalMaxPool{n}DBackward",
        n,
        "out[x] = max[k](self[start(x, samples) + k])",
    )
    for n in (2, 3)
}


def per_dim(name: str, argument: str, value: Any, n: int) -> Ints:
    items = lengths(name, argument, value, n)
    if isinstance(value, (tuple, list)) and len(items) != n:
        ints = "Ints" if n == 2 else "three Ints"
        raise RuntimeError(f"{name}: {argument} must either be a single Int or tuple of {ints}")
    return items * n if len(items) == 1 else items


def check_input(name: str, input: Tensor, kernel: Ints, outs: Ints) -> None:
    n = len(kernel)
    shape = list(input.shape)
    if input.ndim not in (n + 1, n + 2):
        raise RuntimeError(f"{name}: Expected {n + 1}D or {n + 2}D tensor, but got: {shape}")
    for dim in range(input.ndim - n - 1, input.ndim):
        if not shape[dim]:
            raise RuntimeError(
                f"{name}: Expected input to have non-zero size for non-batch dimensions, but got{shape} with dimension "
                f"{dim} being empty."
            )
    for axis, size, k, out in zip(AXES[-n:], shape[-n:], kernel, outs, strict=True):
        # PyTorch's 3d function also refuses windows that fit exactly
        if out + k - 1 > size - (n == 3):
            raise RuntimeError(f"{name}: pool {axis} {k} too large relative to input {axis} {size}")
    checked_sizes((*shape[:-n], *outs))


def check_samples(samples: Tensor, input: Tensor, n: int) -> None:
    if samples.dtype is not input.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if samples.ndim != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.ndim}")
    if samples.shape[0] < (input.shape[0] if input.ndim == n + 2 else 1):
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if samples.shape[1] != input.shape[-n - 1]:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.shape[2] != n:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {n}; got {samples.shape[2]}.")


def _fractional(n: int) -> Callable[..., Any]:
    name = f"fractional_max_pool{n}d"
    place = f"{name}()" if n == 2 else f"{name}_out()"

    def function(
        input: Tensor,
        kernel_size: PerDim,
        output_size: PerDim | None = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Tensor | tuple[Tensor, Tensor]:
        check_tensor(name, input)
        if output_size is None:
            if output_ratio is None:
                raise ValueError(
                    f"{name} requires specifying either an output_size or an output_ratio"
                )
            # As in PyTorch, a single ratio is for the 3d function only.
            ratios = (
                (output_ratio,) * n if n == 3 and isinstance(output_ratio, float) else output_ratio
            )
            if len(ratios) > n:
                raise ValueError(
                    f"{name} requires output_ratio to either be a single Int or tuple of Ints."
                )
            output_size = [int(input.shape[i - n] * ratios[i]) for i in range(n)]
        kernel = per_dim(name, "kernel_size", kernel_size, n)
        outs = per_dim(name, "output_size", output_size, n)
        samples = _random_samples
        if samples is None:
            batch = input.shape[0] if input.ndim == n + 2 else 1
            samples = ops.find(functions, "rand")(batch, input.shape[-n - 1], n, dtype=input.dtype)
        check_input(place, input, kernel, outs)
        check_samples(samples, input, n)
        result = records[n](input, samples, kernel, outs)
        return result if return_indices else result[0]

    doc = (
        f"Maxima of windows at random distances over the last {n} dims (torch.nn.functional.{name}).\n\n"
        "input (N, C, *sizes) or (C, *sizes); output_size, or output_ratio times the input's sizes. _random_samples "
        f"(N, C, {n}) are numbers from 0 to 1. With return_indices also flat positions within the plane."
    )
    return expose(named(function, name, doc), forms="n", record=records[n])


fractional_max_pools = {n: _fractional(n) for n in (2, 3)}
