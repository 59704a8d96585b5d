"""The samples of a batch that are not finite, of tensors of which a record keeps only
statistics.
"""

from __future__ import annotations

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


class BadSamples(NamedTuple):
    entry: int  # the tensor's place in the record
    samples: list[int]


class SampleWatch(TorchFunctionMode):
    """Looks at the results of functions in a recording, of those that are computed from the batch
    and have its size, until the first that has NaN. Of infinities only the end of the step shows
    whether they are an error.
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
            if not tensor.dim() or tensor.shape[0] not in self.sizes or not is_candidate(tensor):
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
        recorder = self.recorded._recorder
        identity = None if recorder is None else recorder.find(tensor)
        if identity is not None:
            self.bad_samples.append(BadSamples(identity.last.id, rows))

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
