"""Find why an operator gave NaN or infinity: an operand outside its domain, 0 / 0, 0 * inf, a softmax over -inf
only.
"""

from __future__ import annotations

from gradtrace.analysis.answer import Evidence, Facts
from gradtrace.analysis.causes.cause import (
    Cause,
    at_line,
    has_inf,
    highest,
    lowest,
    made_at,
    named,
    operands,
    operator,
    result,
    unit,
)
from gradtrace.analysis.causes.overflow import WIDER, gradient_too_large, too_large
from gradtrace.analysis.causes.trail import source_of_inf
from gradtrace.analysis.words import brief
from gradtrace.annotations import Any
from gradtrace.engine.lazy import np
from gradtrace.engine.tables import function_table
from gradtrace.lang import syntax as ast
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
    {"acos": "[-1, 1]", "asin": "[-1, 1]", "atanh": "(-1, 1)", "acosh": "[1, inf)"},
)
SPREADS = ("std", "var")
ROOTS = ("sqrt", "rsqrt")

# What keeps an operator within its domain, as code; {x} is its argument.
SAFE = function_table(
    "analysis.causes.undefined.SAFE",
    {
        "log": ("torch.log({x}.clamp(min=1e-8))", "or give log the argument of a softmax or sigmoid's own log form"),
        "log2": ("torch.log2({x}.clamp(min=1e-8))",),
        "log10": ("torch.log10({x}.clamp(min=1e-8))",),
        "log1p": ("torch.log1p({x}.clamp(min=-1 + 1e-6))",),
        "sqrt": ("torch.sqrt({x} + 1e-12)", "or {x}.clamp(min=1e-12).sqrt()"),
        "rsqrt": ("torch.rsqrt({x} + 1e-12)",),
        "pow": ("{x}.clamp(min=1e-12) before the power",),
        "acos": ("torch.acos({x}.clamp(-1 + 1e-6, 1 - 1e-6))", "or torch.atan2(sin, cos), which has no such point"),
        "asin": ("torch.asin({x}.clamp(-1 + 1e-6, 1 - 1e-6))", "or torch.atan2(sin, cos), which has no such point"),
        "atanh": ("torch.atanh({x}.clamp(-1 + 1e-6, 1 - 1e-6))",),
        "acosh": ("torch.acosh({x}.clamp(min=1 + 1e-6))",),
        "std": ("take the square root of a value kept above 0: torch.sqrt({x}.var(0) + 1e-6)",),
        "div": ("divide by {y} + 1e-8, or by {y}.clamp(min=1e-8)",),
        "reciprocal": ("torch.reciprocal({x} + 1e-8)",),
        "norm": ("torch.sqrt(({x} ** 2).sum() + 1e-12)",),
        "exp": ("torch.exp({x}.clamp(max=80))", "in a softmax: subtract the maximum, or torch.softmax(x, dim=1)"),
    },
)
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


def reads(facts: Facts, operation: Operation) -> str:
    """Return " (p is 0)" for the first two operands; "" if nothing can be shown."""
    told = [f"{named(facts, r.id)} is {brief(v)}" for r, v in operands(facts, operation)[:2]]
    text = "; ".join(told)
    return f" ({text})" if text and len(text) < 70 else ""


def at_point(facts: Facts, operation: Operation) -> str:
    """Describe in a few words the operand that matters: " (an element of diff is 0)"."""
    for record, value in operands(facts, operation):
        low, high = lowest(value), highest(value)
        if value.numel > 6 and value.zeros and low is not None:
            return f" ({value.zeros} of {value.numel} elements of {named(facts, record.id)} are 0)"
        if value.numel > 6 and low is not None and low < 0 and high is not None:
            return f" ({named(facts, record.id)} goes down to {low:.3g})"
    return reads(facts, operation)


def argument(facts: Facts, operation: Operation, place: int = 0) -> str:
    """Return an operand's text, for code in a fix."""
    if place >= len(operation.inputs):
        return "x"
    one = operation.inputs[place]
    text = one.text if one.tensor is None else named(facts, one.tensor)
    return enclosed(text) if len(text) < 30 else "x"


def fixes(facts: Facts, operation: Operation, name: str = "") -> tuple[str, ...]:
    known = SAFE.get(name or operator(operation), ("keep the values that go into it within its domain",))
    x, y = argument(facts, operation), argument(facts, operation, 1)
    return tuple(text.format(x=x, y=y) for text in known)


# ---- nan


