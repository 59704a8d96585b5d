"""Find the first NaN or infinity of a run: pass by pass, within one NaN before Inf, forward before
backward, data before operations.
"""

from __future__ import annotations

from gradtrace.analysis.cause import Cause
from gradtrace.analysis.causes import undefined
from gradtrace.analysis.causes.overflow import broken_by_steps, of_step, step_before
from gradtrace.analysis.causes.points import bad_place, line_of_element
from gradtrace.analysis.causes.trail import back, is_negative
from gradtrace.analysis.facts import Facts, goes_bad, is_finite
from gradtrace.analysis.lasting import lasting
from gradtrace.analysis.terms import (
    code_of,
    has_inf,
    has_nan,
    is_place,
    loads,
    made_at,
    named,
    operator,
    unit,
)
from gradtrace.annotations import NamedTuple
from gradtrace.program import syntax as ast
from gradtrace.trace.record import (
    CONSTANT,
    BackwardStep,
    Operation,
    PassRecord,
    Span,
    TensorRecord,
)


class Symptom(NamedTuple):
    """The first sign that values are not finite.

    `pass_` is the pass that began at such a value, or stored it in a leaf, or after which a step
    wrote it; `root` is that value, None if only gradients are not finite.
    """

    pass_: PassRecord | None
    root: int | None
    kind: str  # "nan" or "inf"


def first_symptom(facts: Facts) -> Symptom | None:
    """Return the first value that is not finite and that a reader would notice: a root's, a stored
    gradient's, a parameter's after a step, else a named number's or one that an error speaks of.
    """
    bad = bad_gradients(facts)
    broken = broken_by_steps(facts)
    for pass_ in facts.passes:
        for root in pass_.roots:
            value = facts.tensors[root].value
            if not is_finite(value):
                return Symptom(pass_, root, "nan" if has_nan(value) else "inf")
        if pass_.number in bad:
            return Symptom(pass_, None, bad[pass_.number])
        if pass_.number in broken:
            value = facts.tensors[broken[pass_.number]].value
            return Symptom(pass_, broken[pass_.number], "nan" if has_nan(value) else "inf")
    roots = (
        *(() if facts.passes else facts.trace.roots),
        *named_numbers(facts),
        *found_by_program(facts),
    )
    return next(
        (Symptom(None, root, "nan") for root in roots if has_nan(facts.tensors[root].value)), None
    )


def named_numbers(facts: Facts) -> list[int]:
    """Return the computed single numbers that variables hold: losses at which no pass may have
    begun.
    """
    if facts.trace.failure is not None and facts.passes:
        return []
    computed = [t for t in facts.trace.named if t.requires_grad and not t.is_leaf]
    return [t.id for t in computed if t.value is not None and t.value.numel == 1]


def found_by_program(facts: Facts) -> list[int]:
    """Return the last computed value with a NaN, if the program has failed with an error that
    speaks of such values.
    """
    failure = facts.trace.failure
    if failure is None:
        return []
    text = f"{failure.kind} {failure.message} {facts.text.line(failure.span)}".lower()
    words = "".join(letter if letter.isalpha() else " " for letter in text).split()
    if not any(word.startswith(NOT_FINITE) for word in words):
        return []
    bad = lasting(facts.trace)
    return [
        t.id for t in facts.tensors if t.id in bad and t.operation is not None and has_nan(t.value)
    ][-1:]


NOT_FINITE = (
    "nan",
    "inf",
    "isnan",
    "isinf",
    "isfinite",
    "nonfinite",
    "finite",
    "singular",
    "definite",
)


def bad_gradients(facts: Facts) -> dict[int, str]:
    """Return, by pass, "nan" or "inf" if it stored such a gradient in a leaf."""
    kinds: dict[int, str] = {}
    left_out = skipped(facts)
    for step in facts.steps:
        after = step.grad_after
        if step.number in left_out:
            continue
        if after is not None and not after.all_finite and kinds.get(step.number) != "nan":
            kinds[step.number] = "nan" if after.has_nan else "inf"
    return kinds


