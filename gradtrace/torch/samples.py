"""The samples of a batch that are not finite, of tensors of which a record keeps only
statistics.
"""

from __future__ import annotations

import math
import weakref
from typing import Any, NamedTuple

import torch
from torch.overrides import TorchFunctionMode

from gradtrace.torch import private
from gradtrace.torch.contents import SMALL
from gradtrace.torch.finite import flat
from gradtrace.torch.recording import record

CHUNK = 1 << 22  # elements that are looked at together
MOST = 50  # tensors with infinities
LARGE = 20.0  # times the median: a sample that stands out
FEWEST = 4  # samples of which one can stand out


class BadSamples(NamedTuple):
    entry: int  # the tensor's place in the record
    samples: list[int]


class LargeSample(NamedTuple):
    """A sample that is much larger than the others of a tensor: its norm over their median."""

    tensor: Any  # of the batch, else None
    entry: int | None  # the tensor's place in the record; None for one of the batch
    sample: int
    times: float


class SampleWatch(TorchFunctionMode):
    """Looks at the results of functions in a recording, of those that are computed from the batch
    and have its size, until the first that has NaN. Of infinities only the end of the step shows
    whether they are an error. `large` is the first sample that stands out by its size.
    """

    def __init__(self, recorded: record, batch: Any) -> None:
        super().__init__()
        self.recorded = recorded
        self.batch = [tensor for tensor in flat(batch) if tensor.dim()]
        self.sizes = {tensor.shape[0] for tensor in self.batch}
        self.derived = {id(tensor): weakref.ref(tensor) for tensor in self.batch}
        self.first: Any = None  # the tensor of the batch that is not finite
        self.bad_samples: list[BadSamples] = []
        self.is_done = False
        self.large: LargeSample | None = None

    def __enter__(self) -> SampleWatch:
        with private.unseen(), torch.no_grad():
            self.first = next(
                (
                    tensor
                    for tensor in self.batch
                    if is_candidate(tensor) and bool(tensor.isnan().any())
                ),
                None,
            )
            for tensor in self.batch:
                self.look_for_large(tensor, None)
        self.is_done = self.first is not None
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if not self.is_done and not private.in_transform():
            with private.unseen(), torch.no_grad():
                self.look((args, kwargs), result)
        return result

    def look(self, arguments: Any, result: Any) -> None:
        if not any(self.is_derived(tensor) for tensor in flat(arguments)):
            return
        for tensor in flat(result):
            self.derived[id(tensor)] = weakref.ref(tensor)
            if not tensor.dim() or tensor.shape[0] not in self.sizes:
                continue
            self.look_for_large(tensor, self.entry_of(tensor))
            if not is_candidate(tensor):
                continue
            rows = bad_rows(tensor)
            if rows:
                self.note(tensor, rows)
                self.is_done = len(self.bad_samples) == MOST or bool(tensor.isnan().any())
                if self.is_done:
                    return

    def is_derived(self, tensor: Any) -> bool:
        reference = self.derived.get(id(tensor))
        return reference is not None and reference() is tensor

    def note(self, tensor: Any, rows: list[int]) -> None:
        entry = self.entry_of(tensor)
        if entry is not None:
            self.bad_samples.append(BadSamples(entry, rows))

    def entry_of(self, tensor: Any) -> int | None:
        recorder = self.recorded._recorder
        identity = None if recorder is None else recorder.find(tensor)
        return None if identity is None else identity.last.id

    def look_for_large(self, tensor: Any, entry: int | None) -> None:
        if self.large is None and has_rows(tensor):
            sample, times = largest_row(tensor)
            if times > LARGE:
                kept = tensor if entry is None else None
                self.large = LargeSample(kept, entry, sample, times)

    def large_text(self) -> str:
        """Name the sample that stands out by its size, when the recording has ended; "" if none
        does.
        """
        if self.large is None:
            return ""
        trace = self.recorded.trace()
        entry = self.large.entry
        if entry is None:
            pair = self.recorded._ids.get(id(self.large.tensor))
            entry = pair[1] if pair is not None and pair[0]() is self.large.tensor else None
        where = "the batch"
        if entry is not None:
            record = trace.tensors[entry]
            line = "" if record.span is None else f" (line {record.span.line})"
            where = record.label.partition(" #")[0] + line
        return (
            f"sample {self.large.sample} of {where} is {self.large.times:.3g} times as large as "
            "the samples' median"
        )

    def entries(self) -> list[int]:
        """Return the places in the record of the tensors of the batch."""
        pairs = [self.recorded._ids.get(id(tensor)) for tensor in self.batch]
        return [
            pair[1]
            for tensor, pair in zip(self.batch, pairs)
            if pair is not None and pair[0]() is tensor
        ]

    def samples(self) -> BadSamples | None:
        """Return the bad samples of the first bad tensor, when the recording has ended; None if
        that is not known, or all are bad.
        """
        from gradtrace.analysis.facts import Facts
        from gradtrace.analysis.lasting import lasting
        from gradtrace.analysis.rows import is_brought, rows_of

        trace = self.recorded.trace()
        if self.first is not None:
            pair = self.recorded._ids.get(id(self.first))
            is_known = pair is not None and pair[0]() is self.first
            self.bad_samples = [BadSamples(pair[1], bad_rows(self.first))] if is_known else []  # type: ignore[index]
        facts = Facts(trace)
        rows = rows_of(facts, self.entries()) if self.bad_samples else set()
        accused = lasting(trace) & rows if self.bad_samples else ()
        bad = next(
            (candidate for candidate in self.bad_samples if candidate.entry in accused), None
        )
        if bad is None or len(bad.samples) == trace.tensors[bad.entry].shape[0]:
            return None
        return None if is_brought(facts, bad.entry, rows) else bad


def is_candidate(tensor: Any) -> bool:
    """Whether the samples of a tensor can be looked at, and are not those of a small one, which is
    kept whole.
    """
    if not tensor.is_floating_point() or tensor.numel() <= SMALL:
        return False
    return type(tensor) is torch.Tensor and tensor.layout is torch.strided and not tensor.is_meta


def has_rows(tensor: Any) -> bool:
    """Whether the sizes of a tensor's samples can be compared."""
    is_plain = type(tensor) is torch.Tensor and tensor.layout is torch.strided
    is_number = is_plain and tensor.is_floating_point() and not tensor.is_meta
    return is_number and len(tensor) >= FEWEST and tensor.numel() > 0


def largest_row(tensor: Any) -> tuple[int, float]:
    """Return the number of the largest sample, and its norm over the median of all samples' norms;
    0.0 if that is not finite.
    """
    norms = tensor.detach().reshape(len(tensor), -1).float().norm(dim=1)
    largest = int(norms.argmax())
    times = float(norms[largest] / norms.median())
    return largest, times if math.isfinite(times) else 0.0


def bad_rows(tensor: Any) -> list[int]:
    """Return the numbers of the samples that have NaN, or, if none has, of those that are not
    finite; it takes memory for CHUNK elements at once.
    """
    if bool(tensor.sum().isfinite()):
        return []
    parts = tensor.split(max(1, CHUNK * len(tensor) // tensor.numel()))
    for is_bad in (torch.isnan, lambda part: ~torch.isfinite(part)):
        bad = torch.cat([is_bad(part.reshape(len(part), -1)).any(1) for part in parts])
        if bool(bad.any()):
            return torch.nonzero(bad).flatten().tolist()
    return []
