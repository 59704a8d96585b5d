"""The lines in a node's box: a name with its shape, notes, values and gradients as numbers or sparklines."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING
from gradtrace.trace.record import Span, Value
from gradtrace.views import numbers
from gradtrace.views.labels import LONGEST, clip, escape_attribute, font, label, pair, text, wide
from gradtrace.views.style import NAME_SIZE, SMALL_SIZE, TEXT_SIZE, Look, Theme

if TYPE_CHECKING:
    from graphviz import Digraph


def add_node(
    graph: Digraph,
    key: str,
    lines: list[str],
    tooltip: list[str],
    look: Look,
    theme: Theme,
    *,
    bad: str = "",
    fill: str | None = None,
) -> None:
    """Add a node in a look, and mark it if it is the first one that holds a NaN or an infinity."""
    attributes = look.attributes()
    if fill is not None:
        attributes["fillcolor"] = fill
        lines = on_fill(lines, theme)
    if bad:
        attributes.update(color=theme.bad, penwidth="3")
        lines = [*lines, wide(font(text(bad), color=theme.bad, size=SMALL_SIZE, bold=True))]
    graph.node(key, label(lines), id=key, tooltip=escape_attribute(tooltip), **attributes)


def on_fill(lines: list[str], theme: Theme) -> list[str]:
    """Return the lines in a text colour that is readable on every colour of the scale."""
    for color in (theme.gradient, theme.gradient_spark, theme.spark, theme.faint):
        lines = [line.replace(f'COLOR="{color}"', f'COLOR="{theme.ink}"') for line in lines]
    return lines


# ---- lines


def title(name: str, value: Value | None, theme: Theme, longest: int = LONGEST, result: str = "") -> str:
    """Return the line of a name in bold, an arrow to the name of a result, and an array's shape."""
    shown = font(text(clip(name, longest)), size=NAME_SIZE, bold=True)
    if result:
        shown += font("&#160;→ " + text(clip(result, 20)), size=TEXT_SIZE)
    if value is not None and value.shape:
        shown += font("&#160; " + text(numbers.shape(value)), size=SMALL_SIZE, color=theme.faint)
    return wide(shown)


def note(words: str, theme: Theme) -> str:
    """Return a line of explanation in small print."""
    return wide(font(text(words), size=SMALL_SIZE, color=theme.faint))


def tag(words: str, theme: Theme) -> str:
    """Return the first cell of a line: what its second one shows."""
    return font(text(words) + "&#160;&#160;", size=SMALL_SIZE, color=theme.faint)


def saved_line(name: str, kept: str, theme: Theme, port: str, longest: int) -> str:
    """Return the line of a value that is saved for backward."""
    return pair(tag(f"saved {name}", theme), font(text(clip(kept, longest)), size=SMALL_SIZE), port)


def quantity(
    title: str, value: Value | None, theme: Theme, *, missing: str = "", gradient: bool = False, after: str = ""
) -> list[str]:
    """Return rows for a value or a gradient: a number, a small list, or a sparkline over its range."""
    color, spark = (theme.gradient, theme.gradient_spark) if gradient else (theme.ink, theme.spark)
    name = tag(title, theme)
    if value is None:
        return [pair(name, font(text(missing), size=SMALL_SIZE, color=theme.faint))]
    if not value.is_measured:
        return []  # its shape is all that is known
    written = written_out(value)
    if written is not None:
        remark = font(text(after), size=SMALL_SIZE, color=color)
        return [pair(name, font(text(written), size=TEXT_SIZE, color=color) + remark)]
    line = font(numbers.sparkline(value), size=TEXT_SIZE, color=spark)
    below = font(text(extent(value)), size=SMALL_SIZE, color=color)
    return [pair(name, line), pair("", below)] if line else [pair(name, below)]


def edge_label(content: str, color: str) -> str:
    """Return the label of an edge in small print; `content` is escaped already."""
    return f"<{font(content, size=SMALL_SIZE, color=color)}>"


# ---- texts


def written_out(value: Value) -> str | None:
    """Return a scalar or a small array as text; None if it is too large for a node."""
    if not value.shape:
        return numbers.number(value.data)
    if value.numel > numbers.SMALL or not value.is_whole:
        return None
    written = numbers.elements(value)
    return written if len(written) <= numbers.CELL else None


def extent(value: Value) -> str:
    """Return an array's range and its number of bad elements: "-2.4 … 1.3, 2 NaN"."""
    statistics = numbers.stats(value)
    parts = []
    if statistics.low is not None and statistics.high is not None:
        low, high = numbers.number(statistics.low, 3), numbers.number(statistics.high, 3)
        parts.append(
            f"all {low}"
            if statistics.low == statistics.high and not statistics.nan and not statistics.inf
            else f"{low} … {high}"
        )
    parts += [f"{count} {name}" for count, name in ((statistics.nan, "NaN"), (statistics.inf, "Inf")) if count]
    return ", ".join(parts) or "empty"


def amount(value: Value) -> str:
    """Return the elements of a value if they are few, else its range."""
    written = written_out(value)
    return written if written is not None else extent(value)


def lines_of(span: Span | None) -> list[str]:
    return [] if span is None else [f"line {span.where}"]
