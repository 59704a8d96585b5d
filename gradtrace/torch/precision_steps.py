"""What rounding left of an optimiser's update, and whether a GradScaler's scale let the gradients
be finite.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

from gradtrace.torch import private
from gradtrace.torch.contents import dtype_name
from gradtrace.torch.memory import PLAIN
from gradtrace.torch.precision_errors import BLOCK
from gradtrace.torch.precision_kinds import overwrites
from gradtrace.torch.precision_shadows import Shadow, is_number, wide
from gradtrace.trace import precision as record

if TYPE_CHECKING:
    from gradtrace.torch.precision import PrecisionMode
    from gradtrace.torch.precision_runs import WideCall


class Steps:
    """The updates and scales of a recording. While an optimiser is at work, shadows are of this
    step alone: it begins with parameters and gradients as they are.
    """

    def __init__(self, precision: PrecisionMode) -> None:
        self.precision = precision
        self.updates: list[record.UpdateLoss] = []
        # and the calls that made what is not finite
        self.scales: list[tuple[record.LossScale, list[Any]]] = []
        # parameters and their values, during a step
        self.before: list[tuple[Any, Any]] | None = None
        self.others: dict[int, Shadow] = {}
        self.passes = -1  # how many there were at the scaler's last step
        self.seen = self.until = 0  # rows before the passes that it was for, and after them

    def begin(self, optimizer: Any) -> None:
        """Note the parameters before a step."""
        held = [
            parameter
            for group in optimizer.param_groups
            for parameter in group["params"]
            if parameter.grad is not None
        ]
        self.before = [
            (parameter, parameter.detach().clone())
            for parameter in held
            if type(parameter) in PLAIN and is_number(parameter)
        ]
        shadows = self.precision.runs.shadows
        self.others = shadows.held
        shadows.held = {}
        self.precision.runs.stepping = True
        self.precision.runs.failed = False

    def end(self) -> None:
        """Compare the parameters after a step with the step in float64, and let their shadows begin
        again.
        """
        before = self.before
        self.before = None
        if before is None:
            return
        shadows = self.precision.runs.shadows
        rec = self.precision.rec
        self.precision.runs.stepping = False
        wanted = shadows.held
        shadows.held = self.others
        for storage in wanted:
            shadows.forget(storage)
        if self.precision.runs.failed:
            rec.problem("the precision of an optimiser's step, which has no float64 kernel")
            return
        for parameter, old in before:
            shadow = wanted.get(private.storage_of(parameter) or 0)
            if shadow is not None:
                self.compare(parameter, old, shadow.view(parameter))

    def compare(self, parameter: Any, old: Any, wanted: Any, running: int = 0) -> None:
        """Compare a parameter, whose value was `old`, with what it should be; `running` calls are
        not noted yet.
        """
        rec = self.precision.rec
        identity = rec.find(parameter)
        if identity is not None:
            self.updates.append(
                loss(identity.last.id, len(rec.calls) + running, parameter, old, wanted)
            )

    def written(self, job: WideCall, before: list[tuple[Any, Any]]) -> None:
        """Compare the parameters that a program's own update has changed, and let their shadows
        begin again.

        Before the first backward pass it initializes them.
        """
        shadows = self.precision.runs.shadows
        track = 0 if job.frame is None else len(job.frame.tracks)
        for parameter, old in before:
            is_update = bool(self.precision.rec.passes) and not overwrites(job.kind, parameter)
            if is_update and private.storage_of(parameter) in shadows.held:
                self.compare(
                    parameter,
                    old,
                    shadows.value(job.frame, parameter, track),
                    job.frame is not None,
                )
            shadows.take_actual(parameter)

    def scaled(self, scale: float, skipped: bool, optimizer: Any) -> None:
        """Note a step of a GradScaler, with the scale that its gradients would have fitted."""
        rec = self.precision.rec
        if len(rec.passes) != self.passes:  # several optimisers may share the passes
            self.passes = len(rec.passes)
            self.seen = self.until
            self.until = len(self.precision.rows)
        rows = [row for row in self.precision.rows[self.seen :] if row.passed is not None]
        rooms = [torch.finfo(row.dtype).max / row.errors.reach for row in rows if row.errors.reach]
        fits = record.fitting_scale(scale * min(rooms)) if rooms else 0.0
        held = [
            parameter
            for group in optimizer.param_groups
            for parameter in group["params"]
            if parameter.grad is not None
        ]
        bad = [
            parameter
            for parameter in held
            if skipped and not bool(torch.isfinite(parameter.grad).all())
        ]
        first = dict.fromkeys(
            row.call for row in rows if row.errors.overflowed and row.call is not None
        )
        shadows = self.precision.runs.shadows
        if bad and not (
            first
            and all(
                bool(torch.isfinite(shadows.value(None, parameter.grad, 0)).all())
                for parameter in bad
            )
        ):
            fits = 0.0  # no scale helps
        tensors = tuple(rec.entry(parameter).id for parameter in bad)
        self.scales.append(
            (record.LossScale(len(rec.calls), scale, skipped, fits, tensors), [*first])
        )

    def losses(self) -> tuple[record.LossScale, ...]:
        return tuple(
            scale._replace(operations=tuple(call.id for call in calls if call.id >= 0))
            for scale, calls in self.scales
        )


def loss(tensor: int, after: int, parameter: Any, old: Any, exact: Any) -> record.UpdateLoss:
    """Return what rounding left of an update of a parameter from the value `old`; `exact` is its
    result in float64.
    """
    wanted = 0
    lost = 0
    broken = 0
    largest = 0.0
    norm = 0.0
    error = 0.0
    for new, before, target in zip(*map(blocks, (parameter.detach(), old, exact)), strict=True):
        new = wide(new)
        before = wide(before)
        asked = target - before
        change = new - before
        wanted += int(torch.count_nonzero(asked))
        is_lost = (change == 0).logical_and_(asked != 0) if not float(change.abs().amin()) else None
        if is_lost is not None and (count := int(torch.count_nonzero(is_lost))):
            lost += count
            largest = max(largest, float(asked.abs()[is_lost].max()))
        norm = math.hypot(norm, length(asked))
        error = math.hypot(error, length(change.sub_(asked)))
        if not math.isfinite(error):
            broken += int((torch.isfinite(asked) & ~torch.isfinite(new)).sum())
    return record.UpdateLoss(
        tensor,
        after,
        dtype_name(parameter.dtype),
        parameter.numel(),
        wanted,
        lost,
        norm,
        error / norm if norm else 0.0,
        largest,
        broken,
    )


def blocks(tensor: Any) -> Any:
    return tensor.reshape(-1).split(BLOCK)


def length(tensor: Any) -> float:
    return float(torch.linalg.vector_norm(tensor))
