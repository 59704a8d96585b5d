"""Find why an operator gave NaN or infinity: an operand outside its domain, 0 / 0, 0 * inf, a softmax over -inf
only.
"""

from __future__ import annotations

from gradtrace.analysis.cause import Cause, Evidence, Fix
from gradtrace.analysis.causes.element import bad_place
from gradtrace.analysis.causes.overflow import WIDER, gradient_too_large, too_large
from gradtrace.analysis.causes.points import ENDS, at_point, elements_at, is_near_zero, reads
from gradtrace.analysis.causes.rewritten import log_at_once, unmasked_rows
from gradtrace.analysis.causes.signs import FILLS, is_negative
from gradtrace.analysis.causes.trail import source_of_inf
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.rewrites import instead
from gradtrace.analysis.terms import (
    code_of,
    enclosed,
    has_inf,
    highest,
    is_place,
    lowest,
    made_at,
    mask_behind,
    named,
    operator,
    result,
    unit,
)
from gradtrace.analysis.words import brief
from gradtrace.engine.data.lazy import np
from gradtrace.engine.operators.tables import function_table
from gradtrace.program import syntax as ast
from gradtrace.trace.record import BackwardStep, Operation, TensorRecord, Value

SOFTMAXES = function_table(
    "analysis.causes.undefined.SOFTMAXES", ("softmax", "log_softmax", "cross_entropy", "logsumexp")
)
COMBINED = function_table(
    "analysis.causes.undefined.COMBINED",
    {"mul": "0 * inf is nan", "div": "inf / inf is nan", "sub": "inf - inf is nan", "add": "inf - inf is nan"},
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
SPREADS = function_table("analysis.causes.undefined.SPREADS", ("std", "var", "var_mean"))
DIVISIONS = ("div", "true_divide")
PRODUCTS = ("mul", "multiply", "prod")

# What keeps an operator within its domain, as code; {x} is its argument.
SAFE = function_table(
    "analysis.causes.undefined.SAFE",
    {
        "log": ("torch.log({x}.clamp(min=1e-8))", "or give log the argument of a softmax or sigmoid's own log form"),
        "log2": ("torch.log2({x}.clamp(min=1e-8))",),
        "log10": ("torch.log10({x}.clamp(min=1e-8))",),
        "log1p": ("torch.log1p({x}.clamp(min=-1 + 1e-6))",),
        "sqrt": ("torch.sqrt({x} + 1e-12)", "or {x}.clamp(min=1e-12).sqrt()"),
        "rsqrt": ("torch.rsqrt({x} + 1e-12)", "or {x}.clamp(min=1e-12).rsqrt()"),
        "pow": ("{x}.clamp(min=1e-12) ** {y}",),
        "acos": ("torch.acos({x}.clamp(-1 + 1e-6, 1 - 1e-6))", "or torch.atan2(sin, cos), which has no such point"),
        "asin": ("torch.asin({x}.clamp(-1 + 1e-6, 1 - 1e-6))", "or torch.atan2(sin, cos), which has no such point"),
        "atanh": ("torch.atanh({x}.clamp(-1 + 1e-6, 1 - 1e-6))",),
        "acosh": ("torch.acosh({x}.clamp(min=1 + 1e-6))",),
        "std": ("take the square root of a value kept above 0: torch.sqrt({x}.var(0) + 1e-6)",),
        "div": ("{x} / ({y} + 1e-8)", "{x} / {y}.clamp(min=1e-8)"),
        "reciprocal": ("torch.reciprocal({x} + 1e-8)",),
        "norm": ("torch.sqrt(({x} ** 2).sum() + 1e-12)",),
        "exp": ("torch.exp({x}.clamp(max=80))", "in a softmax: subtract the maximum, or torch.softmax(x, dim=1)"),
    },
)
SMALL = " + 1e-12"  # in these
# The form without an underflow between, by what made the argument of a logarithm.
LOG_OF = function_table(
    "analysis.causes.undefined.LOG_OF",
    {
        "softmax": "F.log_softmax({z}, dim={dim}) in place of log(softmax(...)); or F.cross_entropy on the logits",
        "sigmoid": "F.logsigmoid({z}); or F.binary_cross_entropy_with_logits on what goes into sigmoid",
        "prod": "sum the logarithms instead: torch.log({z}).sum() in place of torch.log(torch.prod({z}))",
        "exp": "use {z} itself in place of log(exp(...)), or torch.logsumexp",
    },
)


def argument(facts: Facts, operation: Operation, place: int = 0) -> str:
    """Return an operand's text, for code in a fix; "..." for one that is long or has no text."""
    text = bare(facts, operation, place)
    return text if text == "..." else enclosed(text)


def bare(facts: Facts, operation: Operation, place: int = 0) -> str:
    """Return an operand's text as the only argument of a call; "..." as `argument` does."""
    if place >= len(operation.inputs):
        return "..."
    operand = operation.inputs[place]
    text = operand.text if operand.tensor is None else code_of(named(facts, operand.tensor))
    return text if 0 < len(text) < 30 else "..."


def fixes(facts: Facts, operation: Operation, name: str = "", is_below: bool = False) -> tuple[str, ...]:
    """Return what keeps an operand within the domain; a small number more does not help one that `is_below`."""
    advice = SAFE.get(name or operator(operation), ("keep the values that go into it within its domain",))
    if is_below:
        first, *others = [text for text in advice if SMALL not in text]
        advice = first.removeprefix("or "), *others
    x, y = argument(facts, operation), argument(facts, operation, 1)
    return tuple(in_place_of(facts, operation, text) or text.format(x=x, y=y) for text in advice)


def in_place_of(facts: Facts, operation: Operation, text: str) -> Fix | None:
    """Return the advice to compute something else in place of an operation's call; None if the text is not code."""
    return instead(facts, operation.span, text.removeprefix("or ").format(x="{0}", y="{1}"))


# ---- nan


def made_nan(facts: Facts, operation: Operation) -> Cause:
    """Explain an operation that made NaN of operands without one."""
    name, values = operator(operation), [v for _, v in facts.operands(operation)]
    if any("nan" in text for text in operation.constants):
        return written(facts, operation, "nan")
    if any(map(has_inf, values)) or inf_constant(operation):
        return of_infinity(facts, operation)
    if any(v.numel == 0 for v in values) or name in ("cross_entropy", "nll_loss"):
        return of_nothing(facts, operation)
    if name in SPREADS:
        return of_one(facts, operation)
    if name in DIVISIONS:
        return zero_by_zero(facts, operation)
    return outside(facts, operation)


def of_nothing(facts: Facts, operation: Operation) -> Cause:
    """Explain the mean of a tensor without elements."""
    return Cause(
        "mean of nothing",
        f"{unit(facts, operation)} averages over no element{reads(facts, operation)}, which is 0 / 0",
        (facts.at(f"{operation.name} gives nan here{facts.step(operation)}", operation.span),),
        ("skip a batch that has no element left: if mask.any(): ...", "or divide a sum by count.clamp(min=1)"),
    )


def inf_constant(operation: Operation) -> bool:
    return any("inf" in text for text in operation.constants)


def stores(operation: Operation) -> bool:
    """Whether an operation stores a number as it is, or changes a tensor in place."""
    return operation.name.endswith("_") or operation.name in FILLS


def written(facts: Facts, operation: Operation, kind: str) -> Cause:
    """Explain a NaN that was written into a tensor as a constant, or that an operation computes with."""
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
    advice: tuple[str, ...] = (f"write a number there in place of {kind}",)
    if is_place(name):
        keep = f"{'~torch.isnan' if kind == 'nan' else 'torch.isfinite'}({code_of(name)})"
        advice = f"leave such rows out of the batches: keep = {keep}", "or write a number there"
    else:
        name = f"the result of {operator(operation)}"
    return Cause(
        f"{kind} in data",
        f"line {facts.where(operation.span) if operation.span else '?'} writes {kind} into {name}, before it is used",
        (facts.at(f"{name} holds {kind} from here on", operation.span),),
        advice,
    )


def of_infinity(facts: Facts, operation: Operation) -> Cause:
    """Explain inf - inf, 0 * inf, inf / inf, or a softmax over rows of -inf only, by what made the infinity."""
    maker, source = source_of_inf(facts, operation)
    name = operator(operation)
    here = facts.at(f"{operation.name} makes nan of it{facts.step(operation)}", operation.span)
    if name in SOFTMAXES and all(is_negative(facts, i) for i in operation.tensors if has_inf(facts.tensors[i].value)):
        return empty_softmax(facts, operation, maker)
    combined = f"{COMBINED.get(name, 'that makes nan')} in {unit(facts, operation)}"
    if maker is None:
        return of_given_infinity(facts, operation, source, here, combined)
    gave = gave_here(facts, maker, "a value")
    below = origin_of_argument(facts, maker) if operator(maker) in ("div", "reciprocal") else None
    underflow = "" if below is None else f": what {unit(facts, below)} gave has underflowed to 0"
    evidence = [facts.at(f"{operator(maker)} gives {gist(result(facts, maker))} here", maker.span)]
    earlier = origin_of_argument(facts, maker)
    if earlier is not None:
        evidence.append(facts.at(f"its argument comes from {operator(earlier)}", earlier.span))
    if maker.id != operation.id:
        evidence.append(here)
    advice = fixes_of_inf(facts, maker, earlier, operation)
    return Cause("not finite", f"{gave}, and {combined}{underflow}", evidence, advice)


def gave_here(facts: Facts, maker: Operation, unknown: str) -> str:
    """Return "exp on line 3 already gave inf in forward in step 2 (x is 90)"."""
    point = too_large(facts, maker) or at_point(facts, maker)
    return (
        f"{unit(facts, maker)} already gave {gist(result(facts, maker), unknown)} in forward{facts.step(maker)}{point}"
    )


def of_given_infinity(
    facts: Facts, operation: Operation, given: TensorRecord | None, here: Evidence, combined: str
) -> Cause:
    """Explain an infinity that no operation made: a constant, or an element of a tensor."""
    is_product = operator(operation) == "mul"
    data = "inf" if given is None else named(facts, given.id)
    place = operation.span if given is None else made_at(facts, given) or operation.span
    row = "" if given is None else bad_place(given.value, "inf")[0]
    subject = data if given is None else f"{f'{row} of ' if row else ''}{data}, which holds inf,"
    because = f"{subject} meets another number that it has no result with: {combined}"
    if operator(operation) in SOFTMAXES:
        because = f"{subject} reaches {unit(facts, operation)}, which has no result for it"
    if is_product and inf_constant(operation):
        because = (
            f"{unit(facts, operation)} multiplies 0 by {'-inf' if '-inf' in operation.label else 'inf'}, which is nan"
        )
    mask = f"{argument(facts, operation)}.masked_fill(mask, float('-inf'))"
    if is_product:
        mask = "torch.zeros_like(mask).masked_fill(mask == 0, float('-inf'))"
    advice = f"put the infinity in without multiplying: {mask}", "or torch.where(mask, value, 0.)"
    if given is not None and not is_product:
        code = enclosed(code_of(data)) or "..."
        advice = f"leave the infinities out: {code}[torch.isfinite({code})]", f"or {code}.clamp(max=1e6)"
    evidence = [here] if place == operation.span else [facts.at("infinity is given here", place), here]
    return Cause("0 * inf", because, evidence, advice)


def gist(value: Value | None, unknown: str = "inf") -> str:
    """Describe a value with infinities: "-inf", "inf in 2 of 8 elements"; "infinity" if its sign is not known."""
    if value is None:
        return unknown
    if value.numel <= 6 and value.is_whole:
        return brief(value)
    s = value.summary
    signs = [str(x) for x in (np.inf, -np.inf) if value.is_whole and bool(np.any(np.equal(value.data, x)))]
    kind = (" or ".join(signs) or "infinity") if s.inf else "nan"
    return f"{kind} in {s.inf or s.nan} of {value.numel} elements"


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
    """Say which operation made the infinities that a softmax read, and by which mask if all of them are its own."""
    alone = is_only_source(facts, operation, maker)
    source = f": {unit(facts, maker)} put it into {'all' if alone else 'some'} of them"
    evidence = [facts.at(f"{operator(maker)} makes -inf here", maker.span)]
    masks = [r.id for r, value in facts.operands(maker) if value.dtype == "bool"] if alone else []
    if not masks:
        return source, evidence
    mask = mask_behind(facts, masks[0])
    name, place = named(facts, mask.id), made_at(facts, mask)
    which = name if name.endswith("mask") else f"the mask {name}"
    return f"{source}, by {which}{facts.at_line(place)}", [
        facts.at(f"{name} leaves nothing of a row", place),
        *evidence,
    ]


def is_only_source(facts: Facts, operation: Operation, maker: Operation) -> bool:
    """Whether all infinities that an operation read come from one maker: no other mask on the way adds any."""
    producer: Operation | None = operation
    while producer is not None and producer.id != maker.id:
        read = facts.operands(producer)
        bad = [record.id for record, value in read if has_inf(value)]
        if len(bad) != 1 or any(value.dtype == "bool" for _, value in read):
            return False
        producer = facts.maker(bad[0])
    return producer is not None


def of_one(facts: Facts, operation: Operation) -> Cause:
    """Explain the standard deviation of a single element."""
    name = operator(operation)
    shapes = [f" (its argument has the shape {v.shape})" for _, v in facts.operands(operation)[:1]]
    return Cause(
        "spread of one",
        f"{unit(facts, operation)} is taken over 1 element{''.join(shapes)}, which divides 0 by n - 1 = 0",
        (facts.at(f"{name} of a single element is nan{facts.step(operation)}", operation.span),),
        (
            f"{argument(facts, operation)}.{name}(dim=0, correction=0)",
            "or leave out a last batch of one sample: drop_last=True",
        ),
    )


def zero_by_zero(facts: Facts, operation: Operation) -> Cause:
    divisor, how_many, maker = "0", "", None
    for below, value in facts.operands(operation)[-1:]:
        divisor, maker = named(facts, below.id), facts.maker(below.id)
        how_many = "" if value.numel < 2 else f" in {value.zeros} of {value.numel} elements"
    evidence = [facts.at(f"0 / 0 is nan{facts.step(operation)}", operation.span)]
    if maker is not None and maker.span != operation.span:
        evidence.insert(0, facts.at(f"{divisor} is made here", maker.span))
    normalize = ("or F.normalize, which does that",) if "norm" in divisor else ()
    return Cause(
        "0 / 0",
        f"{unit(facts, operation)} divides 0 by {divisor}, which is 0{how_many}",
        evidence,
        (*fixes(facts, operation, "div"), *normalize),
    )


def outside(facts: Facts, operation: Operation) -> Cause:
    """Explain an argument outside of the operator's domain."""
    name, step = operator(operation), facts.step(operation)
    is_below = goes_below(facts, operation)
    clause = f" gives nan{at_point(facts, operation)}"
    if name in DOMAINS:
        clause = f" has no value outside of {DOMAINS[name]}{at_point(facts, operation)}"
    elif is_below:
        clause = f" has no value for a negative number{at_point(facts, operation)}"
    evidence = facts.at(f"{name} gives nan here{step}", operation.span)
    advice = fixes(facts, operation, is_below=is_below)
    return Cause("not finite", f"{unit(facts, operation)}{clause}{step}", (evidence,), advice)


def goes_below(facts: Facts, operation: Operation) -> bool:
    """Whether an operator that has no value for negative numbers gets some, where its result is nan."""
    name = operator(operation)
    if name in DOMAINS or not (name == "pow" or ENDS.get(name) is lowest):
        return False
    value = facts.operands(operation)[0][1]
    elements, low = elements_at(facts, operation, value), lowest(value)
    return (low is not None and low < 0) if elements is None else bool((elements < 0).all())


# ---- inf


def origin_of_argument(facts: Facts, operation: Operation) -> Operation | None:
    """Return the softmax, sigmoid, product or exponential that computed an operand, also through indexing and 1 - x;
    None if its zeros are exact: those of a factor 0, or of a mask's -inf.
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
    """Whether an operation is a product with a 0, or computes the exact 0 that a function has at -inf."""
    values = [value for _, value in facts.operands(operation)]
    if operator(operation) in PRODUCTS:
        return any(value.zeros for value in values) or any(not text.strip("-0.") for text in operation.constants)
    return operator(operation) in LOG_OF and any(map(has_inf, values))


def rounds_to_one(facts: Facts, operation: Operation) -> bool:
    """Whether a result is 1 somewhere and 0 nowhere, so that 1 - x of it is 0 by rounding."""
    value = result(facts, operation)
    return value is not None and not value.zeros and highest(value) == 1


def fixes_of_inf(
    facts: Facts, maker: Operation, earlier: Operation | None, met: Operation | None = None
) -> tuple[str, ...]:
    name = operator(maker)
    if name.startswith("log") and earlier is not None:
        sign = "-" * (operator(earlier) == "sigmoid" and rounds_to_one(facts, earlier))
        form = LOG_OF[operator(earlier)].format(z=sign + argument(facts, earlier), dim=earlier.option("dim") or "1")
        return (log_at_once(facts, maker, earlier) or form, "or keep it away from 0: clamp(min=1e-8), + eps")
    if name == "log" and met is not None and operator(met) == "mul":
        return ("torch.xlogy(p, q), F.kl_div: 0 * log(0) is 0 in them", *fixes(facts, maker, "log")[:1])
    if name == "exp" and met is not None and operator(met) == "div":
        return ("torch.softmax(z, dim=1), which subtracts the maximum first", *fixes(facts, maker)[:1])
    if too_large(facts, maker):
        return WIDER
    is_at_edge = name in DOMAINS or ENDS.get(name) is highest or is_near_zero(facts, maker)
    if name in SAFE and is_at_edge and not is_whole_power(maker):
        return fixes(facts, maker)
    return ("keep the numbers of forward finite there: clamp, + eps, smaller steps, float64",)


def is_whole_power(operation: Operation) -> bool:
    """Whether an operation raises its operand to the power of a whole number, at least 0: then no base is outside of
    its domain.
    """
    exponents = [o.text.rpartition("=")[2] for o in operation.inputs[1:2] if o.tensor is None]
    try:
        power = [float(text) for text in exponents]
    except ValueError:
        return False
    return operator(operation) == "pow" and any(exponent >= 0 and exponent.is_integer() for exponent in power)


def made_inf(facts: Facts, operation: Operation) -> Cause:
    """Explain an operation that made an infinity of finite operands."""
    earlier = origin_of_argument(facts, operation)
    evidence = [facts.at(f"{operator(operation)} gives {gist(result(facts, operation))} here", operation.span)]
    because = gave_here(facts, operation, "inf")
    if earlier is not None and operator(operation).startswith("log"):
        dtype = next((v.dtype for _, v in facts.operands(operation)), "the dtype")
        size, verb = f"less than {dtype} holds (underflow)", "underflows to 0"
        if rounds_to_one(facts, earlier):
            size, verb = f"so close to 1 that {dtype} rounds it to 1", "rounds to 1"
        because += f": what {unit(facts, earlier)} gave is {size}"
        evidence.append(facts.at(f"{operator(earlier)} {verb} here", earlier.span))
    return Cause("not finite", because, evidence, fixes_of_inf(facts, operation, earlier))


# ---- derivatives


def bad_derivative(facts: Facts, operation: Operation, step: BackwardStep) -> Cause:
    """Explain an operation whose derivative is not finite at this point."""
    name = operator(operation)
    overflow = gradient_too_large(facts, operation, step)
    if overflow is not None:
        return overflow
    evidence = [facts.at(f"the derivative of {name} is not finite here{reads(facts, operation)}", operation.span)]
    sent = next((v for v in step.downstream if v is not None and not v.all_finite), None)
    point = f"{facts.step(operation)}{at_point(facts, operation, sent)}"
    advice = fixes(facts, operation)
    later = facts.reader_after(operation, lambda o: operator(o) in ("where", "masked_fill"), 2, 8)
    if later is not None:
        evidence.append(facts.at("where takes the other branch, but its gradient of 0 times inf is nan", later.span))
        x, called = bare(facts, operation), f"torch.{name}" if name in SAFE and len(operation.inputs) == 1 else name
        advice = (
            f"mask the argument before {name}, not its result: {called}(torch.where(ok, {x}, torch.ones_like({x})))",
            "torch.where does not help by itself: both branches are differentiated",
        )
    return Cause("not finite", f"the derivative of {unit(facts, operation)} is not finite{point}", evidence, advice)