def skipped(facts: Facts) -> set[int]:
    """Return the passes of a scaled loss whose gradients no step used, since a GradScaler looked
    for a smaller scale and found one later.
    """
    scaled = [pass_.number for pass_ in facts.passes if ".scale(" in facts.text.line(pass_.span)]
    last = max(facts.stepped, default=-1) if scaled else -1
    return {number for number in scaled if number not in facts.stepped and last > number}


# ---- forward


def forward_cause(facts: Facts, root: int, kind: str) -> Cause | None:
    """Return the cause of the first NaN or infinity of the forward pass."""
    makers, sources = back(facts, root, has_nan if kind == "nan" else has_inf)
    for source in sources:
        record = facts.tensors[source]
        step = step_before(facts, record)
        reader = next(iter(facts.readers(source)), None)
        is_first = not makers or (reader is not None and reader.id <= makers[0].id)
        if is_first and step is not None:
            return of_step(facts, record, step, kind)
        if is_first and not record.version:
            return in_data(facts, record, kind)
    if makers:
        return (
            undefined.made_nan(facts, makers[0])
            if kind == "nan"
            else undefined.made_inf(facts, makers[0])
        )
    return None


def in_data(facts: Facts, record: TensorRecord, kind: str) -> Cause:
    """Return the cause if a tensor was given with a NaN or an infinity."""
    if not record.is_leaf and record.grad_fn is not None:
        return undefined.unrecorded(facts, record, f"gives {kind}")
    name = named(facts, record.id)
    reader = next(iter(facts.readers(record.id)), None)
    if record.kind == CONSTANT and reader is not None and undefined.stores(reader):
        return undefined.written(facts, reader, kind)
    span = None if was_there(facts, record) else made_at(facts, record)
    cause = None if span is None else read_there(facts, record, span, kind)
    if cause is not None:
        return cause
    where, index = bad_place(record.value, kind)
    own = None
    evidence = []
    if span is not None:
        own = line_of_element(facts, span, index) or span
        evidence.append(facts.at(f"{where or 'an element'} of {name} is {kind}", own))
    if reader is not None:
        evidence.append(facts.at(f"{reader.name} reads it first{facts.step(reader)}", reader.span))
    code = code_of(name) if is_place(name) else ""
    rows = f"~torch.isnan({code})" + ".any(1)" * (len(record.shape) > 1)
    numbers = "" if kind == "nan" else ", posinf=0.0, neginf=0.0"
    if kind == "inf":
        rows = f"torch.isfinite({code})" + ".all(1)" * (len(record.shape) > 1)
    advice: tuple[str, ...] = ("leave such rows out, or write numbers in their place",)
    if record.is_parameter:
        repair = (f"or, under torch.no_grad(): torch.nan_to_num_({code}{numbers})",) if code else ()
        advice = ("load a checkpoint from before it", *repair)
    elif code:
        replaced = f"{code} = torch.nan_to_num({code}{numbers})"
        advice = (f"leave such rows out: {code}[{rows}]", f"or replace them first: {replaced}")
    return Cause(
        f"{kind} in data",
        f"{f'{where} of ' if where else ''}{name} already holds {kind}{facts.at_line(own)}, "
        "before anything is computed",
        evidence,
        advice,
    )


def read_there(facts: Facts, record: TensorRecord, span: Span, kind: str) -> Cause | None:
    """Return the cause of a NaN or an infinity that the statement read which made a tensor by a
    call that is not recorded.
    """
    statement = facts.text.statement(span)
    names = loads(statement) if isinstance(statement, (ast.Assign, ast.Expr)) else set()
    holds = has_nan if kind == "nan" else has_inf
    for earlier in facts.tensors[: record.id]:
        is_bad = earlier.operation is not None and holds(earlier.value)
        if is_bad and named(facts, earlier.id) in names:
            return forward_cause(facts, earlier.id, kind)
    return None


def was_there(facts: Facts, record: TensorRecord) -> bool:
    """Whether a tensor is a parameter from before the recording: where it got its elements is not
    known.
    """
    return record.is_parameter and record.span is None and facts.tensors[record.first].span is None


