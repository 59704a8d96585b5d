"""What a measured run says about its precision: the errors of its results and where they come
from.
"""

from __future__ import annotations

from math import isfinite, log10

from gradtrace.analysis.cause import Cause, Evidence
from gradtrace.analysis.places import Text
from gradtrace.analysis.precision.dtypes import DtypeUse, dtypes_used, largest_parts
from gradtrace.analysis.precision.flow import ROUNDING, Errors, Origin
from gradtrace.analysis.precision.kinds import facts_of, kind_of
from gradtrace.analysis.precision.remedies import rewrite
from gradtrace.analysis.precision.updates import lost_updates, skipped_steps
from gradtrace.analysis.terms import plain
from gradtrace.analysis.words import at_line, folded, on_line
from gradtrace.annotations import Any, NamedTuple
from gradtrace.trace.precision import Precision
from gradtrace.trace.record import Operation, Trace

# decimal digits from which a target's loss is explained: a third of its dtype's, between these
LOST = (1.5, 3.0)
LEAST = 1.0  # digits that an operation must lose to be named, or half of what the target lost
TINY = 1e-300
WALKED = 40  # targets whose errors are followed, the worst ones


class Target(NamedTuple):
    """A value or a gradient whose error is explained."""

    tensor: int
    passed: int | None  # None: its value; else its gradient of this backward pass
    name: str
    dtype: str
    error: float  # relative, in units of its dtype's rounding
    digits: float  # correct decimal digits
    possible: float  # how many digits the dtype has
    norm: float = 0.0  # of the exact value
    is_vague: bool = False  # the wider type has no exact value to compare it with
    is_infinite: bool = False  # it has an inf or nan
    lost: float = 0.0  # digits beyond the rounding of the shortest dtype that it was computed in


class Loss(NamedTuple):
    """One operation that loses digits of a target. `cause` has its kind and its explanation in
    words.
    """

    cause: Cause
    operation: int | None
    passed: int | None
    tensor: int
    digits: float  # decimal digits that are lost there
    part: float  # of the target's error, what goes through this result: 0 to 1
    target: Target | None


