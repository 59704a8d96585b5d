"""The samples of a batch that are not finite, of tensors of which a record keeps only statistics."""

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
    """Looks at the results of functions in a recording, of those that are computed from the batch and have its size,
    until the first that has NaN. Of infinities only the end of the step shows whether they are an error.
    """

    def __init__(self, recorded: record, batch: Any) -> None:
        super().__init__()
        self.recorded = recorded
        self.batch = [one for one in flat(batch) if one.dim()]
        self.sizes = {one.shape[0] for one in self.batch}
        self.derived = {id(one): weakref.ref(one) for one in self.batch}
        self.first: Any = None  # the tensor of the batch that is not finite
        self.found: list[BadSamples] = []
        self.is_done = False

    def __enter__(self) -> SampleWatch:
        with private.unseen(), torch.no_grad():
            self.first = next((one for one in self.batch if is_candidate(one) and bool(one.isnan().any())), None)
        self.is_done = self.first is not None
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if not self.is_done and not private.in_transform():
            with private.unseen(), torch.no_grad():
                self.look((args, kwargs), result)
        return result

    def look(self, given: Any, result: Any) -> None:
        if not any(self.is_derived(one) for one in flat(given)):
            return
        for one in flat(result):
            self.derived[id(one)] = weakref.ref(one)
            if not one.dim() or one.shape[0] not in self.sizes or not is_candidate(one):
                continue
            rows = bad_rows(one)
            if rows:
                self.note(one, rows)
                self.is_done = len(self.found) == MOST or bool(one.isnan().any())
                if self.is_done:
                    return

    def is_derived(self, tensor: Any) -> bool:
        known = self.derived.get(id(tensor))
        return known is not None and known() is tensor

    def note(self, tensor: Any, rows: list[int]) -> None:
        recorder = self.recorded._recorder
        known = None if recorder is None else recorder.known.get(id(tensor))
        if known is not None and known.ref() is tensor:
            self.found.append(BadSamples(known.last.id, rows))

    def entries(self) -> list[int]:
        """Return the places in the record of the tensors of the batch."""
        known = [self.recorded._ids.get(id(one)) for one in self.batch]
        return [found[1] for one, found in zip(self.batch, known) if found is not None and found[0]() is one]

    def samples(self) -> BadSamples | None:
        """Return the bad samples of the first bad tensor, when the recording has ended; None if that is not known, or
        all are bad.
        """
        from gradtrace.analysis.facts import Facts
        from gradtrace.analysis.lasting import lasting
        from gradtrace.analysis.rows import is_brought, rows_of

        trace = self.recorded.trace()
        if self.first is not None:
            known = self.recorded._ids.get(id(self.first))
            is_known = known is not None and known[0]() is self.first
            self.found = [BadSamples(known[1], bad_rows(self.first))] if is_known else []  # type: ignore[index]
        facts = Facts(trace)
        rows = rows_of(facts, self.entries()) if self.found else set()
        accused = lasting(trace) & rows if self.found else ()
        bad = next((one for one in self.found if one.entry in accused), None)
        if bad is None or len(bad.samples) == trace.tensors[bad.entry].shape[0]:
            return None
        return None if is_brought(facts, bad.entry, rows) else bad


def is_candidate(tensor: Any) -> bool:
    """Whether the samples of a tensor can be looked at, and are not those of a small one, which is kept whole."""
    if not tensor.is_floating_point() or tensor.numel() <= SMALL:
        return False
    return type(tensor) is torch.Tensor and tensor.layout is torch.strided and not tensor.is_meta


def bad_rows(tensor: Any) -> list[int]:
    """Return the numbers of the samples that have NaN, or, if none has, of those that are not finite; it takes memory
    for CHUNK elements at once.
    """
    if bool(tensor.sum().isfinite()):
        return []
    parts = tensor.split(max(1, CHUNK * len(tensor) // tensor.numel()))
    for is_bad in (torch.isnan, lambda one: ~torch.isfinite(one)):
        bad = torch.cat([is_bad(one.reshape(len(one), -1)).any(1) for one in parts])
        if bool(bad.any()):
            return torch.nonzero(bad).flatten().tolist()
    return []
