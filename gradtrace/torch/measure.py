"""Statistics of a tensor: its ends, sum, norm, and counts of zeros, NaN and infinities.

A float32 or float64 tensor in the CPU's memory is read through a numpy array on the same memory,
since numpy takes about half of PyTorch's time, except for the sum of many elements; other dtypes
and other devices by PyTorch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

from gradtrace.engine.operators.rounding import dot_product
from gradtrace.torch.memory import array_of, is_readable, numpy, quietly

FLOATS = (torch.float32, torch.float64)
SAMPLE = 256  # elements
FEW = 4096  # elements up to which numpy adds faster
# elements up to which zeros are counted exactly; of more they are estimated from the sample
EXACT = 16_384


@dataclass(slots=True, eq=False)
class Facts:
    """Statistics of a tensor, as plain numbers; -1 for a count that was only estimated from the
    sample.
    """

    low: float
    high: float
    total: float
    norm: float
    zeros: int
    absolute: float  # the sum of the sizes
    nan: int
    inf: int
    count: int  # of the measured elements


# Facts or a tensor of them; a sample; how often each measured element stands in it
Measured = tuple[Any, Any, int]


def measure(tensor: Any) -> Measured:
    """Return the statistics of a tensor without history and of at least one element."""
    times = 1
    flat = tensor
    if not tensor.is_contiguous():
        times, flat = flattened(tensor)
    flat = flat.reshape(-1)
    if flat.dtype in FLOATS and is_readable(flat):
        array = array_of(flat)
        facts = of_array(array, flat) or of_finite_part(flat)
        return facts, sampled(facts, array), times
    if not flat.is_cpu:
        return on_device(flat), None, times
    count = flat.numel()
    if flat.dtype is torch.bool:
        ones = int(torch.count_nonzero(flat))
        return (
            Facts(
                float(ones == count),
                float(ones > 0),
                ones,
                ones**0.5,
                count - ones,
                ones,
                0,
                0,
                count,
            ),
            None,
            times,
        )
    facts = on_cpu(flat)
    return facts, sampled(facts, array_of(flat) if is_readable(flat) else flat), times


def sampled(facts: Facts, elements: Any) -> Any:
    """Return elements at equal distances, for what was not counted exactly; None if all was."""
    if facts.zeros >= 0 and facts.absolute >= 0:
        return None
    size = min(SAMPLE, facts.count)
    step = facts.count // size
    part = elements[: step * size : step]
    return part.clone() if isinstance(part, torch.Tensor) else part.copy()


def count_zeros(facts: Any, tensor: Any) -> None:
    """Count the zeros of a leaf's gradient exactly, since answers show their number; a sample would
    only estimate it.
    """
    if isinstance(facts, Facts) and facts.zeros < 0:
        zeros = (
            numpy.count_nonzero(array_of(tensor) == 0)
            if is_readable(tensor)
            else (tensor.detach() == 0).sum()
        )
        facts.zeros = int(zeros)


def flattened(tensor: Any) -> tuple[int, Any]:
    """Return each different element once, in one dimension and in the order of memory if that
    avoids a copy, and how often it stands in the tensor (an expanded one).
    """
    times = 1
    for dim, stride in enumerate(tensor.stride()):
        if not stride and tensor.shape[dim] > 1:
            times *= tensor.shape[dim]
            tensor = tensor.narrow(dim, 0, 1)
    return times, tensor.permute(
        sorted(range(tensor.dim()), key=tensor.stride, reverse=True)
    ).reshape(-1)


def is_dense(tensor: Any) -> bool:
    """Whether a tensor's elements fill a range of memory without gaps or repetitions."""
    if tensor.is_contiguous():
        return True
    strides = tensor.stride()
    shape = tensor.shape
    reach = 1 + sum(stride * (size - 1) for stride, size in zip(strides, shape, strict=True))
    return bool(reach == tensor.numel() and 0 not in strides)


