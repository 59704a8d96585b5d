"""Statistics of small tensors, computed for a batch of them: the tensors are copied into one
buffer.

A call of numpy takes longer than its work on a few thousand elements. A buffer is measured when it
is full, or when an answer needs it.
"""

from __future__ import annotations

import math
import threading
from typing import Any

import torch

from gradtrace.engine.operators.rounding import dot_product
from gradtrace.torch.measure import FLOATS, SAMPLE, Facts, is_exact, of_finite_part
from gradtrace.torch.memory import CODES, Chunk, numpy, quietly
from gradtrace.trace.array_sketch import checksum_of, sketch_of

CHUNK = 65_536  # elements of a buffer
SPARE = 2  # buffers of a dtype that are kept
MOST = 16_384  # elements of the largest tensor that goes into a batch

# buffers by dtype, which are used again: the first use of memory takes long
_spare: dict[str, list[Any]] = {}


class Scratch(threading.local):
    """Arrays for single steps of a computation, by dtype; each thread has its own."""

    def __init__(self) -> None:
        self.arrays: dict[str, Any] = {}

    def array(self, code: str) -> Any:
        array = self.arrays.get(code)
        if array is None:
            array = self.arrays[code] = numpy.empty(CHUNK, code)
        return array


scratch = Scratch()


class Batch:
    """A buffer with copies of tensors of one dtype, then their statistics."""

    chunk: Any = None  # None after it was measured

    def __init__(self, code: str, sketched: bool) -> None:
        self.code = code
        self.spare = _spare.setdefault(code, [])
        try:
            self.chunk = self.spare.pop()
        except IndexError:
            self.chunk = Chunk(numpy.empty(CHUNK, code))
        self.sketched = sketched
        self.counts: list[int] = []
        self.facts: list[Facts] = []
        self.samples: Any = None
        self.sketches: list[Any] = []

    def add(self, tensor: Any, count: int) -> Pending:
        self.chunk.take(tensor, count)
        self.counts.append(count)
        return Pending(self, len(self.counts) - 1)

    @quietly
    def measure(self) -> None:
        """Compute the statistics of all copies, and drop these."""
        used = self.chunk.used
        elements = self.chunk.array[:used]
        counts = numpy.array(self.counts)
        ends = numpy.cumsum(counts)
        starts = ends - counts
        low = numpy.minimum.reduceat(elements, starts)
        high = numpy.maximum.reduceat(elements, starts)
        total = numpy.add.reduceat(elements, starts)
        sizes = numpy.abs(elements, out=scratch.array(self.code)[:used])
        absolute = numpy.add.reduceat(sizes, starts)
        stretches = list(map(slice, starts.tolist(), ends.tolist()))
        parts = [elements[stretch] for stretch in stretches]
        zero = numpy.equal(elements, 0, out=scratch.array("|b1")[:used])
        zeros = [int(numpy.count_nonzero(zero[stretch])) for stretch in stretches]
        columns = [column.tolist() for column in (low, high, total, absolute)]
        self.facts = list(map(facts_of, parts, zeros, *columns))
        places = starts[:, None] + numpy.arange(SAMPLE) * (counts // SAMPLE)[:, None]
        self.samples = elements[places]
        if self.sketched:
            self.sketches = [(checksum_of(part), sketch_of(part)) for part in parts]
        self.release()

    def release(self) -> None:
        """Give the buffer to the next batch."""
        if self.chunk is not None and len(self.spare) < SPARE:
            self.chunk.used = 0
            self.spare.append(self.chunk)
        self.chunk = None

    def __del__(self) -> None:
        self.release()


def facts_of(
    part: Any, zeros: int, low: float, high: float, total: float, absolute: float
) -> Facts:
    """Return the statistics of one copy, computed again if it has NaN or infinities, or if a sum is
    out of range.
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return of_finite_part(torch.from_numpy(part))
    square = float(dot_product(part, part))
    if not is_exact(total, square, low, high):
        wide = part.astype(numpy.float64)
        total = float(numpy.add.reduce(wide))
        square = float(dot_product(wide, wide))
        absolute = float(numpy.add.reduce(numpy.abs(wide)))
    return Facts(low, high, total, square**0.5, zeros, absolute, 0, 0, part.size)


class Pending:
    """The statistics of one tensor of a batch."""

    __slots__ = ("batch", "number")

    def __init__(self, batch: Batch, number: int) -> None:
        self.batch = batch
        self.number = number

    def measured(self) -> tuple[Facts, Any, Any]:
        """Return the statistics, a sample if there are elements of both signs, and the checksum and
        the sketch if they are wanted.
        """
        batch = self.batch
        number = self.number
        if batch.chunk is not None:
            batch.measure()
        facts = batch.facts[number]
        bad = facts.nan or facts.inf
        sample = batch.samples[number] if facts.low < 0 < facts.high and not bad else None
        return facts, sample, batch.sketches[number] if batch.sketched else None


class Batches:
    """The batches that are being filled, one for each dtype."""

    def __init__(self, sketched: bool) -> None:
        self.sketched = sketched
        self.batches: dict[Any, Batch] = {}

    def add(self, tensor: Any, count: int) -> Pending:
        """Copy the elements of a readable tensor."""
        batch = self.batches.get(tensor.dtype)
        if batch is None or batch.chunk.used + count > CHUNK:
            if batch is not None:
                batch.measure()
            batch = self.batches[tensor.dtype] = Batch(CODES[tensor.dtype], self.sketched)
        return batch.add(tensor, count)


def can_defer(tensor: Any, count: int) -> bool:
    """Whether a readable tensor can go into a batch; one with repeated elements (an expanded one)
    cannot.
    """
    return (
        count <= MOST
        and tensor.dtype in FLOATS
        and (tensor.is_contiguous() or 0 not in tensor.stride())
    )
