"""What the records of several processes of one training show together: the rank, and the line,
where they part.

Each rank records itself (`gradtrace.torch.record` under torchrun); the records are compared here,
after the run, so no process waits for another.
"""

from __future__ import annotations

from collections import Counter

from gradtrace.analysis.cause import Cause, Evidence
from gradtrace.analysis.causes.table import causes_in
from gradtrace.analysis.facts import Facts, is_finite
from gradtrace.analysis.failures import explain_failure
from gradtrace.analysis.lasting import lasting
from gradtrace.analysis.rank_state import (
    absent,
    buffers_apart,
    failed_itself,
    follows,
    parting,
    same_draws,
)
from gradtrace.analysis.rows import is_brought, read_with_parameters, rows_of
from gradtrace.analysis.terms import has_nan, highest, lowest, made_at, named, without_item
from gradtrace.analysis.unused import (
    ENDED,
    parameters_of,
    remedies,
    unused_cause,
    unused_in_last_pass,
    would_use,
)
from gradtrace.analysis.words import folded, named_ranks
from gradtrace.annotations import Iterable, Iterator, Mapping, NamedTuple, Sequence
from gradtrace.engine.data.lazy import np
from gradtrace.engine.operators.tables import function_table
from gradtrace.errors import UsageError
from gradtrace.lazy_names import words
from gradtrace.trace.record import PIPELINE, TENSOR_PARALLEL, Shard, TensorRecord, Trace, Value

Ranks = Mapping[int, Facts]
SELECTING = {
    *("index", "slice"),
    *function_table(
        "analysis.ranks.SELECTING", words("index_select select narrow split chunk unbind")
    ),
}


def across(traces: Sequence[Trace]) -> list[Cause]:
    """Return what is wrong in a training of several ranks, most serious first; [] if nothing is."""
    ranks = by_rank(traces)
    asked = [not_finite, other_failures]
    if not any(divides_work(trace) for trace in traces):
        asked = [unused, *asked, apart_at_start, same_batches, buffers_apart, same_draws]
    if any(failed_itself(trace) for trace in traces):
        asked = [*asked, absent]
    else:  # the loss of a rank explains the other failures
        asked = [absent, *asked]
    causes = [cause for ask in asked for cause in ask(ranks)]
    return causes or [cause for rank, facts in ranks.items() for cause in own_causes(rank, facts)]


def divides_work(trace: Trace) -> bool:
    """Whether the ranks hold different parts of the model, so that nothing has to be equal, or
    different, in them.
    """
    return any(
        division in note for note in trace.left_out for division in (TENSOR_PARALLEL, PIPELINE)
    )


def by_rank(traces: Sequence[Trace]) -> dict[int, Facts]:
    """Return the facts of each rank. UsageError unless the records are of different ranks."""
    ranks = {trace.rank: Facts(trace) for trace in traces if trace.rank is not None}
    if len(ranks) < len(traces):
        message = (
            "two of these records are of the same rank"
            if ranks
            else "these records are not of several processes"
        )
        raise UsageError(
            message,
            "give those of one run under torchrun: step.rank*.gt; gradtrace diff A B compares two "
            "runs",
        )
    return ranks


def nothing_wrong(traces: Sequence[Trace]) -> str:
    """Return the answer about ranks of which `across` finds nothing wrong."""
    unit, es = ("step", "s") if any(trace.training for trace in traces) else ("pass", "es")
    counts = {len(trace.training or trace.passes) for trace in traces}
    n = max(counts)
    amount = (
        f"{n} {unit}{es * (n != 1)} on each"
        if len(counts) == 1
        else f"not the same number of {unit}{es} on each"
    )
    return f"Nothing is wrong that gradtrace can see: {len(traces)} ranks, {amount}."


def own_causes(rank: int, facts: Facts) -> Iterator[Cause]:
    for cause in causes_in(facts):
        yield cause._replace(symptom=", ".join(filter(None, (f"On rank {rank}", cause.symptom))))


# ---- gradients that a rank did not compute


def unused(ranks: Ranks) -> Iterator[Cause]:
    """Find parameters that the forward of some ranks did not use, in a run that DDP ended for that,
    or of which other ranks used them.
    """
    lacking = {
        rank: {t.label: t for t in unused_in_last_pass(facts)} for rank, facts in ranks.items()
    }
    failures = (facts.trace.failure for facts in ranks.values())
    failure = next(
        (error for error in failures if error is not None and ENDED in error.message), None
    )
    everywhere = set.intersection(*(set(by_label) for by_label in lacking.values()))
    somewhere = set.union(*(set(by_label) for by_label in lacking.values())) - everywhere
    if everywhere and failure is not None:
        facts = next(iter(ranks.values()))
        lacking_parameters = [t for t in parameters_of(facts) if t.label in everywhere]
        yield unused_cause(facts, lacking_parameters, failure, "on any rank")
    if somewhere:
        without = [rank for rank, by_label in lacking.items() if somewhere & set(by_label)]
        there = [rank for rank in ranks if rank not in without] or [
            r for r in ranks if r != without[0]
        ]
        facts = ranks[without[0]]
        labels = [t.label for t in parameters_of(facts) if t.label in somewhere]
        sentence = (
            f"{folded(labels, 'parameters')} got a gradient on {named_ranks(there)}, but "
            f"not on {named_ranks(without)}"
        )
        apart = tuple(parting(facts, ranks[there[0]], without[0], there[0]))
        lines = {evidence.span.line for evidence in apart if evidence.span is not None}
        rest = (
            evidence
            for evidence in would_use(facts, labels[0])
            if evidence.span is not None and evidence.span.line not in lines
        )
        yield Cause(
            "unused under DDP",
            "the ranks take different branches",
            (*apart, *rest),
            remedies(labels),
            sentence,
        )


