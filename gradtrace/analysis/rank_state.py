"""Explain how ranks differ: in their buffers, in random numbers that should differ, in records that
are missing, and in the first operation that only one of them has.
"""

from __future__ import annotations

import itertools

from gradtrace.analysis.cause import Cause, Evidence
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.words import folded, named_ranks
from gradtrace.annotations import Any, Iterator, Mapping
from gradtrace.engine.data.lazy import np
from gradtrace.trace.record import Failure, Operation, TensorRecord, Trace

PEERS = (
    "Connection closed by peer",
    "Connection reset by peer",
    "Socket",
    "Broken pipe",
    "Timed out",
    "timed out",
)
LEAST = 16  # two ranks do not draw masks of this many elements alike by chance


def buffers_apart(ranks: Mapping[int, Facts]) -> Iterator[Cause]:
    """Find buffers that are not the same on all ranks at the end, of models that do not send
    them.
    """
    held = {rank: buffers(facts) for rank, facts in ranks.items()}
    first, *others = held.values()
    names = [
        name
        for name, buffer in first.items()
        if any(differs(buffer, theirs.get(name)) for theirs in others)
    ]
    if not names:
        return
    low = min(ranks)
    high = max(ranks)
    facts = ranks[low]
    first_version = first[names[0]].first
    readers = [
        operation
        for operation in facts.operations
        if any(facts.tensors[i].first == first_version for i in operation.tensors)
    ]
    used = tuple(facts.at(f"{names[0]} is used here", reader.span) for reader in readers[:1])
    apart = tuple(parting(facts, ranks[high], low, high)) if high > low else ()
    yield Cause(
        "buffers apart",
        "each rank updates its own, and no rank sends them",
        (*apart, *used),
        (
            "nn.SyncBatchNorm.convert_sync_batchnorm(model), for the statistics of BatchNorm",
            "or leave buffers synchronised in DistributedDataParallel, as by default; rank 0's are "
            "sent then",
        ),
        symptom=f"{folded(names, 'buffers')} differ between {named_ranks(list(ranks))} at the end",
    )


def differs(a: TensorRecord, b: TensorRecord | None) -> bool:
    """Whether the contents of both tensors are known, and are not the same."""
    if b is None or a.value is None or b.value is None:
        return False
    return a.value.is_measured and b.value.is_measured and a.value != b.value


def buffers(facts: Facts) -> dict[str, TensorRecord]:
    """Return the buffers that a model does not send to the ranks, by name."""
    return {
        buffer.name: facts.tensors[buffer.tensor]
        for buffer in facts.trace.buffers
        if not buffer.is_sent
    }


# ---- random numbers


def same_draws(ranks: Mapping[int, Facts]) -> Iterator[Cause]:
    """Find elements that a dropout took on every rank alike, of inputs that differ."""
    if len(ranks) < 2:
        return
    drawn = {rank: list(masks(facts)) for rank, facts in ranks.items()}
    first, *others = drawn.values()
    if not first or any(len(theirs) != len(first) for theirs in others):
        return
    if not all(alike(a, b) for theirs in others for a, b in zip(first, theirs, strict=True)):
        return
    facts = ranks[min(ranks)]
    operation = first[0][0]
    yield Cause(
        "same random numbers",
        "their generators have the same seed, so the noise of the ranks does not average out",
        (
            facts.at(
                f"elements of {facts.labels(operation.outputs)} become 0, the same on each rank",
                operation.span,
            ),
        ),
        ("torch.manual_seed(seed + rank), after the model is made",),
        symptom=f"{named_ranks(list(ranks)).capitalize()} drew the same random "
        f"numbers{facts.at_line(operation.span)}",
    )


def masks(facts: Facts) -> Iterator[tuple[Operation, Any, Any]]:
    """Yield the operations that set some elements to 0 and multiply the others by one factor above
    1, as dropout does, with what they read and what they gave.
    """
    for operation in facts.operations:
        if len(operation.tensors) != 1 or len(operation.outputs) != 1:
            continue
        a = facts.tensors[operation.tensors[0]].value
        b = facts.tensors[operation.outputs[0]].value
        if (
            a is None
            or b is None
            or a.elements is None
            or b.elements is None
            or a.shape != b.shape
            or not a.is_float
        ):
            continue
        x = np.asarray(a.elements, np.float64)
        y = np.asarray(b.elements, np.float64)
        there = (x != 0) & np.isfinite(x)
        kept = y[there] != 0
        if there.sum() < LEAST or kept.all() or not kept.any():
            continue
        factors = y[there][kept] / x[there][kept]
        if factors.min() > 1 and np.ptp(factors) <= 1e-2 * factors.min():
            yield operation, x, y


