"""Fixes that change two calls at once: a mask and the softmax after it, a logarithm and what it is taken of."""

from __future__ import annotations

from gradtrace.analysis.cause import Fix
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.rewrites import arguments, expression, instead, operands
from gradtrace.analysis.terms import enclosed, operator, unit
from gradtrace.engine.operators.tables import function_table
from gradtrace.trace.record import Operation, Span

# What computes a logarithm of an operator's result without the step between.
AT_ONCE = function_table(
    "analysis.causes.rewritten.AT_ONCE",
    {"softmax": "{0}.log_softmax(%s)", "sigmoid": "F.logsigmoid({0})", "prod": "{0}.log().sum()", "exp": "{0}"},
)
UNMASK = "leave at least one element of each row unmasked"
CLEAR = "set such rows to 0 after it, with a finite mask"


def unmasked_rows(facts: Facts, operation: Operation, maker: Operation | None) -> tuple[str, ...]:
    """Return what to do about rows of a softmax without an element left: unmask them, or set them to 0."""
    masking = expression(facts, None if maker is None else maker.span)
    operand_nodes = operands(facts, masking) if maker is not None and operator(maker) == "masked_fill" else []
    whole = expression(facts, operation.span)
    if len(operand_nodes) < 2 or maker is None or operation.span is None or whole is None:
        return (f"{UNMASK}, or {CLEAR} such as -1e9",)
    hidden, over = facts.text.cut(operand_nodes[1]), f"{from_the_end(facts, operation)}, keepdim=True"
    kept = hidden.removeprefix("~")
    is_inverse = kept != hidden and enclosed(kept) == kept
    some = f"{kept}.any({over})" if is_inverse else f"~{enclosed(hidden)}.all({over})"
    both = f"{hidden if is_inverse else enclosed(hidden)} & {some}"
    unmasked = instead(facts, maker.span, f"{{0}}.masked_fill({both}, float('-inf'))", f"{UNMASK}: ")
    finite = instead(facts, maker.span, f"{{0}}.masked_fill({hidden}, -1e9)", f"{CLEAR}: ")
    if unmasked is None or finite is None:
        return (f"{UNMASK}, or {CLEAR} such as -1e9",)
    zeros = f".masked_fill({hidden}, 0.)"
    end = Span(operation.span.end_line, operation.span.end_column, operation.span.end_line, operation.span.end_column)
    return unmasked, Fix(f"{finite}, and {zeros} after {unit(facts, operation)}", [*finite.edits, (end, zeros)])


def dim_of(operation: Operation) -> str:
    """Return the text of the dimension that a softmax runs over."""
    return operation.option("dim") or next((t for t in operation.constants if t.lstrip("-").isdigit()), "-1")


def from_the_end(facts: Facts, operation: Operation) -> str:
    """Return the dimension that a softmax runs over, counted from the last: a mask may have fewer dimensions."""
    dim = dim_of(operation)
    return str(int(dim) - len(facts.tensors[operation.outputs[0]].shape)) if dim.isdigit() else dim


def log_at_once(facts: Facts, log: Operation, earlier: Operation) -> Fix | None:
    """Return the advice to compute the logarithm of a softmax, a sigmoid, a product or an exponential in one step; None
    if something lies between the two.
    """
    template, of = AT_ONCE[operator(earlier)], arguments(facts, expression(facts, earlier.span))
    if log.name != "log" or not of or facts.maker(next(iter(log.tensors), None)) != earlier:
        return None
    new = template.replace("%s", dim_of(earlier)).replace("{0}", of[0].replace("{", "{{").replace("}", "}}"))
    return instead(facts, log.span, new)
