"""A training loop in numbers: its loss, its gradients and its updates, step by step, and its first
bad value.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from gradtrace.analysis.causes import sums
from gradtrace.analysis.facts import Facts, loss_of
from gradtrace.analysis.lasting import lasting
from gradtrace.analysis.spelling import with_counters
from gradtrace.analysis.stats import Stats, stats
from gradtrace.analysis.updates import update_of
from gradtrace.trace.record import Span, TensorRecord, Trace, TrainingStep, Value
from gradtrace.trace.window import SUFFIX, step_window


class ParameterStep(NamedTuple):
    """A parameter in one step: the norm of its gradient, and the norm of its update relative to the
    parameter before.
    """

    name: str
    grad_norm: float | None
    update: float | None


class BadValue(NamedTuple):
    """The first value of a step that is not finite: a parameter before the step, else a result in
    forward, else a gradient.
    """

    where: str  # "forward", "backward", "parameter"
    label: str
    op: str
    what: str  # "NaN" or "Inf"
    span: Span | None


class StepRow(NamedTuple):
    number: int
    loss: float | None  # None: the passes began at no single number
    # of all parameters together; of those that optimisers hold, if they hold any of the step
    grad_norm: float | None
    update: float | None  # the largest of the parameters'
    parameters: tuple[ParameterStep, ...]
    bad: BadValue | None


class Training(NamedTuple):
    """The steps of a training loop. `first_inf` and `first_nan` are the first steps with such a
    loss; `details` are about `step`, which the text calls `name`.
    """

    rows: tuple[StepRow, ...]
    verdict: str
    diverges: bool
    first_inf: int | None
    first_nan: int | None
    step: int
    name: str
    details: Stats


def training(trace: Trace) -> Training:
    """Return the training loop of a trace. The details are those of the first step with a bad
    value, else of the last.
    """
    versions: dict[int, list[TensorRecord]] = {}
    for t in trace.tensors:
        versions.setdefault(t.first, []).append(t)
    grads = gradients(trace)
    held = {trace.tensors[i].first for optimiser in trace.optimisers for i in optimiser.tensors}
    bad = lasting(trace)
    rows = tuple(row(trace, step, versions, grads, held, bad) for step in trace.training)
    first_inf = next((r.number for r in rows if r.loss is not None and math.isinf(r.loss)), None)
    first_nan = next((r.number for r in rows if r.loss is not None and math.isnan(r.loss)), None)
    state, verdict = judged(rows, first_inf, first_nan)
    clip = sums.clipped(Facts(trace)) if state == "flat" else None
    verdict += f"; {clip.because}" if clip is not None else ""
    chosen = next((r.number for r in rows if r.bad is not None), rows[-1].number)
    details = stats(step_window(trace, chosen), trace)
    verdict, name = with_counters(trace, [verdict, f"step {chosen}"])
    return Training(rows, verdict, state == "diverges", first_inf, first_nan, chosen, name, details)


def gradients(trace: Trace) -> dict[tuple[int, int], Value]:
    """Return the gradient after each pass, by pass and leaf (its first version)."""
    visits = ((trace.functions[step.function].variable, step) for step in trace.steps)
    return {
        (step.number, trace.tensors[leaf].first): step.grad_after
        for leaf, step in visits
        if leaf is not None and step.grad_after is not None
    }


def row(
    trace: Trace,
    step: TrainingStep,
    versions: dict[int, list[TensorRecord]],
    grads: dict[tuple[int, int], Value],
    held: set[int],
    bad: frozenset[int],
) -> StepRow:
    parameters = []
    norms: list[float] = []
    read = leaves_read(trace, step)
    trained = held.intersection(t.first for t in read) or {t.first for t in read}
    for t in read:
        left = [grads[n, t.first] for n in range(*step.passes) if (n, t.first) in grads]
        grad = left[-1] if left else t.grad
        norm = None if grad is None or not grad.is_measured else grad.norm
        update = update_of(t, versions[t.first])
        if norm is None and update is None and not versions[t.first][-1].name:
            continue  # a tensor of one step alone, which nothing trains
        norms += [norm] if norm is not None and t.first in trained else []
        parameters.append(ParameterStep(named(t, versions), norm, update))
    updates = [p.update for p in parameters if p.update is not None]
    total = math.hypot(*norms) if norms else None
    return StepRow(
        step.number,
        loss_of(trace, step),
        total,
        max(updates, key=lambda x: (math.isnan(x), x)) if updates else None,
        tuple(parameters),
        first_bad(trace, step, read, parameters, versions, bad),
    )


def leaves_read(trace: Trace, step: TrainingStep) -> list[TensorRecord]:
    """Return the leaves that the step's operations read, each in the first version that they read.
    What runs without gradients is an initialisation, which may clear a row of a parameter, or an
    evaluation.
    """
    leaves: dict[int, TensorRecord] = {}
    for operation in trace.operations[slice(*step.operations)]:
        if not operation.grad_enabled:
            continue
        # in place: an initialisation, not a use
        written = {trace.tensors[i].first for i in operation.outputs}
        for t in (trace.tensors[i] for i in operation.tensors):
            if t.is_leaf and t.requires_grad and t.first not in written:
                leaves.setdefault(t.first, t)
    return list(leaves.values())


def named(t: TensorRecord, versions: dict[int, list[TensorRecord]]) -> str:
    last = versions[t.first][-1]
    return last.name or last.label


def first_bad(
    trace: Trace,
    step: TrainingStep,
    leaves: list[TensorRecord],
    parameters: list[ParameterStep],
    versions: dict[int, list[TensorRecord]],
    bad: frozenset[int],
) -> BadValue | None:
    """Return the first value of a step that is not finite: in parameters before the step, then
    forward, then gradients.
    """
    for t in leaves:
        if t.value is not None and not t.value.all_finite:
            return BadValue("parameter", named(t, versions), "", kind(t.value), None)
    for operation in trace.operations[slice(*step.operations)]:
        for out in operation.outputs:
            value = trace.tensors[out].value
            if value is not None and not value.all_finite and out in bad:
                label = (
                    "the loss" if out in step.roots else SUFFIX.sub("", trace.tensors[out].label)
                )
                return BadValue("forward", label, operation.name, kind(value), operation.span)
    for p in parameters:
        if p.grad_norm is not None and not math.isfinite(p.grad_norm):
            return BadValue(
                "backward", f"{p.name}.grad", "", "NaN" if math.isnan(p.grad_norm) else "Inf", None
            )
    return None


def kind(value: Value) -> str:
    return "NaN" if value.has_nan else "Inf"


def judged(
    rows: tuple[StepRow, ...], first_inf: int | None, first_nan: int | None
) -> tuple[str, str]:
    """Return whether the loss "diverges", "falls" or is "flat" ("" if it is not known), and a
    sentence that says so.
    """
    losses = [(r.number, r.loss) for r in rows if r.loss is not None]
    finite = [(n, x) for n, x in losses if math.isfinite(x)]
    parts = [
        f"{symptom} first in step {n}"
        for symptom, n in (("inf", first_inf), ("NaN", first_nan))
        if n is not None
    ]
    if parts:
        first_bad = f"the loss is {' and '.join(parts)}"
        if len(finite) > 1 and finite[-1][1] > 10 * abs(finite[0][1]):
            grown = f"after it grew from {finite[0][1]:.3g} to {finite[-1][1]:.3g}"
            return "diverges", f"diverging: {first_bad}, {grown}"
        return "diverges", first_bad
    if len(finite) < 2:
        return "", ""
    first = finite[0][1]
    last = finite[-1][1]
    best_step, best = min(finite, key=lambda pair: pair[1])
    is_highest = last > 0.9 * max(x for _, x in finite)
    if is_highest and (last > 10 * abs(first) or (last > first and last > 10 * abs(best))):
        return (
            "diverges",
            f"diverging: the loss grows from {best:.3g} in step {best_step} to {last:.3g}",
        )
    if last < first:
        return "falls", f"the loss falls from {first:.4g} to {last:.4g}"
    return (
        "flat",
        f"the loss does not fall: {first:.4g} in step {finite[0][0]}, {last:.4g} in step "
        f"{finite[-1][0]}",
    )
