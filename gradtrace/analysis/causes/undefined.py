"""Explain an operation that gave NaN or infinity of finite numbers, or whose derivative there is
not finite.
"""

from __future__ import annotations

from math import isinf, isnan

from gradtrace.analysis import places
from gradtrace.analysis.cause import Cause, Evidence
from gradtrace.analysis.causes.overflow import WIDER, gradient_too_large, too_large
from gradtrace.analysis.causes.points import (
    ENDS,
    at_point,
    bad_place,
    elements_at,
    is_near_zero,
    reads,
)
from gradtrace.analysis.causes.remedies import (
    LOG_OF,
    SAFE,
    argument,
    bare_argument,
    for_dtype,
    log_without_underflow,
    unmasked_rows,
    within_domain,
)
from gradtrace.analysis.causes.trail import FILLS, is_negative, source_of_inf
from gradtrace.analysis.copies import names_in
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.rewrites import expression
from gradtrace.analysis.terms import (
    code_of,
    enclosed,
    has_inf,
    has_nan,
    highest,
    is_place,
    lowest,
    made_at,
    mask_behind,
    named,
    numbers_in,
    operator,
    result,
    unit,
)
from gradtrace.analysis.words import brief
from gradtrace.engine.data.lazy import np
from gradtrace.engine.operators.tables import function_table
from gradtrace.program import syntax as ast
from gradtrace.trace.operands import record_of
from gradtrace.trace.record import BackwardStep, Operation, Span, TensorRecord, Value

SOFTMAXES = function_table(
    "analysis.causes.undefined.SOFTMAXES", ("softmax", "log_softmax", "cross_entropy", "logsumexp")
)
COMBINED = function_table(
    "analysis.causes.undefined.COMBINED",
    {
        "mul": "0 * inf is nan",
        "div": "inf / inf is nan",
        "sub": "inf - inf is nan",
        "add": "inf - inf is nan",
    },
)
DOMAINS = function_table(
    "analysis.causes.undefined.DOMAINS",
    {
        "acos": "[-1, 1]",
        "asin": "[-1, 1]",
        "atanh": "(-1, 1)",
        "acosh": "[1, inf)",
        "erfinv": "[-1, 1]",
        "log1p": "[-1, inf)",
        "logit": "[0, 1]",
    },
)
LOSSES = function_table("analysis.causes.undefined.LOSSES", ("cross_entropy", "nll_loss"))
SPREADS = function_table("analysis.causes.undefined.SPREADS", ("std", "var", "var_mean"))
NORMS = function_table("analysis.causes.undefined.NORMS", ("norm", "vector_norm"))
DIVISIONS = ("div", "true_divide")
PRODUCTS = ("mul", "multiply", "prod")


# ---- nan


def made_nan(facts: Facts, operation: Operation) -> Cause:
    """Explain an operation that made NaN of operands without one."""
    name = operator(operation)
    values = [value for _, value in facts.operands(operation)]
    literals = numbers_in(operation)
    if any(map(isnan, literals)):
        return written(facts, operation, "nan")
    if any(map(has_inf, values)) or any(map(isinf, literals)):
        return of_infinity(facts, operation)
    if any(value.numel == 0 for value in values) or name in LOSSES:
        return mean_of_nothing(facts, operation)
    if name in SPREADS:
        return spread_of_one(facts, operation)
    if name in DIVISIONS:
        return zero_by_zero(facts, operation)
    return outside(facts, operation)


def unrecorded(facts: Facts, record: TensorRecord | None, does: str) -> Cause:
    """Explain numbers that an operation made which was not recorded, such as one of a compiled
    function, by the call that it is part of.
    """
    reader = None if record is None else next(iter(facts.readers(record.id)), None)
    span = None if record is None else made_at(facts, record)
    call = "a call" if record is None else named(facts, record.id)
    if reader is not None and span is None:
        variables = [] if call in reader.text else names_in(expression(facts, reader.span))
        statements = facts.text.assignments(variables[0]) if variables else []
        call = variables[0] if variables else call
        span = places.head_of(statements[-1]) if statements else reader.span
    return Cause(
        "not finite",
        f"{call}{facts.at_line(span)} {does}, and the operations inside of it are not recorded",
        (facts.at(f"the operations that make {call} are not seen", span),),
        ("run that function uncompiled once, without torch.jit.script, and ask again",),
    )