def alike(a: tuple[Operation, Any, Any], b: tuple[Operation, Any, Any]) -> bool:
    """Whether two ranks kept the same elements of inputs that differ."""
    if a[1].shape != b[1].shape or np.array_equal(a[1], b[1]):
        return False
    both = (a[1] != 0) & (b[1] != 0)
    return bool(both.sum() >= LEAST // 2 and np.array_equal(a[2][both] != 0, b[2][both] != 0))


# ---- ranks that left no record


def follows(trace: Trace) -> bool:
    """Whether a program failed because another process had ended."""
    return trace.failure is not None and any(words in trace.failure.message for words in PEERS)


def failed_itself(trace: Trace) -> bool:
    """Whether a program failed, and not because another process had ended."""
    return trace.failure is not None and not follows(trace)


def lost_peer(facts: Facts, failure: Failure) -> Cause | None:
    """Explain a failure of one rank that another one has caused, from its record alone."""
    rank = facts.trace.rank
    if rank is None:
        return None
    late = "timed out" in failure.message.lower()
    peer = f"rank {1 - rank}" if facts.trace.processes == 2 else "another process"
    waited = (
        f"{peer} did not answer in time"
        if late
        else f"{peer} closed the connection, as it does when it ends"
    )
    return Cause(
        "lost peer",
        waited,
        (),
        (
            "gradtrace why step.rank*.gt, with the records of all ranks: it names the one that "
            "failed first",
            "look for the first process that failed in torchrun's output",
        ),
        symptom=f"Rank {rank} stopped{facts.at_line(failure.span)}",
    )


def absent(ranks: Mapping[int, Facts]) -> Iterator[Cause]:
    """Find ranks that left no record, and say where the others were when they ended."""
    processes = max([max(ranks) + 1, *(facts.trace.processes for facts in ranks.values())])
    missing = [rank for rank in range(processes) if rank not in ranks]
    if not missing:
        return
    stopped = {rank: facts for rank, facts in ranks.items() if follows(facts.trace)}
    sentence = f"{named_ranks(missing).capitalize()} left no record"
    several = len(missing) > 1
    not_given = "or their records were not given" if several else "or its record was not given"
    if any(failed_itself(facts.trace) for facts in ranks.values()):
        yield Cause(
            "rank without record",
            f"torchrun ends all when one fails, {not_given}",
            symptom=sentence,
        )
        return
    if not stopped:
        ended = "their processes ended before they" if several else "its process ended before it"
        yield Cause(
            "rank without record", f"{ended} could write one, {not_given}", symptom=sentence
        )
        return
    passed = [len(facts.trace.training or facts.trace.passes) for facts in stopped.values()]
    facts = next(iter(stopped.values()))
    after = (
        f" after {'step' if facts.trace.training else 'pass'} {max(passed)}" if max(passed) else ""
    )
    failure = facts.trace.failure
    here = (
        ()
        if failure is None
        else (facts.at(f"{named_ranks(list(stopped))} lost the connection here", failure.span),)
    )
    advice = (
        "look for the end of that process in torchrun's output: a signal (9: killed, often for "
        "want of memory)",
    )
    died = "they died or were killed" if several else "it died or was killed"
    yield Cause(
        "rank without record", f"{died}, {not_given}", here, advice, symptom=sentence + after
    )


# ---- operations


def parting(a: Facts, b: Facts, rank: int, other: int) -> Iterator[Evidence]:
    """Yield the first operation of each of two ranks that the other one does not have at that
    place.
    """
    for ours, theirs in itertools.zip_longest(a.operations, b.operations):
        if ours is None or theirs is None or signature(ours) != signature(theirs):
            if ours is not None:
                yield a.at(f"rank {rank} goes on here ({ours.name})", ours.span)
            if theirs is not None:
                yield b.at(f"rank {other} goes on here ({theirs.name})", theirs.span)
            return


def signature(operation: Operation) -> tuple[Any, ...]:
    """Return what is the same of an operation on all ranks: its name and its line."""
    span = operation.span
    return operation.name, None if span is None else (span.file, span.line)
