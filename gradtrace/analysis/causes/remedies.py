"""What to write in place of an operation that leaves its domain, or of two calls between which a
result underflows.
"""

from __future__ import annotations

from gradtrace.analysis import places
from gradtrace.analysis.cause import Fix
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.rewrites import arguments, expression, instead, operands, with_argument
from gradtrace.analysis.terms import code_of, enclosed, named, operator, unit
from gradtrace.engine.operators.tables import function_table
from gradtrace.program import syntax as ast
from gradtrace.trace.labels import dotted
from gradtrace.trace.record import Operation, Span

# What keeps an operator within its domain, best first; {0} and {1} are its arguments.
SAFE = function_table(
    "analysis.causes.remedies.SAFE",
    {
        "log": (
            "torch.log({0}.clamp(min=1e-8))",
            "or give log the argument of a softmax or sigmoid's own log form",
        ),
        "log2": ("torch.log2({0}.clamp(min=1e-8))",),
        "log10": ("torch.log10({0}.clamp(min=1e-8))",),
        "log1p": ("torch.log1p({0}.clamp(min=-1 + 1e-6))",),
        "sqrt": ("{0}.clamp(min=1e-12).sqrt()",),
        "rsqrt": ("{0}.clamp(min=1e-12).rsqrt()",),
        "pow": ("{0}.clamp(min=1e-12) ** {1}",),
        "acos": (
            "torch.acos({0}.clamp(-1 + 1e-6, 1 - 1e-6))",
            "or torch.atan2(sin, cos), which has no such point",
        ),
        "asin": (
            "torch.asin({0}.clamp(-1 + 1e-6, 1 - 1e-6))",
            "or torch.atan2(sin, cos), which has no such point",
        ),
        "atanh": ("torch.atanh({0}.clamp(-1 + 1e-6, 1 - 1e-6))",),
        "acosh": ("torch.acosh({0}.clamp(min=1 + 1e-6))",),
        "std": ("take the square root of a value kept above 0: torch.sqrt({0}.var(0) + 1e-6)",),
        "div": ("{0} / ({1} + 1e-8)", "{0} / {1}.clamp(min=1e-8)"),
        "reciprocal": ("torch.reciprocal({0} + 1e-8)",),
        "norm": ("torch.sqrt(({0} ** 2).sum() + 1e-12)",),
        "exp": (
            "torch.exp({0}.clamp(max=80))",
            "in a softmax: subtract the maximum, or torch.softmax(x, dim=-1)",
        ),
    },
)
# By dtype: what replaces a bound of SAFE that the dtype cannot represent, or beyond which a
# derivative overflows.
BOUNDS = {
    "float16": {"=80": "=11", "1e-12": "1e-4", "1e-8": "1e-4", "1e-6": "1e-3"},
    "bfloat16": {"1e-6": "1e-2"},
    "float64": {"=80": "=700"},
}
LARGEST_EXP = {"float16": 11, "float64": 709}  # else 88
# These are better than SAFE for an argument of 0, but do not help a negative one.
SHIFTED = function_table(
    "analysis.causes.remedies.SHIFTED",
    {"sqrt": "torch.sqrt({0} + 1e-12)", "rsqrt": "torch.rsqrt({0} + 1e-12)"},
)
# A logarithm without an underflow of its argument, by the operator that made that: the code for a
# logarithm right after the operator, and a sentence for any other.
LOG_OF = function_table(
    "analysis.causes.remedies.LOG_OF",
    {
        "softmax": (
            "{0}.log_softmax({dim})",
            "F.log_softmax({0}, dim={dim}) in place of log(softmax(...)); or F.cross_entropy on "
            "the logits",
        ),
        "sigmoid": (
            "F.logsigmoid({0})",
            "F.logsigmoid({0}); or F.binary_cross_entropy_with_logits on what goes into sigmoid",
        ),
        "prod": (
            "{0}.log().sum()",
            "sum the logarithms instead: torch.log({0}).sum() in place of "
            "torch.log(torch.prod({0}))",
        ),
        "exp": ("{0}", "use {0} itself in place of log(exp(...)), or torch.logsumexp"),
    },
)
DEFAULT = "keep the values that go into it within its domain"
UNMASK = "leave at least one element of each row unmasked"
CLEAR = "set such rows to 0 after it, with a finite mask"


def argument(facts: Facts, operation: Operation, place: int = 0) -> str:
    """Return an operand's text, for code in a fix; "(...)" for one that is long or has no text."""
    text = bare_argument(facts, operation, place)
    return "(...)" if text == "..." else enclosed(text)


def bare_argument(facts: Facts, operation: Operation, place: int = 0) -> str:
    """Return an operand's text as the only argument of a call; "..." for a long one."""
    if place >= len(operation.inputs):
        return "..."
    operand = operation.inputs[place]
    text = operand.text if operand.tensor is None else code_of(named(facts, operand.tensor))
    return text if 0 < len(text) < 30 else "..."


def within_domain(
    facts: Facts, operation: Operation, name: str = "", is_below: bool = False
) -> tuple[str, ...]:
    """Return what keeps an operand within the domain of an operator; `is_below` says that it is
    negative.
    """
    name = name or operator(operation)
    clamp = facts.maker(next(reversed(operation.tensors), None))
    if clamp is not None and operator(clamp).startswith("clamp"):
        advice = [bounded(facts, clamp, name)]
    else:
        advice = [written(facts, operation, template) for template in SAFE.get(name, (DEFAULT,))]
    if name not in SHIFTED or is_below:
        return tuple(advice)
    clamped = advice[0]
    second = clamped if isinstance(clamped, Fix) else f"or {clamped}"
    return written(facts, operation, SHIFTED[name]), second