def mean_of_nothing(facts: Facts, operation: Operation) -> Cause:
    if labels := ignored_labels(facts, operation):
        return no_label_left(facts, operation, labels, f"{unit(facts, operation)} averages over")
    here = facts.at(f"{operation.name} gives nan here{facts.step(operation)}", operation.span)
    return Cause(
        "mean of nothing",
        f"{unit(facts, operation)} averages over no element{reads(facts, operation)}, which is 0 / "
        "0",
        (here,),
        (
            "skip a batch that has no element left: if mask.any(): ...",
            "or divide a sum by count.clamp(min=1)",
        ),
    )


def no_label_left(
    facts: Facts, operation: Operation, labels: tuple[str, Evidence], does: str
) -> Cause:
    clause, evidence = labels
    return Cause(
        "mean of nothing",
        f"{clause} (ignore_index), so {does} no element, which is 0 / 0",
        (
            *(evidence,) * (evidence.span is not None),
            facts.at(f"{operation.name} gives nan here{facts.step(operation)}", operation.span),
        ),
        (
            "find why no other label is left in this batch: masks, padding, truncation",
            "or skip such a batch: if (labels != ignore_index).any(): ...",
        ),
    )


def ignored_labels(facts: Facts, loss: Operation) -> tuple[str, Evidence] | None:
    """Return "every label of y on line 3 is -100" if a loss ignores all of them, with the place
    where the program makes them.
    """
    ignored = float(loss.option("ignore_index") or -100)
    read = facts.operands(loss)
    labels = next((pair for pair in read if not pair[1].is_float), None)
    if labels is not None:
        is_ignored = lowest(labels[1]) == highest(labels[1]) == ignored
    else:
        # without weights, a mean of finite numbers is nan if all of them are ignored
        is_ignored = len(read) == 1 and has_nan(result(facts, loss)) and read[0][1].numel > 0
    if not is_ignored:
        return None
    origin = labels and labels[0]
    while origin is not None and (maker := facts.maker(origin.id)) is not None and maker.tensors:
        record = record_of(maker.name)
        is_view = record is not None and record.kind == "view"
        if not (is_view or maker.span is None or maker.span.file):
            break
        origin = facts.tensors[maker.tensors[0]]
    name = text_of_labels(facts, loss)
    span = None
    if origin is not None and (origin.name or (origin.span is not None and not origin.span.file)):
        name = named(facts, origin.id)
        span = made_at(facts, origin)
    elif name:
        bound = facts.text.assignments(name) if name.isidentifier() else []
        span = places.head_of(bound[0]) if len(bound) == 1 else None
    of = f" of {name}{facts.at_line(span)}" if name else ""
    evidence = facts.at(f"{name} is made here", span)
    if span is None and ignored < -1:
        evidence = facts.at(f"{ignored:g} is written here", line_with(facts, f"{ignored:g}"))
    return f"every label{of} is {ignored:g}", evidence


def line_with(facts: Facts, number: str) -> Span | None:
    """Return the only line of the program that has a negative number, neither compared nor as an
    option.
    """
    others = [n for n in ast.walk(facts.text.tree) if isinstance(n, (ast.Compare, ast.keyword))]
    skipped = {id(part) for n in others for part in ast.iter_child_nodes(n)}
    spans = {
        places.head_of(node)
        for node in ast.walk(facts.text.tree)
        if isinstance(node, ast.UnaryOp)
        and id(node) not in skipped
        and facts.text.cut(node) == number
    }
    return spans.pop() if len(spans) == 1 else None


def text_of_labels(facts: Facts, loss: Operation) -> str:
    """Return the labels as the program's call of a loss writes them; "" for a call in a library."""
    call = expression(facts, loss.span)
    if not isinstance(call, ast.Call):
        return ""
    second = [w.value for w in call.keywords if w.arg == "target"] or call.args[1:2]
    return "".join(map(facts.text.cut, second))


def stores(operation: Operation) -> bool:
    """Whether an operation stores a number as it is, or changes a tensor in place."""
    return operation.name.endswith("_") or operation.name in FILLS


