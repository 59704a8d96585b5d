"""Record the contents of a tensor while the program runs: a copy of a small one, statistics of a large one.

    structure   shapes and dtypes; single numbers whole
    summary     arrays of at most `SMALL` elements whole, of others statistics (they cost less than a copy)
    values      everything whole

The program never waits for another device than the CPU: copies and statistics are computed there, in the order of the
stream, and are transferred together when the record is made (`fetch`).
"""

from __future__ import annotations

import math
from typing import Any

import torch

from gradtrace.engine.summary import BINS, Summary
from gradtrace.torch import private
from gradtrace.trace.values import Value

LEVELS = ("structure", "summary", "values")
SMALL = 1024  # elements of an array that is always kept whole
SAMPLE = 256
FUSED = 65_536  # elements up to which one pass for both ends is faster than two
EXACT = 16_384  # elements up to which zeros are counted exactly; of more they are estimated from the sample
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
NUMPY = frozenset(["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"])
WHOLE = frozenset([*NUMPY, "bfloat16"])
_names: dict[Any, str] = {}
_devices: dict[Any, str] = {}


def dtype_name(dtype: Any) -> str:
    """Return the name of a dtype: "float32", "bfloat16"."""
    found = _names.get(dtype)
    if found is None:
        found = _names[dtype] = str(dtype).removeprefix("torch.")
    return found


def device_name(device: Any) -> str:
    """Return the name of a device: "cpu", "cuda:0"."""
    found = _devices.get(device)
    if found is None:
        found = _devices[device] = str(device)
    return found


class Noted:
    """A note of a tensor's contents.

    `copy` is a detached tensor, `facts` are statistics; if both are None, only the shape and dtype are kept.
    """

    __slots__ = ("copy", "device", "dtype", "facts", "sample", "shape", "times", "value")

    def __init__(self, shape: tuple[int, ...], dtype: str, device: str) -> None:
        self.shape = shape
        self.dtype = dtype
        self.device = device
        self.copy: Any = None
        self.facts: Any = None  # Facts, or a tensor of them on the device
        self.sample: Any = None
        self.times = 1  # how often each measured element stands in the tensor (an expanded one)
        self.value: Value | None = None

    def shaped(self, shape: tuple[int, ...]) -> Noted:
        """Return the note of the same elements in another shape."""
        found = Noted(shape, self.dtype, self.device)
        found.copy = None if self.copy is None else self.copy.reshape(shape)
        found.facts, found.sample, found.times = self.facts, self.sample, self.times
        return found


class Facts:
    """Statistics of a tensor, as plain numbers; -1 for a count that was only estimated from the sample."""

    __slots__ = ("absolute", "count", "high", "inf", "low", "nan", "norm", "total", "zeros")

    def __init__(
        self, low: float, high: float, total: float, norm: float, zeros: int, absolute: float, nan: int, inf: int
    ) -> None:
        self.low = low
        self.high = high
        self.total = total
        self.norm = norm
        self.zeros = zeros
        self.absolute = absolute  # the sum of the sizes
        self.nan = nan
        self.inf = inf
        self.count = 0


CHUNK = 262_144  # elements


class Pool:
    """A buffer for many small copies, which would otherwise fragment the program's memory."""

    def __init__(self) -> None:
        self.chunks: dict[Any, tuple[Any, int]] = {}  # by dtype: the present chunk, how much of it is used

    def copy(self, data: Any) -> Any:
        """Return a copy of a tensor on the CPU, in the same shape."""
        count = data.numel()
        chunk, used = self.chunks.get(data.dtype, (None, 0))
        if chunk is None or used + count > CHUNK:
            with torch.inference_mode(False):  # a tensor made in that mode could not be written to outside of it
                chunk, used = torch.empty(CHUNK, dtype=data.dtype, device="cpu"), 0
        self.chunks[data.dtype] = chunk, used + count
        found = chunk.as_strided(data.shape, contiguous(data.shape), used)
        return found.copy_(data)


