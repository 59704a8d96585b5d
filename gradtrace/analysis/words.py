"""Describe a value or a place within a sentence."""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.trace.record import Span, Value

FEW = 6  # elements that are written out


def brief(value: Value) -> str:
    """Return a short description: "5", "[1, -2.5]", "all 0 (3, 4)", "between -0.3 and 0.4 (64, 10)"."""
    if not value.shape and value.is_whole:
        return one(value.data)
    if value.numel <= FEW and value.is_whole:
        return several(value.data.tolist())
    facts = value.summary
    if facts.nan or facts.inf:
        return f"not finite in {facts.nan + facts.inf} of {value.numel} elements {value.shape}"
    low, high = facts.minimum, facts.maximum
    if low is None:
        return f"of shape {value.shape}"
    return f"all {one(low)} {value.shape}" if low == high else f"between {one(low)} and {one(high)} {value.shape}"


def at_line(span: Span | None) -> str:
    """Return " on line 3", or "" without a place."""
    return f" on line {span.where}" if span is not None else ""


def one(x: Any) -> str:
    if isinstance(x, (bool, int)):
        return str(x)
    mantissa, e, exponent = format(x, ".6g").partition("e")
    return f"{mantissa}e{int(exponent)}" if e else mantissa


def several(items: Any) -> str:
    return "[" + ", ".join(map(several, items)) + "]" if isinstance(items, list) else one(items)