def made_nan(facts: Facts, operation: Operation) -> Cause:
    """Explain an operation that made NaN of operands without one."""
    name = operator(operation)
    if any("nan" in o.text for o in operation.inputs if o.tensor is None):
        return written(facts, operation, "nan")
    if any(has_inf(v) for _, v in operands(facts, operation)) or inf_constant(operation):
        return of_infinity(facts, operation)
    values = [v for _, v in operands(facts, operation)]
    if any(v.numel == 0 for v in values) or name in ("cross_entropy", "nll_loss"):
        return of_nothing(facts, operation)
    if name in SPREADS or (name == "var_mean"):
        return of_one(facts, operation)
    if name in ("div", "true_divide") or (len(values) > 1 and all(v.zeros for v in values)):
        return zero_by_zero(facts, operation)
    return outside(facts, operation)


def of_nothing(facts: Facts, operation: Operation) -> Cause:
    """Explain the mean of a tensor without elements."""
    because = f"{unit(facts, operation)} averages over no element{reads(facts, operation)}, which is 0 / 0"
    return Cause(
        "mean of nothing",
        "",
        because,
        operation.span,
        (facts.at(f"{operation.name} gives nan here{facts.step(operation)}", operation.span),),
        ("skip a batch that has no element left: if mask.any(): ...", "or divide a sum by count.clamp(min=1)"),
    )


def inf_constant(operation: Operation) -> bool:
    return any("inf" in o.text for o in operation.inputs if o.tensor is None)


def written(facts: Facts, operation: Operation, kind: str) -> Cause:
    """Explain a NaN that was written into a tensor as a constant."""
    statement = facts.text.statement(operation.span)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    name = "a tensor" if target is None else facts.text.cut(getattr(target, "value", target))
    return Cause(
        f"{kind} in data",
        "",
        f"line {operation.span.where if operation.span else '?'} writes {kind} into {name}, before it is used",
        operation.span,
        (facts.at(f"{name} holds {kind} from here on", operation.span),),
        (f"leave such rows out of the batches: keep = ~torch.isnan({name})", "or write a number there"),
    )


def of_infinity(facts: Facts, operation: Operation) -> Cause:
    """Explain inf - inf, 0 * inf, inf / inf, or a softmax over rows of -inf only, by what made the infinity."""
    maker, given = source_of_inf(facts, operation)
    name = operator(operation)
    here = facts.at(f"{operation.name} makes nan of it{facts.step(operation)}", operation.span)
    if name in SOFTMAXES and (maker is None or lowest_is_inf(result(facts, maker))):
        return empty_softmax(facts, operation, maker, given)
    combined = f"{COMBINED.get(name, 'that makes nan')} in {unit(facts, operation)}"
    if maker is None:
        what = "inf" if given is None else f"{named(facts, given.id)}, which holds inf,"
        place = operation.span if given is None else made_at(facts, given) or operation.span
        constant = inf_constant(operation)
        because = (
            f"{unit(facts, operation)} multiplies 0 by {'-inf' if '-inf' in operation.label else 'inf'}, which is nan"
            if constant and name == "mul"
            else f"{what} meets another number that it has no result with: {combined}"
        )
        mask = f"{argument(facts, operation)}.masked_fill(mask, float('-inf'))" if name != "mul" else (
            "torch.zeros_like(mask).masked_fill(mask == 0, float('-inf'))"
        )  # fmt: skip
        if given is not None and name != "mul":
            data = named(facts, given.id)
            fix: tuple[str, ...] = (
                f"leave the infinities out: {data}[torch.isfinite({data})]",
                f"or {data}.clamp(max=1e6)",
            )
        else:
            fix = (f"put the infinity in without multiplying: {mask}", "or torch.where(mask, value, 0.)")
        return Cause(
            "0 * inf",
            "",
            because,
            place,
            (facts.at("infinity is given here", place), here) if place != operation.span else (here,),
            fix,
        )
    made = result(facts, maker)
    gave = f"{unit(facts, maker)} already gave {'a value' if made is None else gist(made)} in forward"
    because = f"{gave}{facts.step(maker)}{too_large(facts, maker) or at_point(facts, maker)}, and {combined}"
    below = origin_of_argument(facts, maker) if operator(maker) in ("div", "reciprocal") else None
    if below is not None:
        because += f": what {operator(below)}{at_line(below.span)} gave has underflowed to 0"
    evidence = [facts.at(f"{operator(maker)} gives {'inf' if made is None else gist(made)} here", maker.span)]
    earlier = origin_of_argument(facts, maker)
    if earlier is not None:
        evidence.append(facts.at(f"its argument comes from {operator(earlier)}", earlier.span))
    if maker.id != operation.id:
        evidence.append(here)
    return Cause("not finite", "", because, maker.span, tuple(evidence), fixes_of_inf(facts, maker, earlier, operation))