# ---- values that are not finite


def not_finite(ranks: Ranks) -> Iterator[Cause]:
    """Find the rank whose values were not finite first, and the samples to blame; the others get
    them by gradients.
    """
    first = {
        rank: step for rank, facts in ranks.items() if (step := first_bad_step(facts)) is not None
    }
    if not first:
        return
    earliest = min(first.values())
    begun = [rank for rank, step in first.items() if step == earliest]
    facts = ranks[begun[0]]
    cause = next((candidate for candidate in causes_in(facts) if candidate.status == "nan"), None)
    if cause is None:
        return
    rest = [rank for rank in first if rank not in begun]
    where = f"On {named_ranks(begun)}" + (
        f" first, and on {named_ranks(rest)} later" if rest else ""
    )
    if len(begun) < len(ranks) and not rest:
        where += " alone"
    samples = tuple(bad_samples(facts))
    yield cause._replace(symptom=f"{where}, {cause.symptom}", evidence=(*cause.evidence, *samples))


def first_bad_step(facts: Facts) -> int | None:
    """Return the number of the first step or pass with a root that is not finite."""
    for number, pass_ in enumerate(facts.passes, 1):
        if any(not is_finite(facts.tensors[i].value) for i in pass_.roots):
            return number
    return None


def bad_samples(facts: Facts, batch: Iterable[int] | None = None) -> Iterator[Evidence]:
    """Yield the samples of a batch that are not finite, if only some are. Without the batch, it is
    the data that is read together with parameters.
    """
    accused = lasting(facts.trace)
    rows = rows_of(facts, read_with_parameters(facts) if batch is None else batch)
    for t in map(facts.tensors.__getitem__, sorted(rows & accused)):
        value = t.value
        if (
            t.is_parameter
            or value is None
            or not value.shape
            or value.elements is None
            or is_finite(value)
        ):
            continue
        if t.operation is None and not has_nan(value):
            continue  # an infinity that a mask has, or is given as, is not an error
        elements = value.elements.reshape(len(value.elements), -1)
        bad = np.flatnonzero(
            (np.isnan(elements) if has_nan(value) else ~np.isfinite(elements)).any(1)
        ).tolist()
        if len(bad) < value.shape[0] and not is_brought(facts, t.id, rows):
            yield samples_at(facts, t, bad)
        return


def samples_at(facts: Facts, t: TensorRecord, bad: Sequence[int]) -> Evidence:
    """Say which samples of a tensor are not finite."""
    samples = f"sample {bad[0]}" if len(bad) == 1 else f"samples {', '.join(map(str, bad[:5]))}"
    verb = "is" if len(bad) == 1 else "are"
    more = f" and {len(bad) - 5} more" if len(bad) > 5 else ""
    name = without_item(named(facts, t.id))
    return facts.at(f"{samples}{more} of {name}, of {t.shape[0]}, {verb} not finite", t.span)


# ---- failures


def other_failures(ranks: Ranks) -> Iterator[Cause]:
    """Explain the failures that are not about unused parameters, and name the ranks that another
    one's ended.
    """
    failed = {rank: facts.trace for rank, facts in ranks.items() if facts.trace.failure is not None}
    followed = [rank for rank, trace in failed.items() if follows(trace)]
    for rank, trace in failed.items():
        if rank in followed or trace.failure is None or ENDED in trace.failure.message:
            continue
        cause = explain_failure(trace)
        if cause is not None:
            symptom = ": ".join(filter(None, (f"On rank {rank}", cause.symptom)))
            yield cause._replace(symptom=symptom)
    # `absent` explains the failure if some ranks left no record.
    is_explained = any(facts.trace.processes > len(ranks) for facts in ranks.values())
    if followed and len(followed) == len(failed) and not is_explained:
        yield Cause(
            "lost peer",
            f"{named_ranks(followed).capitalize()} lost the connection to a process that left no "
            "failure in a record",
        )


# ---- what should be equal, and what should not


def apart_at_start(ranks: Ranks) -> Iterator[Cause]:
    """Find parameters that differ between ranks before the first step."""
    held = {rank: first_read(facts) for rank, facts in ranks.items()}
    apart = list(differing(held))
    if not apart:
        return
    facts = ranks[min(ranks)]
    yield Cause(
        "ranks apart",
        "each rank made or changed them by itself, and gradients are averaged, not parameters",
        tuple(facts.origin(t) for t in parameters_of(facts) if t.label == apart[0]),
        (
            "wrap the model in DistributedDataParallel, which sends rank 0's parameters to all",
            "or seed all ranks alike before the model is made, or dist.broadcast(p.data, 0) for "
            "each parameter",
        ),
        symptom=f"{folded(apart, 'parameters')} differ between {named_ranks(list(ranks))} before "
        "the first step",
    )


