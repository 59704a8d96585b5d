"""Flat boxes: a node's facts in one line or two, so that a chain of them reads like the lines of a page.

    fc1  Linear 400 → 120   (4, 120)  ▂▅▇▃  -0.45 … 0.65  |grad| 0.51

In one line the facts of all operations and modules stand below one another, in columns of the same widths.
"""

from __future__ import annotations

import re

from gradtrace.annotations import NamedTuple, Sequence
from gradtrace.trace.record import TensorRecord, Value
from gradtrace.views import boxes, numbers
from gradtrace.views.frame import text_width
from gradtrace.views.labels import clip, font, text, wide
from gradtrace.views.style import NAME_SIZE, SMALL_SIZE, TEXT_SIZE, Theme

BARS = 8  # of a strip
GAP = 8  # points between two columns
LONGEST_LIST = 22  # characters of a small array that is written out
LONGEST_KIND = 30
LONGEST_CONSTANTS = 18
SEPARATOR = "&#160; "


class Fact(NamedTuple):
    """A piece of text with its look."""

    words: str
    size: float = SMALL_SIZE
    color: str = ""
    bold: bool = False

    @property
    def width(self) -> float:
        return text_width(self.words, self.size, self.bold)

    @property
    def markup(self) -> str:
        return font(text(self.words), size=self.size, color=self.color, bold=self.bold)


class BoxFacts(NamedTuple):
    """The facts of a box, in the order in which they are written."""

    name: Fact
    kind: Fact
    shape: Fact
    value: Fact
    extent: Fact
    gradient: Fact


NOTHING = Fact("")


def shown(facts: BoxFacts, lines: int, widths: Sequence[float] = ()) -> list[str]:
    """Return a box's text in one line (its columns of the given widths) or in two."""
    if lines == 1 and widths:
        return ["".join(cell(fact, width) for fact, width in zip(facts, widths, strict=True) if width)]
    if lines == 1:
        return [run(facts)]
    return [run(part) for part in (facts[:3], facts[3:]) if any(fact.words for fact in part)]


def run(facts: Sequence[Fact]) -> str:
    return wide(SEPARATOR.join(fact.markup for fact in facts if fact.words))


def cell(fact: Fact, width: float) -> str:
    return f'<TD ALIGN="LEFT" WIDTH="{width + GAP:.0f}">{fact.markup}</TD>'


def columns(lines: Sequence[BoxFacts]) -> list[float]:
    """Return the width of each column, so that every line's facts fit."""
    return [max(fact.width for fact in column) for column in zip(*lines, strict=True)]


# ---- the facts


def line(
    name: str, kind: str, value: Value | None, gradient: str, theme: Theme, *, values: bool = True, spread: bool = True
) -> BoxFacts:
    """Return the facts of a box; without `values` only the shape of its value, without `spread` not its range."""
    shape = numbers.shape(value) if value is not None and value.shape else ""
    measured = value if values and value is not None and value.is_measured else None
    return BoxFacts(
        Fact(clip(name), NAME_SIZE, bold=True),
        Fact(clip(kind, LONGEST_KIND), color=theme.faint),
        Fact(shape, color=theme.faint),
        *value_facts(measured, theme, spread),
        Fact(gradient, color=theme.gradient),
    )


def value_facts(value: Value | None, theme: Theme, spread: bool) -> tuple[Fact, Fact]:
    """Return a number, a short list, or a strip with its range."""
    if value is None:
        return NOTHING, NOTHING
    written = boxes.written_out(value)
    if written is not None and (not value.shape or len(written) <= LONGEST_LIST):
        return Fact(written, color=theme.ink), NOTHING
    strip = Fact(numbers.sparkline(value, BARS), TEXT_SIZE, theme.spark)
    return strip, Fact(boxes.extent(value), color=theme.ink) if spread else NOTHING


def whole_words(constants: str) -> str:
    """Return as many of an operation's constants ("dim=1 keepdim=True") as a flat box has room for, each whole."""
    parts = re.split(r" (?=\w+=)", constants)
    while len(parts) > 1 and len(" ".join(parts)) > LONGEST_CONSTANTS:
        parts.pop()
    return clip(" ".join(parts), LONGEST_CONSTANTS)


def gradient_text(tensor: TensorRecord, flowed: Value | None, detail: bool) -> str:
    """Return "|grad| 0.51" of a kept gradient, "(|grad| 0.51)" of one that passed, "grad 2" of a number, "grad None"
    of a leaf.
    """
    gradient = tensor.grad if tensor.grad is not None else flowed
    if gradient is None:
        return "grad None" if tensor.requires_grad and (tensor.is_leaf or detail) else ""
    if not gradient.is_measured:
        return ""
    size = numbers.number(gradient.norm if gradient.shape else gradient.data, 3)
    shown = f"|grad| {size}" if gradient.shape else f"grad {size}"
    return shown if tensor.grad is not None else f"({shown})"


def change(before: Value | None, after: Value | None) -> str:
    """Return "400 → 120" if one dimension differs between an input and its result, else ""."""
    if before is None or after is None or len(before.shape) != len(after.shape):
        return ""
    differ = [(a, b) for a, b in zip(before.shape, after.shape, strict=True) if a != b]
    return f"{differ[0][0]:,} → {differ[0][1]:,}" if len(differ) == 1 else ""
