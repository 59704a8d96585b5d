"""Describe a value or a place within a sentence."""

from __future__ import annotations

from gradtrace.annotations import Any, Sequence
from gradtrace.trace.record import Span, Value

FEW = 6  # elements that are written out
MANY = 4  # names that are listed one by one


def brief(value: Value) -> str:
    """Return a short description: "5", "[1, -2.5]", "all 0 (3, 4)", "between -0.3 and 0.4 (64,
    10)".
    """
    if not value.shape and value.is_whole:
        return short_number(value.data)
    if value.numel <= FEW and value.is_whole:
        return several(value.data.tolist())
    facts = value.summary
    if facts.nan or facts.inf:
        return f"not finite in {facts.nan + facts.inf} of {value.numel} elements {value.shape}"
    low = facts.minimum
    high = facts.maximum
    if low is None:
        return f"of shape {value.shape}"
    if low == high:
        return f"all {short_number(low)} {value.shape}"
    return f"between {short_number(low)} and {short_number(high)} {value.shape}"


def folded(names: Sequence[str], noun: str) -> str:
    """Return a list of names; of many, their number and the modules they are in: "62 parameters of
    net.a to net.d".
    """
    if len(names) > 1 and len(set(names)) == 1:
        return f"{names[0]} ({len(names)} of them)"
    if len(names) <= MANY:
        *start, last = names
        return f"{', '.join(start)} and {last}" if start else last
    owners = list(dict.fromkeys(name.rpartition(".")[0] for name in names if "." in name))
    if len(owners) == 0 or sum("." in name for name in names) < len(names):
        return f"{', '.join(names[:MANY])} and {len(names) - MANY} more"
    depth = len(common(owners)) + 1
    modules = list(dict.fromkeys(".".join(owner.split(".")[:depth]) for owner in owners))
    return f"{len(names)} {noun} of {range_of(modules)}"


def range_of(modules: Sequence[str]) -> str:
    """Return modules as text: "a and b", "layer.0 to layer.9"; of many that are not numbered, the
    one they are in.
    """
    if len(modules) < MANY:
        return folded(modules, "modules")
    if len({name.rstrip("0123456789") for name in modules}) == 1:
        return f"{modules[0]} to {modules[-1]}"
    return (
        ".".join(common(modules)) or f"{', '.join(modules[:2])} and {len(modules) - 2} more modules"
    )


def common(paths: Sequence[str]) -> list[str]:
    """Return the components that dotted paths begin with."""
    components = []
    for parts in zip(*(path.split(".") for path in paths), strict=False):
        if len(set(parts)) > 1:
            break
        components.append(parts[0])
    return components


def at_line(span: Span | None) -> str:
    """Return " on line 3", or "" without a place."""
    return f" {span.at}" if span is not None else ""


def on_line(span: Span | None) -> str:
    """Return "on line 3, " to begin a clause, or "" without a place."""
    return f"{span.at}, " if span is not None else ""


def short_number(x: Any) -> str:
    if isinstance(x, (bool, int)):
        return str(x)
    mantissa, e, exponent = format(x, ".6g").partition("e")
    return f"{mantissa}e{int(exponent)}" if e else mantissa


def several(items: Any) -> str:
    return (
        "[" + ", ".join(map(several, items)) + "]"
        if isinstance(items, list)
        else short_number(items)
    )


def named_ranks(ranks: Sequence[int]) -> str:
    """Return ranks as text: "rank 1", "ranks 0 and 2", "ranks 0 to 7"."""
    ordered = sorted(ranks)
    if len(ordered) == 1:
        return f"rank {ordered[0]}"
    if len(ordered) > 2 and ordered == list(range(ordered[0], ordered[-1] + 1)):
        return f"ranks {ordered[0]} to {ordered[-1]}"
    return f"ranks {', '.join(map(str, ordered[:-1]))} and {ordered[-1]}"
