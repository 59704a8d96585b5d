"""Record the contents of a tensor while the program runs: a copy of a small one, statistics of a
large one.

    structure   shapes and dtypes; single numbers whole
    summary     arrays of at most `SMALL` elements whole, of others statistics (they cost less than
                a copy)
    compare     the same, with a checksum and a sketch of each array that is not kept whole
    values      everything whole, up to `KEPT_BYTES` of larger arrays in all; then as "summary"
    precision   as "summary"; every operation is also computed in float64 (`precision`)

The program never waits for another device than the CPU: copies and statistics are computed there,
in the order of the stream, and are transferred together when the record is made (`fetch`).
"""

from __future__ import annotations

import math
import os
from typing import Any

import torch

from gradtrace.limits import BY_FIELD
from gradtrace.torch import private
from gradtrace.torch.batches import Batches, Pending, can_defer
from gradtrace.torch.measure import Facts, measure
from gradtrace.torch.memory import NAMES, PLAIN, Pool, array_of, is_freed, is_readable, numpy
from gradtrace.torch.sketches import sketched, split
from gradtrace.trace.array_summary import BINS, Summary, unmeasured
from gradtrace.trace.values import Value

LEVELS = ("structure", "summary", "compare", "values", "precision")
SMALL = 1024  # elements of an array that is always kept whole
KEPT_BYTES = (
    24_000_000  # of larger arrays that "values" keeps whole; GRADTRACE_MAX_RECORD changes it
)
EXACT = 16_384  # elements of a sparse tensor up to which it is read as a dense one
LIMIT = BY_FIELD["record_bytes"]
WHOLE = frozenset([*NAMES, "bfloat16"])
_names: dict[Any, str] = {}
_devices: dict[Any, str] = {}
_shapes: dict[Any, Noted] = {}  # notes without contents, which tensors of one shape and dtype share
MOST_SHAPES = 4096


def dtype_name(dtype: Any) -> str:
    """Return the name of a dtype: "float32", "bfloat16"."""
    name = _names.get(dtype)
    if name is None:
        name = _names[dtype] = str(dtype).removeprefix("torch.")
    return name


def device_name(tensor: Any) -> str:
    """Return the name of a tensor's device: "cpu", "cuda:0"."""
    if tensor.is_cpu:
        return "cpu"
    device = tensor.device
    name = _devices.get(device)
    if name is None:
        name = _devices[device] = str(device)
    return name


class Noted:
    """A note of a tensor's contents.

    `copy` is a number, an array or a detached tensor, `facts` are statistics; if both are None,
    only the shape and dtype are kept.
    """

    __slots__ = (
        "copy",
        "device",
        "dtype",
        "facts",
        "order",
        "sample",
        "shape",
        "sketch",
        "times",
        "value",
    )

    def __init__(self, shape: tuple[int, ...], dtype: str, device: str) -> None:
        self.shape = shape
        self.dtype = dtype
        self.device = device
        self.copy: Any = None
        self.facts: Any = None  # Facts, Pending ones, or a tensor of them on the device
        self.sample: Any = None
        self.order: Any = None  # shape and strides of a tensor that is not in row-major order
        self.sketch: Any = None  # checksum and sketch, or a tensor of them on the device
        self.times = 1  # how often each measured element stands in the tensor (an expanded one)
        self.value: Value | None = None

    def shaped(self, shape: tuple[int, ...]) -> Noted:
        """Return the note of the same elements, in the same order, in another shape."""
        note = Noted(shape, self.dtype, self.device)
        note.copy = None if self.copy is None else self.copy.reshape(shape)
        note.facts = self.facts
        note.sample = self.sample
        note.times = self.times
        note.order = self.order
        note.sketch = self.sketch
        return note