@quietly
def of_array(array: Any, flat: Any) -> Facts | None:
    """Compute the statistics of an array on the memory of a tensor of floats; None if it has NaN or
    infinities.
    """
    low = float(numpy.minimum.reduce(array))
    high = float(numpy.maximum.reduce(array))
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    total = float(numpy.add.reduce(array)) if array.size <= FEW else flat.sum().item()
    square = float(dot_product(array, array))
    if not is_exact(total, square, low, high):
        wide = array.astype(numpy.float64)
        total = float(numpy.add.reduce(wide))
        square = float(dot_product(wide, wide))
    zeros = zeros_between(low, high, array.size)
    if zeros < 0 and array.size <= EXACT:
        zeros = int(numpy.count_nonzero(array == 0))
    return Facts(
        low, high, total, square**0.5, zeros, size_of_sum(total, low, high), 0, 0, array.size
    )


def is_exact(total: float, square: float, low: float, high: float) -> bool:
    """Whether a sum and a sum of squares neither overflowed nor lost what is small."""
    return math.isfinite(total) and math.isfinite(square) and (square > 1e-30 or low == high == 0)


def zeros_between(low: float, high: float, count: int) -> int:
    """Return the number of zeros if the ends tell it, else -1."""
    if low > 0 or high < 0:
        return 0
    return count if low == high else -1


def size_of_sum(total: float, low: float, high: float) -> float:
    """Return the sum of the sizes if all elements have one sign, else -1."""
    return abs(total) if low >= 0 or high <= 0 else -1.0


def on_cpu(flat: Any) -> Facts:
    """Compute statistics by PyTorch in few passes over memory: NaN and infinities show in the
    minimum and maximum.
    """
    count = flat.numel()
    if flat.dtype.is_floating_point and flat.dtype not in FLOATS:
        flat = flat.float()
    low, high = (end.item() for end in torch.aminmax(flat))
    if not (math.isfinite(low) and math.isfinite(high)):
        return of_finite_part(flat)
    if flat.dtype in FLOATS:
        total = flat.sum().item()
        square = torch.dot(flat, flat).item()
        if not is_exact(total, square, low, high):
            wide = flat.double()
            total = wide.sum().item()
            square = torch.dot(wide, wide).item()
        norm = square**0.5
    else:
        total = flat.sum(dtype=torch.float64).item()
        norm = flat.double().norm().item()
    zeros = zeros_between(low, high, count)
    if zeros < 0 and count <= EXACT:
        zeros = count - int(torch.count_nonzero(flat))
    return Facts(low, high, total, norm, zeros, size_of_sum(total, low, high), 0, 0, count)


def of_finite_part(flat: Any) -> Facts:
    """Compute the statistics of the finite elements of a tensor with NaN or infinities."""
    nan = int(torch.isnan(flat).sum())
    bad = int((~torch.isfinite(flat)).sum())
    good = flat[torch.isfinite(flat)].double()
    zeros = flat.numel() - int(torch.count_nonzero(flat))
    if not good.numel():
        return Facts(math.nan, math.nan, 0.0, 0.0, zeros, 0.0, nan, bad - nan, flat.numel())
    low = good.min().item()
    high = good.max().item()
    norm = torch.linalg.vector_norm(good).item()
    total = good.sum().item()
    absolute = good.abs().sum().item()
    return Facts(low, high, total, norm, zeros, absolute, nan, bad - nan, flat.numel())


def on_device(flat: Any) -> Any:
    """Compute the same statistics as one small tensor on the device, without waiting for it."""
    f = flat if flat.dtype is torch.float64 else flat.float()
    finite = torch.isfinite(f)
    nan = torch.isnan(f).sum()
    good = torch.where(finite, f, torch.zeros((), dtype=f.dtype, device=f.device))
    top = torch.full((), math.inf, dtype=f.dtype, device=f.device)
    parts = (
        torch.where(finite, f, top).amin(),
        torch.where(finite, f, -top).amax(),
        good.sum(dtype=torch.float64),
        torch.linalg.vector_norm(good, dtype=torch.float64),
        f.numel() - torch.count_nonzero(f),
        good.abs().sum(dtype=torch.float64),
        nan,
        f.numel() - finite.sum() - nan,
    )
    return torch.stack([part.to(torch.float64) for part in parts])