def written(facts: Facts, operation: Operation, kind: str) -> Cause:
    """Explain a NaN that was written into a tensor as a constant, or that an operation computes
    with.
    """
    statement = facts.text.statement(operation.span)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    item = target if isinstance(target, ast.Subscript) else None
    if item is None and not stores(operation):
        return Cause(
            f"{kind} in data",
            f"{unit(facts, operation)} computes with a number that is {kind}",
            (facts.at(f"one of its arguments is {kind}", operation.span),),
            (f"find why that number is {kind}",),
        )
    name = named(facts, operation.outputs[0]) if item is None else facts.text.cut(item.value)
    owner = operation.text.partition(f".{operation.name}(")[0]
    if not is_place(name) and operation.name.endswith("_") and facts.text.assignments(owner):
        name = owner  # an attribute that a method changes: h.buf.fill_(x)
    advice: tuple[str, ...]
    if is_place(name):
        keep = f"{'~torch.isnan' if kind == 'nan' else 'torch.isfinite'}({code_of(name)})"
        advice = (f"leave such rows out of the batches: keep = {keep}", "or write a number there")
    else:
        name = f"the result of {operator(operation)}"
        advice = (f"write a number there in place of {kind}",)
    where = "a line" if operation.span is None else facts.where(operation.span)
    return Cause(
        f"{kind} in data",
        f"{where} writes {kind} into {name}, before it is used",
        (facts.at(f"{name} holds {kind} from here on", operation.span),),
        advice,
    )


def spread_of_one(facts: Facts, operation: Operation) -> Cause:
    """Explain the standard deviation of a single element."""
    name = operator(operation)
    shapes = [
        f" (its argument has the shape {value.shape})" for _, value in facts.operands(operation)[:1]
    ]
    return Cause(
        "spread of one",
        f"{unit(facts, operation)} is taken over 1 element{''.join(shapes)}, which divides 0 by n "
        "- 1 = 0",
        (facts.at(f"{name} of a single element is nan{facts.step(operation)}", operation.span),),
        (
            f"{argument(facts, operation)}.{name}(dim=0, correction=0)",
            "or leave out a last batch of one sample: drop_last=True",
        ),
    )


def zero_by_zero(facts: Facts, operation: Operation) -> Cause:
    loss = facts.maker(next(iter(operation.tensors), None))
    while loss is not None and operator(loss) not in LOSSES and len(loss.tensors) == 1:
        loss = facts.maker(loss.tensors[0])
    if loss is not None and operator(loss) in LOSSES and (labels := ignored_labels(facts, loss)):
        return no_label_left(
            facts, operation, labels, f"{unit(facts, operation)} divides a sum over"
        )
    divisor = "0"
    count = ""
    maker = None
    for record, value in facts.operands(operation)[-1:]:
        divisor = named(facts, record.id)
        maker = facts.maker(record.id)
        count = "" if value.numel < 2 else f" in {value.zeros} of {value.numel} elements"
    evidence = [facts.at(f"0 / 0 is nan{facts.step(operation)}", operation.span)]
    if maker is not None and maker.span != operation.span:
        evidence.insert(0, facts.at(f"{divisor} is made here", maker.span))
    is_norm = maker is not None and operator(maker) in NORMS
    return Cause(
        "0 / 0",
        f"{unit(facts, operation)} divides 0 by {divisor}, which is 0{count}",
        evidence,
        (*within_domain(facts, operation, "div"), *("or F.normalize, which does that",) * is_norm),
    )


def outside(facts: Facts, operation: Operation) -> Cause:
    """Explain an argument outside of the operator's domain."""
    name = operator(operation)
    step = facts.step(operation)
    is_below = goes_below(facts, operation)
    if name in DOMAINS:
        clause = f"has no value outside of {DOMAINS[name]}"
    else:
        clause = "has no value for a negative number" if is_below else "gives nan"
    return Cause(
        "not finite",
        f"{unit(facts, operation)} {clause}{at_point(facts, operation)}{step}",
        (facts.at(f"{name} gives nan here{step}", operation.span),),
        within_domain(facts, operation, is_below=is_below),
    )


