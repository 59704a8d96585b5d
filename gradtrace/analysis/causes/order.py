"""Find the first NaN or infinity of a run: NaN before Inf, forward before backward, data before operations."""

from __future__ import annotations

from gradtrace.analysis.answer import Facts, is_finite
from gradtrace.analysis.causes import undefined
from gradtrace.analysis.causes.cause import Cause, at_line, has_inf, has_nan, made_at, named
from gradtrace.analysis.causes.element import bad_place, line_of_element
from gradtrace.analysis.causes.trail import back
from gradtrace.annotations import NamedTuple
from gradtrace.trace.record import CONSTANT, PassRecord, TensorRecord


class Symptom(NamedTuple):
    """The first sign that values are not finite.

    `one` is the pass that began at such a value or stored it in a leaf; `root` is None if only gradients are not
    finite.
    """

    one: PassRecord | None
    root: int | None
    kind: str  # "nan" or "inf"


def first_symptom(facts: Facts) -> Symptom | None:
    """Return the first value that is not finite and that a reader would notice: a root's, or a stored gradient's."""
    trace = facts.trace
    bad = bad_gradients(facts)
    for one in trace.passes:
        for root in one.roots:
            value = trace.tensors[root].value
            if not is_finite(value):
                return Symptom(one, root, "nan" if has_nan(value) else "inf")
        if one.number in bad:
            return Symptom(one, None, bad[one.number])
    for root in (*(trace.roots if not trace.passes else ()), *named_numbers(facts)):
        value = trace.tensors[root].value
        if has_nan(value):
            return Symptom(None, root, "nan")
    return None


def named_numbers(facts: Facts) -> list[int]:
    """Return the computed single numbers that variables hold: losses at which no pass may have begun."""
    if facts.trace.failure is not None and facts.trace.passes:
        return []
    return [t.id for t in facts.trace.named if t.requires_grad and not t.is_leaf and t.value is not None
            and t.value.numel == 1]  # fmt: skip


def bad_gradients(facts: Facts) -> dict[int, str]:
    """Return, by pass, "nan" or "inf" if it stored such a gradient in a leaf."""
    found: dict[int, str] = {}
    for step in facts.trace.steps:
        after = step.grad_after
        if after is not None and not after.all_finite and found.get(step.number) != "nan":
            found[step.number] = "nan" if after.has_nan else "inf"
    return found


# ---- forward


def first_reader(facts: Facts, tensor: int) -> int:
    """Return the first operation that reads a tensor."""
    return min(facts.flow.readers.get(facts.flow.tensor(tensor), [len(facts.trace.operations)]))


def forward_cause(facts: Facts, root: int, kind: str) -> Cause | None:
    """Return the cause of the first NaN or infinity of the forward pass."""
    is_bad = has_nan if kind == "nan" else has_inf
    makers, given = back(facts, root, is_bad)
    data = [i for i in given if facts.trace.tensors[i].version == 0]
    if data and (not makers or first_reader(facts, data[0]) <= makers[0].id):
        return in_data(facts, facts.trace.tensors[data[0]], kind)
    if makers:
        return undefined.made_nan(facts, makers[0]) if kind == "nan" else undefined.made_inf(facts, makers[0])
    return None


def in_data(facts: Facts, record: TensorRecord, kind: str) -> Cause:
    """Return the cause if a tensor was given with a NaN or an infinity."""
    name = named(facts, record.id)
    first = first_reader(facts, record.id)
    operation = facts.trace.operations[first] if first < len(facts.trace.operations) else None
    if record.kind == CONSTANT and operation is not None and operation.name.endswith("_"):
        return undefined.written(facts, operation, kind)
    span = made_at(facts, record) or (None if operation is None else operation.span)
    where, index = bad_place(record.value, kind)
    own = line_of_element(facts, span, index) or span
    evidence = [facts.at(f"{where or 'an element'} of {name} is {kind}", own)]
    if operation is not None:
        evidence.append(facts.at(f"{operation.name} reads it first{facts.step(operation)}", operation.span))
    rows = f"~torch.isnan({name}).any(1)" if record.value is not None and len(record.value.shape) > 1 else (
        f"~torch.isnan({name})"
    )  # fmt: skip
    which = f"{where} of {name}" if where else name
    return Cause(
        f"{kind} in data",
        "",
        f"{which} already holds {kind}{at_line(own)}, before anything is computed",
        own,
        tuple(evidence),
        (f"leave such rows out: {name}[{rows}]", f"or replace them first: {name} = torch.nan_to_num({name})"),
    )


# ---- backward


def backward_cause(facts: Facts, symptom: Symptom) -> Cause | None:
    """Return the first function that received finite gradients and sent back one that is not finite."""
    for step in facts.trace.steps:
        if symptom.one is not None and step.number < symptom.one.number:
            continue
        if all(is_finite(u) for u in step.upstream) and not all(is_finite(v) for v in step.downstream):
            operation = facts.arrivals.operations.get(step.function)
            return None if operation is None else undefined.bad_derivative(facts, operation, step)
    return None


def not_finite(facts: Facts) -> Cause | None:
    """Find a loss or a gradient that is NaN or infinite."""
    symptom = first_symptom(facts)
    if symptom is None:
        return None
    found = forward_cause(facts, symptom.root, symptom.kind) if symptom.root is not None else None
    if found is None:
        found = backward_cause(facts, symptom)
    if found is None:
        return None
    return found._replace(what=found.what or what_of(facts, symptom), status="nan")


def what_of(facts: Facts, symptom: Symptom) -> str:
    """Return the symptom in words: "loss is nan in step 5"."""
    number = None
    for step in facts.trace.training:
        if symptom.one is not None and step.passes[0] <= symptom.one.number < step.passes[1]:
            number = step.number
    when = "" if number is None else f" in step {number}"
    if symptom.root is not None:
        name = named(facts, symptom.root)
        return f"{name if len(name) < 40 else 'the result'} is {symptom.kind}{when}"
    leaf = next(
        (
            facts.trace.functions[s.function].variable
            for s in facts.trace.steps
            if symptom.one is not None and s.number == symptom.one.number and s.grad_after is not None
            and not s.grad_after.all_finite
        ),
        None,
    )  # fmt: skip
    return f"{'a gradient' if leaf is None else named(facts, leaf) + '.grad'} is {symptom.kind}{when}"