class PrecisionAnswer(NamedTuple):
    """The answer. A clean run has no losses."""

    targets: tuple[Target, ...]
    losses: tuple[Loss, ...]
    notes: tuple[str, ...] = ()  # what was not measured, and other remarks
    is_partial: bool = False  # some operations were not measured
    dtypes: tuple[DtypeUse, ...] = ()  # of a run in more than one floating dtype
    # then: which operation in a short dtype adds most to the least precise results
    largest: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The answer in one sentence, if nothing was lost."""
        if not self.targets:
            if self.is_partial:
                return "Every result depends on an operation that was not measured."
            return "No floating-point result was measured."
        worst = max(self.targets, key=lambda t: t.possible - t.digits)
        begin = f"No {'measured ' * self.is_partial}operation loses"
        if worst.lost > LEAST:
            begin = f"{begin} many digits beyond rounding"
        elif self.dtypes and worst.possible - worst.digits > 1:
            begin = f"{begin} more than the rounding of {self.dtypes[0].dtype}"
        else:
            begin = f"{begin} precision"
        return (
            f"{begin}: {worst.name}, the least precise result, has {worst.digits:.1f} of the "
            f"{worst.possible:.1f} decimal digits of {worst.dtype}."
        )


def answer(trace: Trace, tensor: int | None = None) -> PrecisionAnswer:
    """Return the losses of precision in a measured run, the one that costs the most digits first.

    Without a tensor, those of the results that backward began at, of the outputs and of all leaves'
    gradients; else those of this tensor's value and gradients. Raises ValueError if the run was not
    measured.
    """
    if trace.precision is None:
        raise ValueError("the run was not measured: record it with precision")
    errors = Errors(trace)
    scale = (
        dict.fromkeys(rows_of(errors, tensor), 1.0)
        if tensor is not None
        else scaled(errors, target_rows(errors))
    )
    rows = sorted(
        scale, key=lambda i: -errors.relative(i) * scale[i] / ROUNDING[errors.rows[i].dtype]
    )
    targets: list[Target] = []
    places: dict[Any, tuple[Target, Origin]] = {}
    for i in rows[:WALKED]:
        weights = errors.weights(i)
        target = target_of(errors, i)._replace(lost=errors.lost(i, weights, scale[i]))
        targets.append(target)
        if target.lost < min(max(LOST[0], -log10(errors.unit(i, weights)) / 3), LOST[1]):
            continue
        for origin in errors.origins(i, weights):
            if origin.digits >= min(LEAST, target.lost / 2):
                place = errors.place(origin.rows[0])
                earlier = places.get(place)
                if earlier is None or earlier[1].digits < origin.digits:
                    places[place] = (target, origin)
    targets += [target_of(errors, i) for i in rows[WALKED:]]
    losses = [loss_of(errors, target, origin) for target, origin in places.values()]
    losses = sorted((*unlike(losses), *updates_of(errors)), key=lambda loss: -loss.digits)
    losses = [
        loss._replace(digits=min(loss.digits, loss.target.possible)) if loss.target else loss
        for loss in losses
    ]
    unknown = not_known(trace) - {target.tensor for target, _ in places.values()}
    targets = [goal for goal in targets if goal.passed is not None or goal.tensor not in unknown]
    partial = bool(trace.precision.unmeasured)
    notes = notes_of(trace.precision, trace)
    uses = dtypes_used(trace)
    largest = largest_parts(errors, rows[:WALKED]) if uses else ()
    return PrecisionAnswer(
        tuple(targets), (*step_skipped(trace), *losses), notes, partial, uses, largest
    )


# ---- targets


def target_rows(errors: Errors) -> list[int]:
    """Return the rows of the run's results and of the leaves' gradients, without those that are
    only rounding.

    A sum of many numbers may be 0 but for rounding by construction. A gradient that is so (that of
    a bias before a normalization) is as small as the rounding of the other gradients of its pass.
    """
    trace = errors.trace
    ends = [*trace.roots, *trace.outputs, *(root for pass_ in trace.passes for root in pass_.roots)]
    values = [i for tensor in dict.fromkeys(ends) if (i := errors.of_value(tensor)) is not None]
    gradients = [
        (passed, rows[-1])
        for (tensor, passed), rows in errors.gradients.items()
        if is_trained(trace, tensor)
    ]
    largest: dict[int, float] = {}
    for passed, i in gradients:
        largest[passed] = max(largest.get(passed, 0.0), errors.rows[i].norm)
    felt = [
        i
        for passed, i in gradients
        if errors.rows[i].norm > ROUNDING[errors.rows[i].dtype] * largest[passed]
    ]
    return [*(i for i in values if not errors.sums_to_zero(i)), *felt] or values


def scaled(errors: Errors, rows: list[int]) -> dict[int, float]:
    """Return by row how large the result is, as a part of the largest one at its place in the run.

    The loss and the gradients of a training that converges become as small as the rounding errors
    in them. That is not a loss of precision, so errors are compared with what the same results were
    in other steps.
    """
    largest: dict[Any, float] = {}
    for i in rows:
        key = target_key(errors, i)
        largest[key] = max(largest.get(key, 0.0), errors.rows[i].norm)
    return {
        i: (errors.rows[i].norm or TINY) / (largest[target_key(errors, i)] or TINY) for i in rows
    }


def target_key(errors: Errors, i: int) -> Any:
    row = errors.rows[i]
    return errors.place(i) if row.passed is None else errors.trace.tensors[row.tensor].first


def is_trained(trace: Trace, tensor: int) -> bool:
    return trace.tensors[tensor].is_leaf and trace.tensors[tensor].requires_grad


def rows_of(errors: Errors, tensor: int) -> list[int]:
    """Return the rows of one tensor's value and gradients, of all its versions."""
    first = errors.trace.tensors[tensor].first
    versions = {t.id for t in errors.trace.tensors if t.first == first} if first >= 0 else {tensor}
    value = errors.of_value(tensor)
    gradients = [rows[-1] for (leaf, _), rows in errors.gradients.items() if leaf in versions]
    return gradients if value is None else [value, *gradients]


