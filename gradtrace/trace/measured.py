"""Convert the notes of a MeasuringWatch to records: live tensors and calls to ids of the trace."""

from __future__ import annotations

from bisect import bisect_left

from gradtrace.annotations import TYPE_CHECKING, Any, Iterator, Sequence
from gradtrace.trace.precision import (
    ErrorSource,
    LossScale,
    Measured,
    Precision,
    Unmeasured,
    UpdateLoss,
    fitting_scale,
)

if TYPE_CHECKING:
    from gradtrace.trace.engine_builder import EngineBuilder
    from gradtrace.trace.events import Call
    from gradtrace.trace.measuring import MeasuredRow, MeasuringWatch


def precision(watch: MeasuringWatch, builder: EngineBuilder) -> Precision:
    """Return the measured errors of those operations and tensors that the trace has."""
    calls = builder.calls
    read = read_versions(calls)
    ids = {index: i for i, index in enumerate(builder.indices)}
    return Precision(
        tuple(
            record
            for row in watch.rows
            if row.call in ids
            for record in record_of(row, calls[ids[row.call]], ids[row.call])
        ),
        tuple(updates(watch, builder, read)),
        tuple(scales(watch, builder, read, ids)),
        tuple(
            Unmeasured(ids[call], reason)
            for call, reason in sorted(watch.refused.items())
            if call in ids
        ),
    )


def record_of(row: MeasuredRow, call: Call, operation: int) -> Iterator[Measured]:
    """Yield the record of a row, if the trace has its tensor."""
    tensor = made_by(call, row.tensor) if row.passed is None else read_by(call, row.tensor)
    if tensor is None:
        return
    sources = []
    for source, of_gradient, share in row.sources:
        version = made_by(call, source) if of_gradient else read_by(call, source)
        if version is None and not of_gradient:
            version = made_by(call, source)  # a saved result
        if version is not None:
            sources.append(ErrorSource(version, of_gradient, share))
    yield Measured(
        operation=None if row.is_sum else operation,
        passed=row.passed,
        tensor=tensor,
        sources=tuple(sources),
        **row.fields,
    )


def made_by(call: Call, tensor: Any) -> int | None:
    return next(
        (entry.id for entry in call.outputs if entry.tensor is tensor and entry.id >= 0), None
    )


def read_by(call: Call, tensor: Any) -> int | None:
    entry = call.inputs.get(id(tensor))
    return None if entry is None or entry.id < 0 else entry.id


def updates(watch: MeasuringWatch, builder: EngineBuilder, read: Any) -> Iterator[UpdateLoss]:
    """Yield the records of the updates of parameters: the version before is the one that an
    operation read last.
    """
    for at, tensor, fields in watch.updates.entries:
        version = version_at(read, tensor, at)
        if version is not None:
            yield UpdateLoss(tensor=version, after=builder.before(at), **fields)


def read_versions(calls: Sequence[Call]) -> dict[int, list[tuple[int, int]]]:
    """Return by id(tensor) the calls that read it, each with the version that it read, in their
    order.
    """
    read: dict[int, list[tuple[int, int]]] = {}
    for call in calls:
        for key, entry in call.inputs.items():
            if entry.id >= 0:
                read.setdefault(key, []).append((call.index, entry.id))
    return {key: sorted(versions) for key, versions in read.items()}


def version_at(read: dict[int, list[tuple[int, int]]], tensor: Any, at: int) -> int | None:
    """Return the version of a tensor that a call read last before `at` calls had run."""
    versions = read.get(id(tensor), [])
    place = bisect_left(versions, (at, -1))
    return versions[place - 1][1] if place else None


def scales(
    watch: MeasuringWatch, builder: EngineBuilder, read: Any, ids: dict[int, int]
) -> Iterator[LossScale]:
    """Yield the records of the steps of a GradScaler; the rows since the step before are those of
    its passes.
    """
    passes = -1
    begin = 0
    end = 0
    for step in watch.scales:
        if step.passes != passes:  # several optimisers may share the passes
            passes = step.passes
            begin = end
            end = step.rows
        rows = [row for row in watch.rows[begin : step.rows] if row.passed is not None]
        first = dict.fromkeys(
            ids[row.call] for row in rows if row.fields.get("overflowed") and row.call in ids
        )
        room = min((row.room for row in rows if row.room), default=0.0)
        helps = not step.bad or (first and step.exact)
        fits = fitting_scale(step.scale * room) if helps else 0.0
        bad = [
            version
            for parameter in step.bad
            if (version := version_at(read, parameter, step.at)) is not None
        ]
        yield LossScale(
            builder.before(step.at), step.scale, step.skipped, fits, tuple(bad), tuple(first)
        )