def gist(value: Value) -> str:
    """Describe a value with infinities: "-inf" or "inf in 2 of 8 elements"."""
    if value.numel <= 6 and value.is_whole:
        return brief(value)
    s = value.summary
    sign = "inf"
    if value.is_whole and value.shape:
        sign = "-inf" if bool((value.data == -np.inf).any()) else "inf"
    return f"{sign if s.inf else 'nan'} in {s.inf or s.nan} of {value.numel} elements"


def lowest_is_inf(value: Value | None) -> bool:
    """Whether a value holds -inf and no +inf; True if that is not known."""
    if value is None or not value.is_whole or not value.shape:
        return True
    return not bool((value.data == np.inf).any())


def empty_softmax(facts: Facts, operation: Operation, maker: Operation | None, given: TensorRecord | None) -> Cause:
    """Explain a softmax where every element of a row is -inf."""
    span = operation.span if maker is None else maker.span
    source = "" if maker is None else f": {unit(facts, maker)} put it into all of them"
    name = operator(operation)
    evidence = [] if maker is None else [facts.at(f"{operator(maker)} makes -inf here", maker.span)]
    evidence.append(facts.at(f"{name} over a row of nothing but -inf is 0 / 0{facts.step(operation)}", operation.span))
    return Cause(
        "empty softmax",
        "",
        f"{unit(facts, operation)} has a row in which every element is -inf{source}",
        span,
        tuple(evidence),
        (
            "leave at least one element of each row unmasked: mask[~mask.any(-1)] = True",
            "or set such rows to 0 after it, with a finite mask: masked_fill(mask == 0, -1e9)",
        ),
    )


def of_one(facts: Facts, operation: Operation) -> Cause:
    """Explain the standard deviation of a single element."""
    name = operator(operation)
    value = next((v for _, v in operands(facts, operation)), None)
    shape = "" if value is None else f" (its argument has the shape {value.shape})"
    x = argument(facts, operation)
    return Cause(
        "spread of one",
        "",
        f"{unit(facts, operation)} is taken over 1 element{shape}, which divides 0 by n - 1 = 0",
        operation.span,
        (facts.at(f"{name} of a single element is nan{facts.step(operation)}", operation.span),),
        (f"{x}.{name}(dim=0, correction=0)", "or leave out a last batch of one sample: drop_last=True"),
    )


def zero_by_zero(facts: Facts, operation: Operation) -> Cause:
    name = operator(operation)
    places = operands(facts, operation)
    below, value = places[-1] if places else (None, None)
    what = "0" if below is None else named(facts, below.id)
    how_many = "" if value is None or value.numel < 2 else f" in {value.zeros} of {value.numel} elements"
    evidence = [facts.at(f"0 / 0 is nan{facts.step(operation)}", operation.span)]
    made = None if below is None or below.operation is None else facts.trace.operations[below.operation]
    if made is not None and made.span != operation.span:
        evidence.insert(0, facts.at(f"{what} is made here", made.span))
    if name not in ("div", "true_divide"):
        return outside(facts, operation)
    return Cause(
        "0 / 0",
        "",
        f"{unit(facts, operation)} divides 0 by {what}, which is 0{how_many}",
        operation.span,
        tuple(evidence),
        (f"divide by {what} + 1e-8, or by {enclosed(what)}.clamp(min=1e-8)",)
        + (("or F.normalize(x, dim=1), which does that",) if "norm" in what else ()),
    )


def enclosed(text: str) -> str:
    return f"({text})" if " " in text else text


def outside(facts: Facts, operation: Operation) -> Cause:
    """Explain an argument outside of the operator's domain."""
    name = operator(operation)
    low = [(r, x) for r, v in operands(facts, operation) if (x := lowest(v)) is not None and x < 0]
    what = ""
    if low:
        what = f" has no value for a negative number ({named(facts, low[0][0].id)} goes down to {low[0][1]:.4g})"
    domain = DOMAINS.get(name)
    if domain is not None:
        what = f" has no value outside of {domain}{reads(facts, operation)}"
    return Cause(
        "not finite",
        "",
        f"{unit(facts, operation)}{what or ' gives nan' + reads(facts, operation)}{facts.step(operation)}",
        operation.span,
        (facts.at(f"{name} gives nan here{facts.step(operation)}", operation.span),),
        fixes(facts, operation),
    )