def goes_below(facts: Facts, operation: Operation) -> bool:
    """Whether an operator that has no value for negative numbers gets some, where its result is
    nan.
    """
    name = operator(operation)
    if name in DOMAINS or not (name == "pow" or ENDS.get(name) is lowest):
        return False
    value = facts.operands(operation)[0][1]
    elements = elements_at(facts, operation, value)
    if elements is not None:
        return bool((elements < 0).all())
    low = lowest(value)
    return low is not None and low < 0


# ---- nan of an infinity


def of_infinity(facts: Facts, operation: Operation) -> Cause:
    """Explain inf - inf, 0 * inf, inf / inf, or a softmax over rows of -inf only, by what made the
    infinity.
    """
    maker, source = source_of_inf(facts, operation)
    name = operator(operation)
    here = facts.at(f"{operation.name} makes nan of it{facts.step(operation)}", operation.span)
    if name in SOFTMAXES and all(
        is_negative(facts, i) for i in operation.tensors if has_inf(facts.tensors[i].value)
    ):
        return empty_softmax(facts, operation, maker)
    combined = f"{COMBINED.get(name, 'that makes nan')} in {unit(facts, operation)}"
    if maker is None:
        return of_given_infinity(facts, operation, source, here, combined)
    earlier = origin_of_argument(facts, maker)
    underflow = ""
    if earlier is not None and operator(maker) in ("div", "reciprocal"):
        underflow = f": what {unit(facts, earlier)} gave has underflowed to 0"
    evidence = [facts.at(f"{operator(maker)} gives {gist(result(facts, maker))} here", maker.span)]
    if earlier is not None:
        evidence.append(facts.at(f"its argument comes from {operator(earlier)}", earlier.span))
    if maker.id != operation.id:
        evidence.append(here)
    because = f"{gave_here(facts, maker, 'a value')}, and {combined}{underflow}"
    return Cause(
        "not finite", because, evidence, remedies_of_inf(facts, maker, earlier, operator(operation))
    )


def gave_here(facts: Facts, maker: Operation, unknown: str) -> str:
    """Return "exp on line 3 already gave inf in forward in step 2 (x is 90)"."""
    point = too_large(facts, maker) or at_point(facts, maker)
    gave = gist(result(facts, maker), unknown)
    return f"{unit(facts, maker)} already gave {gave} in forward{facts.step(maker)}{point}"


def of_given_infinity(
    facts: Facts, operation: Operation, source: TensorRecord | None, here: Evidence, combined: str
) -> Cause:
    """Explain an infinity that no operation made: a constant, or an element of a tensor."""
    name = operator(operation)
    literal = next(filter(isinf, numbers_in(operation)), None)
    data = subject = "inf"
    place = operation.span
    if source is not None:
        data = named(facts, source.id)
        place = made_at(facts, source) or place
        row = bad_place(source.value, "inf")[0]
        subject = f"{f'{row} of ' if row else ''}{data}, which holds inf,"
    if name == "mul" and literal is not None:
        because = f"{unit(facts, operation)} multiplies 0 by {literal}, which is nan"
    elif name in SOFTMAXES:
        because = f"{subject} reaches {unit(facts, operation)}, which has no result for it"
    else:
        because = f"{subject} meets another number that it has no result with: {combined}"
    if source is not None and name != "mul":
        code = enclosed(code_of(data)) or "..."
        advice = (
            f"leave the infinities out: {code}[torch.isfinite({code})]",
            f"or {code}.clamp(max=1e6)",
        )
    else:
        mask = f"{argument(facts, operation)}.masked_fill(mask, float('-inf'))"
        if name == "mul":
            mask = "torch.zeros_like(mask).masked_fill(mask == 0, float('-inf'))"
        advice = (
            f"put the infinity in without multiplying: {mask}",
            "or torch.where(mask, value, 0.)",
        )
    evidence = (
        [here] if place == operation.span else [facts.at("infinity is given here", place), here]
    )
    return Cause("0 * inf", because, evidence, advice)


def gist(value: Value | None, unknown: str = "inf") -> str:
    """Describe a value with infinities: "-inf", "inf in 2 of 8 elements"; "infinity" if its sign is
    not known.
    """
    if value is None:
        return unknown
    if value.numel <= 6 and value.is_whole:
        return brief(value)
    infinities = value.summary.inf
    if not infinities:
        return f"nan in {value.summary.nan} of {value.numel} elements"
    signs = [
        str(x)
        for x in (np.inf, -np.inf)
        if value.is_whole and bool(np.any(np.equal(value.data, x)))
    ]
    return f"{' or '.join(signs) or 'infinity'} in {infinities} of {value.numel} elements"