def contiguous(shape: Any) -> tuple[int, ...]:
    """Return the strides of a contiguous tensor."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


class Contents:
    """A maker of notes about tensors, at one level of detail."""

    def __init__(self, level: str) -> None:
        self.level = level
        self.arrays = has_numpy()  # without numpy only numbers are kept whole
        self.unmeasured: set[str] = set()
        self.pool = Pool()

    def note(self, tensor: Any) -> Noted:
        """Return a note of a tensor's present contents. Must be called without active modes and without autograd."""
        shape, dtype = tuple(tensor.shape), dtype_name(tensor.dtype)
        found = Noted(shape, dtype, device_name(tensor.device))
        count = math.prod(shape)
        if self.level == "structure" and count != 1:
            return found
        plain = tensor.layout is torch.strided and tensor.device.type != "meta" and not tensor.is_quantized
        if not plain or dtype not in WHOLE or type(tensor).__name__ == "FakeTensor":
            if tensor.layout is not torch.strided and count <= EXACT and tensor.device.type != "meta":
                return self.note(tensor.detach().to_dense())
            self.unmeasured.add("sparse" if tensor.layout is not torch.strided else dtype)
            return found
        if private.is_capturing(tensor.device):
            self.unmeasured.add("a CUDA graph")
            return found
        data = tensor.detach()
        if not shape or (self.arrays and (count <= SMALL or self.level == "values")):
            found.copy = data.clone() if count > SMALL or data.device.type != "cpu" else self.pool.copy(data)
        elif count:
            measure(found, data, self.pool)
        return found


def has_numpy() -> bool:
    try:
        import numpy  # noqa: F401
    except ImportError:
        return False
    return True


# ---- statistics


