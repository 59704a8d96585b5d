"""The text in a node's box: a name with its shape, notes, values and gradients as numbers or
sparklines.

These stand below one another, or in a flat box in one line or two, so that a chain of boxes reads
like the lines of a page:

    fc1  Linear 400 → 120   (4, 120)  ▂▅▇▃  -0.45 … 0.65  |grad| 0.51

In one line the facts of all operations and modules stand below one another, in columns of the same
widths.
"""

from __future__ import annotations

import re

from gradtrace.annotations import NamedTuple, Sequence
from gradtrace.trace.record import Span, TensorRecord, Value
from gradtrace.views import numbers
from gradtrace.views.labels import LONGEST, Cell, Line, Words, clip, pair, wide
from gradtrace.views.style import NAME_SIZE, TEXT_SIZE, Theme

FLAT_BARS = 8  # of a strip in a flat box
GAP = 8  # points between two columns of flat boxes
LONGEST_LIST = 22  # characters of a small array that is written out
LONGEST_KIND = 30
LONGEST_CONSTANTS = 18
IMAGES = 4  # dimensions: samples, channels, height, width
SEPARATOR = "&#160; "

# ---- lines below one another


def title(
    name: str, value: Value | None, theme: Theme, longest: int = LONGEST, result: str = ""
) -> Line:
    """Return the line of a name in bold, an arrow to the name of a result, and an array's shape."""
    words = [Words(clip(name, longest), NAME_SIZE, bold=True)]
    if result:
        words.append(Words("\u00a0→ " + clip(result, 20), TEXT_SIZE))
    if value is not None and value.shape:
        words.append(Words("\u00a0 " + numbers.shape(value), color=theme.faint))
    return wide(*words)


def note(text: str, theme: Theme) -> Line:
    """Return a line of explanation in small print."""
    return wide(Words(text, color=theme.faint))


def tag(text: str, theme: Theme) -> Words:
    """Return the text of a line's first cell: what its second one shows."""
    return Words(text + "\u00a0\u00a0", color=theme.faint)


def saved_line(name: str, kept: str, theme: Theme, port: str, longest: int) -> Line:
    """Return the line of a value that is saved for backward."""
    return pair(tag(f"saved {name}", theme), Words(clip(kept, longest)), port=port)


def quantity(
    title: str,
    value: Value | None,
    theme: Theme,
    *,
    missing: str = "",
    gradient: bool = False,
    after: str = "",
) -> list[Line]:
    """Return rows for a value or a gradient: a number, a small list, or a sparkline over its
    range.
    """
    color, spark = (theme.gradient, theme.gradient_spark) if gradient else (theme.ink, theme.spark)
    name = tag(title, theme)
    if value is None:
        return [pair(name, Words(missing, color=theme.faint))]
    if not value.is_measured:
        return []  # its shape is all that is known
    written = written_out(value)
    if written is not None:
        return [pair(name, Words(written, TEXT_SIZE, color), Words(after, TEXT_SIZE, color))]
    strip = numbers.sparkline(value)
    below = Words(extent(value), color=color)
    return (
        [pair(name, Words(strip, TEXT_SIZE, spark)), pair(None, below)]
        if strip
        else [pair(name, below)]
    )


# ---- flat boxes


class BoxFacts(NamedTuple):
    """The facts of a box, in the order in which they are written."""

    name: Words
    kind: Words
    shape: Words
    value: Words
    extent: Words
    gradient: Words


NOTHING = Words("")


def flat_lines(facts: BoxFacts, lines: int, widths: Sequence[float] = ()) -> list[Line]:
    """Return a box's text in one line (its columns of the given widths) or in two."""
    if lines == 1 and widths:
        columns = (
            (fact, round(width + GAP)) for fact, width in zip(facts, widths, strict=True) if width
        )
        return [tuple(Cell((fact,), width=width) for fact, width in columns)]
    parts = (facts,) if lines == 1 else (facts[:3], facts[3:])
    return [wide(*part, separator=SEPARATOR) for part in parts if any(fact.text for fact in part)]