def bounded(facts: Facts, clamp: Operation, name: str) -> str:
    """Return the advice to give a clamp before an operator other bounds: of `exp` the largest whole
    number that does not overflow.
    """
    words = f"other bounds of {unit(facts, clamp)}, within the domain of {name}"
    call = expression(facts, clamp.span)
    if name != "exp" or not isinstance(call, ast.Call):
        return words
    called = dotted(call.func)
    if called.rpartition(".")[2] not in ("clamp", "clip"):
        return words
    dtype = facts.tensors[clamp.outputs[0]].dtype
    bound = LARGEST_EXP.get(dtype, 88)
    # x.clamp(0, 100), torch.clamp(x, 0, 100)
    is_method = "." in called and called.partition(".")[0] not in imported(facts)
    last = call.args[1:2] if is_method else call.args[2:3]
    if any(isinstance(value, ast.Starred) for value in call.args):
        return words
    for value in last:
        text = f"{bound} in place of {facts.text.cut(value)}{facts.at_line(clamp.span)}"
        return Fix(text, [(places.span_of(value), str(bound))])
    new = f"max={bound}"
    return with_argument(facts, call, new, f"clamp({new}){facts.at_line(clamp.span)}") or words


def imported(facts: Facts) -> set[str]:
    """Return the names of modules that the program imports."""
    imports = (node for node in facts.text.simple if isinstance(node, ast.Import))
    return {alias.asname or alias.name.partition(".")[0] for i in imports for alias in i.names}


def for_dtype(facts: Facts, operation: Operation, advice: str) -> str:
    """Return an advice with bounds that the operands' dtype can hold."""
    dtype = next((value.dtype for _, value in facts.operands(operation)), "")
    for usual, bound in BOUNDS.get(dtype, {}).items():
        advice = advice.replace(usual, bound)
    return advice


def written(facts: Facts, operation: Operation, template: str) -> str:
    """Return a template filled with an operation's arguments: as a Fix if the text can be
    changed.
    """
    template = for_dtype(facts, operation, template)
    fix = instead(facts, operation.span, template)
    return fix or template.format(argument(facts, operation), argument(facts, operation, 1))


def log_without_underflow(facts: Facts, log: Operation, earlier: Operation, sign: str = "") -> str:
    """Return how to compute the logarithm of a softmax, a sigmoid, a product or an exponential in
    one step.
    """
    code, words = LOG_OF[operator(earlier)]
    texts = arguments(facts, expression(facts, earlier.span))
    if log.name == "log" and texts and facts.maker(next(iter(log.tensors), None)) == earlier:
        new = code.format(texts[0], dim=dim_of(earlier))
        fix = instead(facts, log.span, new.replace("{", "{{").replace("}", "}}"))
        if fix is not None:
            return fix
    return words.format(sign + argument(facts, earlier), dim=earlier.option("dim") or "1")


def unmasked_rows(facts: Facts, operation: Operation, maker: Operation | None) -> tuple[str, ...]:
    """Return what to do about rows of a softmax without an element left: unmask them, or set them
    to 0.
    """
    fixes: tuple[str, ...] = ()
    if maker is not None and operator(maker) == "masked_fill":
        fixes = rows_as_fixes(facts, operation, maker)
    return fixes or (f"{UNMASK}, or {CLEAR} such as -1e9",)


def rows_as_fixes(facts: Facts, softmax: Operation, maker: Operation) -> tuple[str, ...]:
    """Return the two changes as `Fix`es; () if the text does not have both calls."""
    texts = operands(facts, expression(facts, maker.span))
    span = softmax.span
    if len(texts) < 2 or span is None or expression(facts, span) is None:
        return ()
    hidden = facts.text.cut(texts[1])
    over = f"{from_the_end(facts, softmax)}, keepdim=True"
    kept = hidden.removeprefix("~")
    if kept != hidden and enclosed(kept) == kept:
        both = f"{hidden} & {kept}.any({over})"
    else:
        both = f"{enclosed(hidden)} & ~{enclosed(hidden)}.all({over})"
    unmasked = instead(
        facts, maker.span, f"{{0}}.masked_fill({both}, float('-inf'))", f"{UNMASK}: "
    )
    finite = instead(facts, maker.span, f"{{0}}.masked_fill({hidden}, -1e9)", f"{CLEAR}: ")
    if unmasked is None or finite is None:
        return ()
    zeros = f".masked_fill({hidden}, 0.)"
    end = Span(span.end_line, span.end_column, span.end_line, span.end_column)
    return unmasked, Fix(
        f"{finite}, and {zeros} after {unit(facts, softmax)}", [*finite.edits, (end, zeros)]
    )


def dim_of(operation: Operation) -> str:
    """Return the text of the dimension that a softmax runs over."""
    return operation.option("dim") or next(
        (t for t in operation.constants if t.lstrip("-").isdigit()), "-1"
    )


def from_the_end(facts: Facts, operation: Operation) -> str:
    """Return the dimension that a softmax runs over, counted from the last: a mask may have fewer
    dimensions.
    """
    dim = dim_of(operation)
    return str(int(dim) - len(facts.tensors[operation.outputs[0]].shape)) if dim.isdigit() else dim