def measure(found: Noted, data: Any, pool: Pool) -> None:
    """Compute the statistics of a tensor of at least one element for its note."""
    for dim, stride in enumerate(data.stride()):
        if not stride and data.shape[dim] > 1:  # an expanded dimension: the same elements again
            found.times *= data.shape[dim]
            data = data.narrow(dim, 0, 1)
    flat = flattened(data)
    if flat.device.type != "cpu":
        found.facts = on_device(flat)
        return
    if flat.dtype is torch.bool:
        ones = int(torch.count_nonzero(flat))
        n = flat.numel()
        found.facts = Facts(float(ones == n), float(ones > 0), ones, ones**0.5, n - ones, ones, 0, 0)
        return
    facts = found.facts = on_cpu(flat)
    facts.count = flat.numel()
    if facts.zeros < 0 or facts.absolute < 0:
        size = min(SAMPLE, facts.count)
        found.sample = pool.copy(flat.as_strided((size,), (facts.count // size,), flat.storage_offset()))


def count_zeros(found: Noted | None, tensor: Any) -> None:
    """Count the zeros of a leaf's gradient exactly, since answers show their number; a sample would only estimate
    it.
    """
    if found is None or found.sample is None or found.facts.zeros >= 0:
        return
    found.facts.zeros = found.facts.count - int(torch.count_nonzero(tensor.detach()))


def is_dense(tensor: Any) -> bool:
    """Whether a tensor's elements fill a range of memory without gaps or repetitions."""
    if tensor.is_contiguous():
        return True
    strides, shape = tensor.stride(), tensor.shape
    reach = 1 + sum(stride * (size - 1) for stride, size in zip(strides, shape, strict=True))
    return bool(reach == tensor.numel() and 0 not in strides)


def flattened(data: Any) -> Any:
    """Return the elements in one dimension, in the order of memory if that avoids a copy."""
    if not data.is_contiguous():
        data = data.permute(sorted(range(data.dim()), key=data.stride, reverse=True))
    return data.reshape(-1)


def on_cpu(flat: Any) -> Facts:
    """Compute statistics on the CPU in few passes over memory: NaN and infinities show in the minimum and maximum."""
    count = flat.numel()
    if count <= FUSED:
        ends = torch.aminmax(flat)
        low, high = ends.min.item(), ends.max.item()
    else:
        low, high = torch.amin(flat).item(), torch.amax(flat).item()
    if not (math.isfinite(low) and math.isfinite(high)):
        return of_finite_part(flat)
    if flat.dtype is torch.float32 or flat.dtype is torch.float64:
        total, square = flat.sum().item(), torch.dot(flat, flat).item()
        good = math.isfinite(total) and math.isfinite(square) and (square > 1e-30 or low == high == 0)
        if not good:
            wide = flat.double()
            total, square = wide.sum().item(), torch.dot(wide, wide).item()
        norm = square**0.5
    else:
        kind = torch.float32 if flat.dtype.is_floating_point else torch.float64
        total = flat.sum(dtype=kind).item()
        norm = (
            torch.linalg.vector_norm(flat, dtype=kind).item() if kind is torch.float32 else flat.double().norm().item()
        )
    one_sign = low >= 0 or high <= 0
    zeros = 0 if low > 0 or high < 0 else count if low == high else -1
    if zeros < 0 and count <= EXACT:
        zeros = count - int(torch.count_nonzero(flat))
    absolute = abs(total) if one_sign else -1.0
    return Facts(low, high, total, norm, zeros, absolute, 0, 0)


def of_finite_part(flat: Any) -> Facts:
    """Compute the statistics of the finite elements of a tensor with NaN or infinities."""
    nan, bad = int(torch.isnan(flat).sum()), int((~torch.isfinite(flat)).sum())
    good = flat[torch.isfinite(flat)].double()
    zeros = flat.numel() - int(torch.count_nonzero(flat))
    if not good.numel():
        return Facts(math.nan, math.nan, 0.0, 0.0, zeros, 0.0, nan, bad - nan)
    low, high, norm = good.min().item(), good.max().item(), torch.linalg.vector_norm(good).item()
    return Facts(low, high, good.sum().item(), norm, zeros, good.abs().sum().item(), nan, bad - nan)


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


# ---- as Values


def fetch(noted: list[Noted]) -> None:
    """Transfer everything from other devices, in one transfer for each device and dtype."""
    groups: dict[Any, list[tuple[Noted, str, Any]]] = {}
    for one in noted:
        for field in ("copy", "facts"):
            held = getattr(one, field)
            if isinstance(held, torch.Tensor) and held.device.type != "cpu":
                groups.setdefault((held.device, held.dtype), []).append((one, field, held))
    for group in groups.values():
        together = torch.cat([held.reshape(-1) for _, _, held in group]).cpu()
        at = 0
        for one, field, held in group:
            setattr(one, field, together[at : at + held.numel()].reshape(held.shape))
            at += held.numel()


def value_of(noted: Noted | None) -> Value | None:
    """Return the Value of a note; it is made once."""
    if noted is None:
        return None
    if noted.value is None:
        noted.value = whole(noted) if noted.copy is not None else Value(noted.shape, noted.dtype, None, summary(noted))
        noted.copy = noted.sample = None
    return noted.value


def whole(noted: Noted) -> Value:
    if not noted.shape:
        return Value((), noted.dtype, noted.copy.item(), None)
    copy = noted.copy if noted.dtype in NUMPY else noted.copy.float()
    array = copy.numpy()
    if not array.flags.forc:
        array = array.copy()
    array.flags.writeable = False
    return Value(noted.shape, noted.dtype, array, None)


def summary(noted: Noted) -> Summary:
    """Return the statistics of a note as a Summary; only shape and dtype if nothing was measured."""
    head = (noted.shape, noted.dtype, noted.device)
    facts = noted.facts
    if facts is None:
        return Summary(*head, None, None, None, 0.0, 0.0, 0, 0, 0, ())
    if isinstance(facts, torch.Tensor):
        low, high, total, norm, zeros, absolute, nan, inf = facts.tolist()
        facts = Facts(low, high, total, norm, int(zeros), absolute, int(nan), int(inf))
    count = math.prod(noted.shape)
    measured = count // noted.times
    finite = measured - facts.nan - facts.inf
    zeros, absolute = facts.zeros, facts.absolute
    bins: tuple[int, ...] = ()
    if noted.sample is not None:
        part = noted.sample.double()
        share = finite / part.numel()
        zeros = zeros if zeros >= 0 else round((part.numel() - int(torch.count_nonzero(part))) * share)
        absolute = absolute if absolute >= 0 else part.abs().sum().item() * share
        bins = histogram(part, facts.low, facts.high, share * noted.times)
    times = noted.times
    if not finite:
        return Summary(
            *head, None, None, None, 0.0, 0.0, zeros * times, facts.nan * times, facts.inf * times, (0,) * BINS
        )
    low, high = facts.low, facts.high
    if not noted.dtype.startswith(("float", "bfloat")):
        low, high = int(low), int(high)
    mean = facts.total / finite
    norm = facts.norm * times**0.5
    counts = (zeros * times, facts.nan * times, facts.inf * times)
    return Summary(*head, low, high, mean, absolute / finite, norm, *counts, bins)


def histogram(part: Any, low: float, high: float, share: float) -> tuple[int, ...]:
    """Return the histogram of a sample in equal bins from the minimum to the maximum, scaled to the whole tensor."""
    if not high > low:
        return (round(part.numel() * share), *(0,) * (BINS - 1))
    places = ((part - low) * (BINS / (high - low))).long().clamp_(0, BINS - 1)
    return tuple(round(n * share) for n in torch.bincount(places, minlength=BINS).tolist())