# ---- backward


def backward_cause(facts: Facts, symptom: Symptom) -> Cause | None:
    """Return the first function that received finite gradients and sent back one that is not
    finite.
    """
    first = 0 if symptom.pass_ is None else symptom.pass_.number
    step = next((s for s in facts.steps if s.number >= first and goes_bad(s)), None)
    if step is None:
        return None
    result = result_of(facts, step)
    operation = facts.arrivals.operations.get(step.function)
    operation = operation or facts.maker(None if result is None else result.id)
    if operation is None:
        name = facts.functions[step.function].name
        return undefined.unrecorded(
            facts, result, f"has a derivative that is not finite, of {name}"
        )
    operand = next((r.id for r, value in facts.operands(operation) if has_nan(value)), None)
    cause = None if operand is None else forward_cause(facts, operand, "nan")
    if cause is not None:
        return cause._replace(
            because=f"{cause.because}; the derivative of {unit(facts, operation)} multiplies by it"
        )
    data = given_infinity(facts, operation)
    return (
        undefined.bad_derivative(facts, operation, step)
        if data is None
        else in_data(facts, data, "inf")
    )


def result_of(facts: Facts, step: BackwardStep) -> TensorRecord | None:
    """Return the first recorded tensor that was computed with the result of a function."""
    while not facts.functions[step.function].outputs:
        arrivals = facts.arrivals.at(step)
        if not arrivals:
            return None
        step = arrivals[0].sender
    return facts.tensors[facts.functions[step.function].outputs[0]]


def given_infinity(facts: Facts, operation: Operation) -> TensorRecord | None:
    """Return a tensor that was given with an infinity, and that an operation read; None for what
    may be a mask.
    """
    if operator(operation) in (*undefined.SOFTMAXES, "scaled_dot_product_attention"):
        return None
    read = [record.id for record, value in facts.operands(operation) if has_inf(value)]
    pairs = [(tensor, i) for tensor in read for i in back(facts, tensor, has_inf)[1]]
    return next(
        (facts.tensors[i] for tensor, i in pairs if i == tensor or not is_negative(facts, i)), None
    )


def not_finite(facts: Facts) -> Cause | None:
    """Find a loss or a gradient that is NaN or infinite."""
    symptom = first_symptom(facts)
    if symptom is None:
        return None
    cause = None if symptom.root is None else forward_cause(facts, symptom.root, symptom.kind)
    cause = cause or backward_cause(facts, symptom)
    if cause is None:
        return None
    return cause._replace(symptom=describe_symptom(facts, symptom), status="nan", kind=symptom.kind)


def of_gradient(facts: Facts, record: TensorRecord) -> Cause:
    """Return the cause of a tensor's gradient that is not finite."""
    visits = facts.visits_of(record)
    pass_ = facts.passes[visits[-1].number] if visits else None
    kind = "nan" if has_nan(record.grad) else "inf"
    cause = backward_cause(facts, Symptom(pass_, None, kind))
    for root in () if pass_ is None else pass_.roots:
        cause = cause or forward_cause(facts, root, kind)
    cause = cause or Cause("not finite", "it was not finite where backward began")
    return cause._replace(evidence=[facts.origin(record), *cause.evidence])


def describe_symptom(facts: Facts, symptom: Symptom) -> str:
    """Return the symptom in words: "loss is nan in step 5"."""
    number = None if symptom.pass_ is None else facts.step_of_pass(symptom.pass_.number)
    when = "" if number is None else f" in step {number}"
    if symptom.root is not None:
        name = named(facts, symptom.root)
        return f"{name if len(name) < 40 else 'the result'} is {symptom.kind}{when}"
    steps = [
        s for s in facts.steps if symptom.pass_ is not None and s.number == symptom.pass_.number
    ]
    step = next(
        (s for s in steps if s.grad_after is not None and not s.grad_after.all_finite), None
    )
    leaf = None if step is None else facts.functions[step.function].variable
    return (
        f"{'a gradient' if leaf is None else named(facts, leaf) + '.grad'} is {symptom.kind}{when}"
    )