# ---- inf


def origin_of_argument(facts: Facts, operation: Operation) -> Operation | None:
    """Return the softmax, sigmoid, product or exponential that computed an operand, also through indexing and 1 - x."""
    at: Operation | None = operation
    for _ in range(6):
        tensors = [] if at is None else [o.tensor for o in at.inputs if o.tensor is not None]
        made = None if not tensors else facts.trace.tensors[tensors[0]].operation
        if made is None and len(tensors) > 1:
            made = facts.trace.tensors[tensors[1]].operation
        if made is None:
            return None
        at = facts.trace.operations[made]
        if operator(at) in LOG_OF:
            return at
    return None


def fixes_of_inf(
    facts: Facts, maker: Operation, earlier: Operation | None, met: Operation | None = None
) -> tuple[str, ...]:
    name = operator(maker)
    if name.startswith("log") and earlier is not None:
        z = argument(facts, earlier)
        dim = next((o.text.partition("=")[2] for o in earlier.inputs if o.text.startswith("dim=")), "1")
        return (LOG_OF[operator(earlier)].format(z=z, dim=dim), "or keep it away from 0: clamp(min=1e-8), + eps")
    if name == "log" and met is not None and operator(met) == "mul":
        return ("torch.xlogy(p, q), F.kl_div: 0 * log(0) is 0 in them", *fixes(facts, maker, "log")[:1])
    if name == "exp" and met is not None and operator(met) == "div":
        return ("torch.softmax(z, dim=1), which subtracts the maximum first", *fixes(facts, maker)[:1])
    if too_large(facts, maker):
        return WIDER
    if name in SAFE:
        return fixes(facts, maker)
    return ("keep the numbers of forward finite there: clamp, + eps, smaller steps, float64",)


def made_inf(facts: Facts, operation: Operation) -> Cause:
    """Explain an operation that made an infinity of finite operands."""
    value = result(facts, operation)
    gave = "inf" if value is None else gist(value)
    earlier = origin_of_argument(facts, operation)
    evidence: list[Evidence] = [facts.at(f"{operator(operation)} gives {gave} here", operation.span)]
    because = (
        f"{unit(facts, operation)} already gave {gave} in forward{facts.step(operation)}"
        f"{too_large(facts, operation) or at_point(facts, operation)}"
    )
    if earlier is not None and operator(operation).startswith("log"):
        small = operands(facts, operation)
        dtype = small[0][1].dtype if small else "the dtype"
        because += f": what {operator(earlier)}{at_line(earlier.span)} gave is less than {dtype} holds (underflow)"
        evidence.append(facts.at(f"{operator(earlier)} underflows to 0 here", earlier.span))
    return Cause("not finite", "", because, operation.span, tuple(evidence), fixes_of_inf(facts, operation, earlier))


# ---- derivatives


def bad_derivative(facts: Facts, operation: Operation, step: BackwardStep) -> Cause:
    """Explain an operation whose derivative is not finite at this point."""
    name = operator(operation)
    overflow = gradient_too_large(facts, operation, step)
    if overflow is not None:
        return overflow
    evidence = [facts.at(f"the derivative of {name} is not finite here{reads(facts, operation)}", operation.span)]
    because = (
        f"the derivative of {unit(facts, operation)} is not finite{facts.step(operation)}{at_point(facts, operation)}"
    )
    advice: tuple[str, ...] = fixes(facts, operation)
    later = where_after(facts, operation)
    if later is not None:
        evidence.append(facts.at("where takes the other branch, but its gradient of 0 times inf is nan", later.span))
        x = argument(facts, operation)
        advice = (
            f"mask the argument before {name}, not its result: {name}(torch.where(ok, {x}, torch.ones_like({x})))",
            "torch.where does not help by itself: both branches are differentiated",
        )
    return Cause("not finite", "", because, operation.span, tuple(evidence), advice)


def where_after(facts: Facts, operation: Operation) -> Operation | None:
    """Return the `where` that reads an operation's result, directly or after one more operation."""
    waiting = list(operation.outputs)
    for _ in range(2):
        after: list[Any] = []
        for tensor in waiting:
            for reader in facts.flow.readers.get(facts.flow.tensor(tensor), ())[:8]:
                found = facts.trace.operations[reader]
                if operator(found) in ("where", "masked_fill"):
                    return found
                after += found.outputs
        waiting = after
    return None