def same_batches(ranks: Ranks) -> Iterator[Cause]:
    """Find batches that are the same on all ranks, at every step."""
    if len(ranks) < 2:
        return
    drawn = {rank: batches(facts) for rank, facts in ranks.items()}
    first, *others = drawn.values()
    shared = set(first).intersection(*map(set, others))
    alike = [
        key
        for key in first
        if key in shared and all(first[key].value == theirs[key].value for theirs in others)
    ]
    if not alike or len(alike) < len(shared):
        return
    if all(is_constant(first[key].value) for key in alike):
        return  # masks of ones, say
    facts = ranks[min(ranks)]
    shown = first[alike[-1]]
    span = made_at(facts, shown)
    yield Cause(
        "same batches",
        "each adds the same gradient, so more processes do not make a larger batch",
        (facts.at("made here, with the same numbers on each rank", span),)
        if span is not None
        else (),
        (
            "DistributedSampler, for a DataLoader",
            "or a seed that depends on the rank: torch.manual_seed(seed + rank)",
        ),
        symptom=f"The batches of {named_ranks(list(ranks))} are the same: "
        f"{shown.label}{facts.at_line(span)}",
    )


def is_constant(value: Value | None) -> bool:
    """Whether all elements are known to be equal."""
    return value is None or (value.is_measured and lowest(value) == highest(value))


def first_read(facts: Facts) -> dict[str, Value]:
    """Return the value of each parameter when the first operation with a gradient read it, by the
    parameter's name.
    """
    labels = {facts.flow.tensor(t.id): t.label for t in parameters_of(facts)}
    values: dict[str, Value] = {}
    for operation in facts.operations:
        for i in operation.tensors if operation.function is not None else ():
            label = labels.get(facts.flow.tensor(i))
            value = facts.tensors[i].value
            if label is not None and value is not None:
                values.setdefault(label, value)
    return values


def batches(facts: Facts) -> dict[tuple[str, int, int], TensorRecord]:
    """Return the data that forwards read, by the place that reads it first and how often it did
    before. Of data from which an operation selects rows, it is these.
    """
    tensors: dict[tuple[str, int, int], TensorRecord] = {}
    count: Counter[tuple[str, int]] = Counter()
    seen: set[int] = set()
    selected: set[int] = set()
    for operation in facts.operations:
        read = [facts.tensors[i] for i in operation.tensors]
        if operation.name in SELECTING and all(is_data(t) or t.id in selected for t in read[:1]):
            selected.update(operation.outputs)
            continue
        for t in read:
            if t.id in seen or not (is_data(t) or t.id in selected):
                continue
            if operation.span is None or t.value is None or len(t.shape) < 2:
                continue
            seen.add(t.id)
            place = operation.span.file, operation.span.line
            count[place] += 1
            tensors[*place, count[place]] = t
    return tensors


def is_data(t: TensorRecord) -> bool:
    """Whether a tensor is numbers of the program that are not trained: no flags."""
    is_leaf = t.operation is None and not t.requires_grad and not t.is_parameter
    return is_leaf and t.dtype != "bool"


def differing(held: Mapping[int, Mapping[str, Value]]) -> Iterator[str]:
    """Yield the names whose values are not the same on all ranks that know them."""
    first, *others = held.values()
    for name, value in first.items():
        if any(name in values and value != values[name] for values in others):
            yield name


# ---- parameters in parts


class WholeNorms(NamedTuple):
    """A parameter with the norms of all its parts together; None if a part is missing or was not
    measured.
    """

    name: str
    shape: tuple[int, ...]
    placement: str
    norm: float | None
    grad_norm: float | None
    missing: int  # parts without a record


def whole_norms(traces: Sequence[Trace]) -> list[WholeNorms]:
    """Return the norms of each parameter that these records have in parts."""
    parts: dict[str, list[Shard]] = {}
    for facts in by_rank(traces).values():
        for shard in facts.trace.shards:
            parts.setdefault(shard.name, []).append(shard)
    return [with_all_parts(some) for some in parts.values()]


def with_all_parts(parts: Sequence[Shard]) -> WholeNorms:
    first = parts[0]
    missing = max(0, first.processes - len(parts))
    norm, grad = (
        None if missing else norm_of([getattr(shard, which) for shard in parts], first.copies)
        for which in ("squares", "grad_squares")
    )
    return WholeNorms(first.name, first.shape, first.placement, norm, grad, missing)


def norm_of(squares: Sequence[float | None], copies: int) -> float | None:
    """Return the norm of parts of which each stands in `copies` records."""
    present = [square for square in squares if square is not None]
    return None if len(present) < len(squares) else float((sum(present) / copies) ** 0.5)