def target_of(errors: Errors, i: int) -> Target:
    row = errors.rows[i]
    trace = errors.trace
    name = plain(trace.tensors[row.tensor].label)
    if row.passed is not None:
        name += (
            ".grad"
            if len(trace.passes) < 2
            else f".grad of backward pass {row.passed + trace.earlier_passes + 1}"
        )
    possible = -log10(ROUNDING[row.dtype])
    decimals = digits_of(errors, i)
    bad = not isfinite(row.error) and errors.is_infinite(i)
    return Target(
        row.tensor,
        row.passed,
        name,
        row.dtype,
        row.error,
        decimals,
        possible,
        row.norm,
        errors.is_vague(i),
        bad,
    )


def not_known(trace: Trace) -> set[int]:
    """Return the tensors that unmeasured operations made, and those that were computed from
    them.
    """
    refused = (
        {refusal.operation for refusal in trace.precision.unmeasured}
        if trace.precision is not None
        else set()
    )
    tensors: set[int] = set()
    for o in trace.operations:
        if o.id in refused or not tensors.isdisjoint(o.tensors):
            tensors.update(o.outputs)
    return tensors


def target_in(trace: Trace, like: Target) -> Target | None:
    """Return the target of another run of a changed program that is its result, or the gradient of
    the same name.
    """
    errors = Errors(trace)
    targets = [target_of(errors, i) for i in target_rows(errors)]
    if like.passed is None:
        values = [target for target in targets if target.passed is None]
        return (
            values[0]
            if len(values) == 1
            else next((target for target in values if target.name == like.name), None)
        )
    return next(
        (target for target in targets if (target.name, target.passed) == (like.name, like.passed)),
        None,
    )


def digits(trace: Trace) -> dict[int, tuple[float | None, float | None]]:
    """Return the correct decimal digits of each tensor's value and of its gradient in the last
    pass, by tensor.

    They are None for what was not measured, and for values that were computed from such a value;
    for all gradients if there is any.
    """
    errors = Errors(trace)
    gradients = {
        trace.tensors[tensor].first: rows[-1] for (tensor, _), rows in errors.gradients.items()
    }
    by_tensor: dict[int, tuple[float | None, float | None]] = {}
    unknown = not_known(trace)
    for t in trace.tensors:
        value = None if t.id in unknown else errors.of_value(t.id)
        gradient = None if unknown or t.grad is None else gradients.get(t.first)
        by_tensor[t.id] = tuple(
            None if i is None else digits_of(errors, i) for i in (value, gradient)
        )  # type: ignore[assignment]
    return by_tensor


def digits_of(errors: Errors, i: int) -> float:
    """Return the correct decimal digits of a row: those of its dtype at most, 0 at least."""
    error = errors.relative(i)
    return max(0.0, -log10(max(error, ROUNDING[errors.rows[i].dtype])))


# ---- losses


def loss_of(errors: Errors, target: Target, origin: Origin) -> Loss:
    emptied = errors.emptied(origin.rows[0])
    if emptied is not None:
        origin = origin._replace(rows=(emptied,))
    trace = errors.trace
    i = origin.rows[0]
    row = errors.rows[i]
    operation = errors.maker(row)
    if operation is None:  # the sum of a tensor's gradients: the last operation that sends one
        parts = [j for j, _ in errors.sources(i)] or [i]
        sender = errors.rows[max(parts)].operation
        span = None if sender is None else trace.operations[sender].span
    else:
        span = operation.span
    label = plain(trace.tensors[row.tensor].label)
    name = label if row.passed is None else f"the gradient of {label}"
    digits = f"{min(origin.digits, target.possible):.1f} decimal digits"
    kind = kind_of(errors, origin, name, digits)
    senders = [i] if row.operation is not None else [j for j, _ in errors.sources(i)]
    better = next(
        (
            new
            for j in senders
            if (new := rewrite(trace, errors.rows[j].operation or 0)) is not None
        ),
        None,
    )
    if kind.code == "saturation" and better is not None and "log1p" in better[0]:
        better = None  # its argument is rounded to -1
    advice = (
        kind.remedy if better is None else (better[1] or f"write it as {better[0]}", *kind.remedy)
    )
    sentence = (
        f"{target.name} has {target.digits:.1f} of {target.possible:.1f} decimal digits of "
        f"{target.dtype}"
    )
    if target.is_infinite and target.digits == 0.0:
        sentence = f"{target.name} is not finite"
    done = "" if operation is None else operation.name
    if done and row.passed is not None:
        done += " backward"
    source = Text(trace.source_text, trace.files).line(span)
    evidence = Evidence(
        f"{done}: {facts_of(errors, i)}" if done else facts_of(errors, i), span, source
    )
    cause = Cause(
        kind.code, on_line(span) + kind.clause, (evidence,), advice, sentence, target.name
    )
    return Loss(cause, row.operation, row.passed, row.tensor, origin.digits, origin.part, target)