class Contents:
    """A maker of notes about tensors, at one level of detail."""

    def __init__(self, level: str) -> None:
        self.level = level
        # bytes of arrays that may still be kept whole beyond the small ones
        self.room = kept_bytes() if level == "values" else 0
        self.only_shapes = level == "structure"
        self.unmeasured: set[str] = set()
        # a tensor's class computes in Python, where it would see what is read
        self.dispatched = False
        self.pool = Pool()
        self.sketched = level == "compare"
        self.batches = Batches(self.sketched)

    def note(self, tensor: Any) -> Noted:
        """Return a note of a tensor's present contents. Must be called without function modes and
        without autograd.
        """
        if self.only_shapes and type(tensor) in PLAIN and not tensor.is_nested:
            held = _shapes.get(
                (tensor.shape, tensor.dtype, None if tensor.is_cpu else tensor.device)
            )
            if held is not None:
                return held
        if type(tensor) not in PLAIN and private.is_dispatched(type(tensor)):
            self.dispatched = True
            return self.unread(tensor, type(tensor).__name__)
        if private.dispatch_depth() and not private.is_undispatched():
            with private.without_torch_dispatch():
                return self.note(tensor)
        if tensor.is_nested:
            return self.unread(tensor, "nested")
        count = tensor.numel()
        if self.only_shapes and count != 1:
            return self.without_contents(tensor)
        dtype = tensor.dtype
        name = _names.get(dtype) or dtype_name(dtype)
        note = Noted(tuple(tensor.shape), name, "cpu" if tensor.is_cpu else device_name(tensor))
        if is_readable(tensor):
            self.read(note, tensor, count)
            return note
        if is_freed(tensor):
            return self.unread(tensor, "freed")
        if tensor.layout is not torch.strided and count <= EXACT and tensor.device.type != "meta":
            return self.note(tensor.detach().to_dense())
        if self.can_copy(note, tensor):
            data = tensor.detach()
            if not note.shape or (numpy is not None and self.has_room(tensor, count)):
                note.copy = data.clone()
            elif count:
                self.measure(note, data)
        return note

    def without_contents(self, tensor: Any) -> Noted:
        """Return the note of a shape and a dtype, which `note` then finds."""
        if len(_shapes) >= MOST_SHAPES:
            _shapes.clear()
        key = tensor.shape, tensor.dtype, None if tensor.is_cpu else tensor.device
        note = _shapes[key] = Noted(
            tuple(tensor.shape), dtype_name(tensor.dtype), device_name(tensor)
        )
        return note

    def unread(self, tensor: Any, kind: str) -> Noted:
        """Return a note without contents; without a shape too if a nested tensor has none in
        numbers.
        """
        self.unmeasured.add(kind)
        try:
            shape = tuple(map(int, tensor.shape))
        except (RuntimeError, AttributeError, TypeError, ValueError):
            shape = ()
        return Noted(shape, dtype_name(tensor.dtype), device_name(tensor))

    def read(self, noted: Noted, tensor: Any, count: int) -> None:
        """Note the contents of a tensor in the CPU's memory."""
        if not noted.shape:
            noted.copy = tensor.item()
        elif count <= SMALL:
            noted.copy = self.pool.copy(tensor, noted.shape, count)
        elif self.has_room(tensor, count):
            noted.copy = array_of(tensor).copy()
        elif can_defer(tensor, count):
            noted.facts = self.batches.add(tensor, count)
            noted.order = order_of(tensor)
        else:
            self.measure(noted, tensor.detach())

    def has_room(self, tensor: Any, count: int) -> bool:
        """Whether every element of a tensor is kept; a large one takes room for that."""
        if count <= SMALL:
            return True
        size = count * tensor.element_size()
        if size > self.room:
            return False
        self.room -= size
        return True

    def measure(self, noted: Noted, data: Any) -> None:
        """Note the statistics of a tensor of at least one element."""
        noted.facts, noted.sample, noted.times = measure(data)
        if self.sketched:
            noted.order, noted.sketch = order_of(data), sketched(data)

    def again(self, held: Noted, tensor: Any) -> Noted:
        """Return the note of a view of all elements that `held` is about; statistics do not depend
        on their order.
        """
        note = held.shaped(tuple(tensor.shape))
        if self.sketched and order_of(tensor) != held.order:
            note.order, note.sketch = order_of(tensor), sketched(tensor.detach())
        return note

    def can_copy(self, noted: Noted, tensor: Any) -> bool:
        """Whether PyTorch can copy and measure a tensor; if not, the reason is noted."""
        if tensor.layout is not torch.strided or tensor.device.type == "meta":
            self.unmeasured.add("sparse" if tensor.layout is not torch.strided else "meta")
            return False
        if tensor.is_quantized or noted.dtype not in WHOLE:
            self.unmeasured.add(noted.dtype)
            return False
        if private.is_capturing(tensor.device):
            self.unmeasured.add("a CUDA graph")
            return False
        return True


def kept_bytes() -> int:
    """Return how many bytes of large arrays "values" keeps. ValueError if the environment variable
    is not a number.
    """
    text = os.environ.get(LIMIT.variable) or str(KEPT_BYTES)
    if not text.isdecimal():
        raise ValueError(f"{LIMIT.variable} must be a number of bytes, not {text!r}")
    return int(text)


def order_of(tensor: Any) -> Any:
    """Return what the order of a tensor's elements in memory depends on; None for row-major
    order.
    """
    return None if tensor.is_contiguous() else (tuple(tensor.shape), tensor.stride())