def empty_softmax(facts: Facts, operation: Operation, maker: Operation | None) -> Cause:
    """Explain a softmax where every element of a row is -inf."""
    source, evidence = ("", []) if maker is None else filled_by(facts, operation, maker)
    empty = f"{operator(operation)} over a row of nothing but -inf is 0 / 0{facts.step(operation)}"
    return Cause(
        "empty softmax",
        f"{unit(facts, operation)} has a row in which every element is -inf{source}",
        (*evidence, facts.at(empty, operation.span)),
        unmasked_rows(facts, operation, maker),
    )


def filled_by(facts: Facts, operation: Operation, maker: Operation) -> tuple[str, list[Evidence]]:
    """Say which operation made the infinities that a softmax read, and by which mask if all of them
    are its own.
    """
    alone = is_only_source(facts, operation, maker)
    source = f": {unit(facts, maker)} put it into {'all' if alone else 'some'} of them"
    evidence = [facts.at(f"{operator(maker)} makes -inf here", maker.span)]
    masks = (
        [record.id for record, value in facts.operands(maker) if value.dtype == "bool"]
        if alone
        else []
    )
    if not masks:
        return source, evidence
    mask = mask_behind(facts, masks[0])
    name = named(facts, mask.id)
    place = made_at(facts, mask)
    which = name if name.endswith("mask") else f"the mask {name}"
    evidence.insert(0, facts.at(f"{name} leaves nothing of a row", place))
    return f"{source}, by {which}{facts.at_line(place)}", evidence


def is_only_source(facts: Facts, operation: Operation, maker: Operation) -> bool:
    """Whether all infinities that an operation read come from one maker: no other mask on the way
    adds any.
    """
    producer: Operation | None = operation
    while producer is not None and producer.id != maker.id:
        operands = facts.operands(producer)
        bad = [record.id for record, value in operands if has_inf(value)]
        if len(bad) != 1 or any(value.dtype == "bool" for _, value in operands):
            return False
        producer = facts.maker(bad[0])
    return producer is not None


# ---- inf


def made_inf(facts: Facts, operation: Operation) -> Cause:
    """Explain an operation that made an infinity of finite operands."""
    earlier = origin_of_argument(facts, operation)
    evidence = [
        facts.at(
            f"{operator(operation)} gives {gist(result(facts, operation))} here", operation.span
        )
    ]
    because = gave_here(facts, operation, "inf")
    if operator(operation) == "ctc_loss" and (short := too_short(facts, operation)):
        because += f": {short}"
        return Cause("not finite", because, evidence, SHORT_SEQUENCES)
    if earlier is not None and operator(operation).startswith("log"):
        dtype = next((value.dtype for _, value in facts.operands(operation)), "the dtype")
        if rounds_to_one(facts, earlier):
            size = f"so close to 1 that {dtype} rounds it to 1"
            verb = "rounds to 1"
        else:
            size = f"less than {dtype} holds (underflow)"
            verb = "underflows to 0"
        because += f": what {unit(facts, earlier)} gave is {size}"
        evidence.append(facts.at(f"{operator(earlier)} {verb} here", earlier.span))
    return Cause("not finite", because, evidence, remedies_of_inf(facts, operation, earlier))


SHORT_SEQUENCES = (
    "zero_infinity=True, which makes the loss of such sequences 0",
    "or leave out sequences with fewer frames than labels",
)


def too_short(facts: Facts, operation: Operation) -> str:
    """Return which sequence of a CTC loss has fewer frames than labels; "" if that is not known."""
    lengths = [v for _, v in facts.operands(operation) if len(v.shape) == 1 and v.is_whole][-2:]
    pairs = enumerate(zip(*(v.data.tolist() for v in lengths), strict=False))
    return next(
        (f"sequence {i} has {n[0]} frames for {n[1]} labels" for i, n in pairs if n[0] < n[-1]), ""
    )