def column_widths(lines: Sequence[BoxFacts]) -> list[float]:
    """Return the width of each column, so that every line's facts fit."""
    return [max(fact.width for fact in column) for column in zip(*lines, strict=True)]


def box_facts(
    name: str, kind: str, value: Value | None, gradient: str, theme: Theme, *, values: bool = True
) -> BoxFacts:
    """Return the facts of a box; without `values` only the shape of its value."""
    shape = numbers.shape(value) if value is not None and value.shape else ""
    measured = value if values and value is not None and value.is_measured else None
    return BoxFacts(
        Words(clip(name), NAME_SIZE, bold=True),
        Words(clip(kind, LONGEST_KIND), color=theme.faint),
        Words(shape, color=theme.faint),
        *value_facts(measured, theme),
        Words(gradient, color=theme.gradient),
    )


def value_facts(value: Value | None, theme: Theme) -> tuple[Words, Words]:
    """Return a number, a short list, or a strip with its range."""
    if value is None:
        return NOTHING, NOTHING
    written = written_out(value)
    if written is not None and (not value.shape or len(written) <= LONGEST_LIST):
        return Words(written, color=theme.ink), NOTHING
    strip = Words(numbers.sparkline(value, FLAT_BARS), TEXT_SIZE, theme.spark)
    return strip, Words(extent(value), color=theme.ink)


def whole_words(constants: str) -> str:
    """Return as many of an operation's constants ("dim=1 keepdim=True") as a flat box has room for,
    each whole.
    """
    parts = re.split(r" (?=\w+=)", constants)
    while len(parts) > 1 and len(" ".join(parts)) > LONGEST_CONSTANTS:
        parts.pop()
    return clip(" ".join(parts), LONGEST_CONSTANTS)


def gradient_text(tensor: TensorRecord, flowed: Value | None, detail: bool) -> str:
    """Return "|grad| 0.51" of a kept gradient, "(|grad| 0.51)" of one that passed, "grad 2" of a
    number, "grad None" of a leaf.
    """
    gradient = tensor.grad if tensor.grad is not None else flowed
    if gradient is None:
        return "grad None" if tensor.requires_grad and (tensor.is_leaf or detail) else ""
    if not gradient.is_measured:
        return ""
    size = numbers.number(gradient.norm if gradient.shape else gradient.data, 3)
    shown = f"|grad| {size}" if gradient.shape else f"grad {size}"
    return shown if tensor.grad is not None else f"({shown})"


def shape_change(before: Value | None, after: Value | None, features: int | None = None) -> str:
    """Return "400 → 120" of the dimension `features`; without it, if one dimension differs between
    an input and its result, or the channels of images do; else "".
    """
    if before is None or after is None or len(before.shape) != len(after.shape):
        return ""
    sizes = list(zip(before.shape, after.shape, strict=True))
    differ = [(a, b) for a, b in sizes if a != b]
    if len(differ) > 1 and len(sizes) >= IMAGES:
        differ = [(a, b) for a, b in sizes[1:2] if a != b]
    if features is not None and len(sizes) > 1:
        differ = [sizes[features]]
    return f"{differ[0][0]:,} → {differ[0][1]:,}" if len(differ) == 1 else ""


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
        low = numbers.number(statistics.low, 3)
        high = numbers.number(statistics.high, 3)
        parts.append(
            f"all {low}"
            if statistics.low == statistics.high and not statistics.nan and not statistics.inf
            else f"{low} … {high}"
        )
    parts += [
        f"{count} {name}"
        for count, name in ((statistics.nan, "NaN"), (statistics.inf, "Inf"))
        if count
    ]
    return ", ".join(parts) or "empty"


def amount(value: Value) -> str:
    """Return the elements of a value if they are few, else its range."""
    written = written_out(value)
    return written if written is not None else extent(value)


def lines_of(span: Span | None) -> list[str]:
    return [] if span is None else [span.where]