def unlike(losses: list[Loss]) -> list[Loss]:
    """Return the losses that read differently: an expression may occur twice in a line, and lose
    the same.
    """
    shown: dict[Any, Loss] = {}
    for loss in losses:
        cause = loss.cause
        said = [
            (evidence.text, evidence.source, evidence.span and evidence.span.line)
            for evidence in cause.evidence
        ]
        shown.setdefault((cause.code, cause.sentence, str(said)), loss)
    return list(shown.values())


def step_skipped(trace: Trace) -> list[Loss]:
    """Return a loss for the steps that a GradScaler skipped, all in one; nothing of what they would
    change is left.
    """
    skipped = skipped_steps(trace)
    if skipped is None:
        return []
    digits = -log10(ROUNDING.get(trace.tensors[skipped.tensor].dtype, ROUNDING["float32"]))
    return [
        Loss(skipped.cause, skipped.operation, skipped.passed, skipped.tensor, digits, 1.0, None)
    ]


def updates_of(errors: Errors) -> list[Loss]:
    """Return a loss for the parameters whose updates were rounded away, all in one."""
    trace = errors.trace
    gradients = [
        errors.rows[i].tensor for i in target_rows(errors) if errors.rows[i].passed is not None
    ]
    lost = lost_updates(trace, {trace.tensors[tensor].first for tensor in gradients})
    if lost is None:
        return []
    cause, tensor = lost
    return [
        Loss(cause, None, None, tensor, -log10(ROUNDING[trace.tensors[tensor].dtype]), 1.0, None)
    ]


def float64_of(trace: Trace, operation: Operation) -> list[int]:
    """Return the results of an operation in float64."""
    return [tensor for tensor in operation.outputs if trace.tensors[tensor].dtype == "float64"]


def notes_of(precision: Precision, trace: Trace) -> tuple[str, ...]:
    """Return sentences about what was not measured, and where the shadow would have decided
    otherwise.
    """
    reasons: dict[str, list[str]] = {}
    for refusal in precision.unmeasured:
        reasons.setdefault(refusal.reason, []).append(trace.operations[refusal.operation].name)
    notes = [
        f"Not measured: {folded(list(dict.fromkeys(names)), 'operations')}: {why}."
        for why, names in reasons.items()
    ]
    measured = {row.tensor for row in precision.measured if row.passed is None}
    operations = [o for o in trace.operations if trace.engine and o.name != "detach"]
    if any(not measured.issuperset(float64_of(trace, o)) for o in operations):
        notes.append(
            "Results in float64 are not measured: they would have to be compared with a type that "
            "is wider."
        )
    decided = [row for row in precision.measured if row.decisions]
    if decided:
        row = max(decided, key=lambda candidate: candidate.decisions)
        tensor = trace.tensors[row.tensor]
        notes.append(
            f"{row.decisions:,} of {row.elements:,} elements of "
            f"{plain(tensor.label)}{at_line(tensor.span)} would be others without rounding errors; "
            "the comparison follows the run."
        )
    return tuple(notes)