def origin_of_argument(facts: Facts, operation: Operation) -> Operation | None:
    """Return the softmax, sigmoid, product or exponential that computed an operand, also through
    indexing and 1 - x; None if its zeros are exact: those of a factor 0, or of a mask's -inf.
    """
    at = operation
    for _ in range(6):
        maker = next((maker for i in at.tensors[:2] if (maker := facts.maker(i)) is not None), None)
        if maker is None or has_exact_zero(facts, maker):
            return None
        if operator(maker) in LOG_OF:
            return maker
        at = maker
    return None


def has_exact_zero(facts: Facts, operation: Operation) -> bool:
    """Whether an operation is a product with a 0, or computes the exact 0 that a function has at
    -inf.
    """
    values = [value for _, value in facts.operands(operation)]
    if operator(operation) in PRODUCTS:
        return any(value.zeros for value in values) or 0 in numbers_in(operation, options=False)
    return operator(operation) in LOG_OF and any(map(has_inf, values))


def rounds_to_one(facts: Facts, operation: Operation) -> bool:
    """Whether a result is 1 somewhere and 0 nowhere, so that 1 - x of it is 0 by rounding."""
    value = result(facts, operation)
    return value is not None and not value.zeros and highest(value) == 1


def remedies_of_inf(
    facts: Facts, maker: Operation, earlier: Operation | None, met: str = ""
) -> tuple[str, ...]:
    """Return what to do about an infinity. `earlier` computed the maker's argument; `met` is the
    operator that made NaN of it.
    """
    name = operator(maker)
    if name.startswith("log") and earlier is not None:
        sign = "-" if operator(earlier) == "sigmoid" and rounds_to_one(facts, earlier) else ""
        fix = log_without_underflow(facts, maker, earlier, sign)
        return fix, for_dtype(facts, maker, "or keep it away from 0: clamp(min=1e-8), + eps")
    if name == "log" and met == "mul":
        return "torch.xlogy(p, q), F.kl_div: 0 * log(0) is 0 in them", *within_domain(facts, maker)[
            :1
        ]
    if name == "exp" and met == "div":
        return "torch.softmax(z, dim=-1), which subtracts the maximum first", *within_domain(
            facts, maker
        )[:1]
    if too_large(facts, maker):
        return WIDER
    is_at_edge = name in DOMAINS or ENDS.get(name) is highest or is_near_zero(facts, maker)
    if name in SAFE and is_at_edge and not is_whole_power(maker):
        return within_domain(facts, maker)
    return ("keep the numbers of forward finite there: clamp, + eps, smaller steps, float64",)


def is_whole_power(operation: Operation) -> bool:
    """Whether an operation raises its operand to the power of a whole number, at least 0: then no
    base is outside of its domain.
    """
    exponents = numbers_in(operation._replace(inputs=operation.inputs[1:2]))
    return operator(operation) == "pow" and any(
        power >= 0 and power.is_integer() for power in exponents
    )


# ---- derivatives


def bad_derivative(facts: Facts, operation: Operation, step: BackwardStep) -> Cause:
    """Explain an operation whose derivative is not finite at this point."""
    overflow = gradient_too_large(facts, operation, step)
    if overflow is not None:
        return overflow
    name = operator(operation)
    evidence = [
        facts.at(
            f"the derivative of {name} is not finite here{reads(facts, operation)}", operation.span
        )
    ]
    advice = within_domain(facts, operation)
    later = facts.reader_after(
        operation, lambda reader: operator(reader) in ("where", "masked_fill"), 2, 8
    )
    if later is not None:
        evidence.append(
            facts.at(
                "where takes the other branch, but its gradient of 0 times inf is nan", later.span
            )
        )
        x = bare_argument(facts, operation)
        function = f"torch.{name}" if name in SAFE and len(operation.inputs) == 1 else name
        advice = (
            f"mask the argument before {name}, not its result: {function}(torch.where(ok, {x}, "
            f"torch.ones_like({x})))",
            "torch.where does not help by itself: both branches are differentiated",
        )
    sent = next(
        (value for value in step.downstream if value is not None and not value.all_finite), None
    )
    point = f"{facts.step(operation)}{at_point(facts, operation, sent)}"
    because = f"the derivative of {unit(facts, operation)} is not finite{point}"
    return Cause("not finite", because, evidence, advice)