def mark(tensor: Any) -> Any:
    """Return a key that two tensors share if they have the same elements, while both are alive;
    else None.
    """
    if tensor.layout is not torch.strided:
        return None
    return tensor.data_ptr(), tensor.numel(), private.version_of(tensor), tensor.dtype


# ---- as Values


def fetch(noted: list[Noted]) -> None:
    """Transfer everything from other devices, in one transfer for each device and dtype."""
    groups: dict[Any, list[tuple[Noted, str, Any]]] = {}
    for note in noted:
        for field in ("copy", "facts", "sketch"):
            held = getattr(note, field)
            if isinstance(held, torch.Tensor) and held.device.type != "cpu":
                groups.setdefault((held.device, held.dtype), []).append((note, field, held))
    for group in groups.values():
        together = torch.cat([held.reshape(-1) for _, _, held in group]).cpu()
        at = 0
        for note, field, held in group:
            setattr(note, field, together[at : at + held.numel()].reshape(held.shape))
            at += held.numel()


def value_of(noted: Noted | None) -> Value | None:
    """Return the Value of a note; it is made once. None for a single number that could not be
    read.
    """
    if noted is None or (noted.copy is None and noted.value is None and not noted.shape):
        return None
    if noted.value is None:
        noted.value = whole(noted) if noted.copy is not None else unknown(noted)
        noted.copy = noted.sample = None
    return noted.value


def unknown(noted: Noted) -> Value:
    """Return the Value of a note without contents: a shape and a dtype."""
    return Value(noted.shape, noted.dtype, None, summary(noted))


def whole(noted: Noted) -> Value:
    copy = noted.copy
    if not noted.shape:
        return Value((), noted.dtype, copy.item() if isinstance(copy, torch.Tensor) else copy, None)
    if isinstance(copy, torch.Tensor):
        copy = (copy if noted.dtype in NAMES else copy.float()).numpy()
    array = copy if copy.flags.forc else copy.copy()
    array.flags.writeable = False
    return Value(noted.shape, noted.dtype, array, None)


def summary(noted: Noted) -> Summary:
    """Return the statistics of a note as a Summary; only shape and dtype if nothing was
    measured.
    """
    head = (noted.shape, noted.dtype, noted.device)
    facts = noted.facts
    if facts is None:
        return unmeasured(*head)
    sample = noted.sample
    sketch = noted.sketch
    if isinstance(facts, Pending):
        facts, sample, own = facts.measured()
        sketch = sketch or own
    last = split(sketch) if isinstance(sketch, torch.Tensor) else sketch or ()
    if isinstance(facts, torch.Tensor):
        low, high, total, norm, zeros, absolute, nan, inf = facts.tolist()
        counted = math.prod(noted.shape) // noted.times
        facts = Facts(low, high, total, norm, int(zeros), absolute, int(nan), int(inf), counted)
    count = math.prod(noted.shape)
    measured = count // noted.times
    finite = measured - facts.nan - facts.inf
    zeros = facts.zeros
    absolute = facts.absolute
    bins: tuple[int, ...] = ()
    if sample is not None:
        part = torch.as_tensor(sample).double()
        share = finite / part.numel()
        zeros = (
            zeros if zeros >= 0 else round((part.numel() - int(torch.count_nonzero(part))) * share)
        )
        absolute = absolute if absolute >= 0 else part.abs().sum().item() * share
        bins = histogram(part, facts.low, facts.high, share * noted.times)
    times = noted.times
    if not finite:
        return Summary(
            *head,
            None,
            None,
            None,
            0.0,
            0.0,
            zeros * times,
            facts.nan * times,
            facts.inf * times,
            (0,) * BINS,
            *last,
        )
    low = facts.low
    high = facts.high
    if not noted.dtype.startswith(("float", "bfloat")):
        low = int(low)
        high = int(high)
    mean = facts.total / finite
    norm = facts.norm * times**0.5
    counts = (zeros * times, facts.nan * times, facts.inf * times)
    return Summary(*head, low, high, mean, absolute / finite, norm, *counts, bins, *last)


def histogram(part: Any, low: float, high: float, share: float) -> tuple[int, ...]:
    """Return the histogram of a sample in equal bins from the minimum to the maximum, scaled to the
    whole tensor.
    """
    if not high > low:
        return (round(part.numel() * share), *(0,) * (BINS - 1))
    places = ((part - low) * (BINS / (high - low))).long().clamp_(0, BINS - 1)
    return tuple(round(n * share) for n in torch.bincount(places, minlength=BINS).tolist())
