"""Text for Graphviz: the lines of a label as data with their sizes, and labels and tooltips written
and escaped.

A label is a table. Each of its lines is a tuple of cells, each cell holds pieces of text (`Words`).
Widths of text are averages for DejaVu Sans.

Graphviz reads an HTML-like label (`<...>`) with an XML parser, and a plain label with its own
backslash escapes and entities. Names, source text and constants of a program may hold any
character, so all text passes through `text` or `escape_attribute`.
"""

from __future__ import annotations

import re

from gradtrace.annotations import Iterable, NamedTuple
from gradtrace.views.style import SMALL_SIZE

# widths of letters and of a sparkline's bar, as shares of the font's size
LETTER, BOLD_LETTER, BAR = 0.59, 0.66, 0.77
LINE_HEIGHT = 1.2  # as a share of the font's size
COLUMNS = 24  # columns of a label's table
LONGEST = 32  # characters of a label; the tooltip has all of it
REORDERING = frozenset(
    (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), *range(0xFFF9, 0xFFFC))
)


def _visible(char: str) -> str:
    """A character that XML can hold and that does not reorder text: control characters as their
    pictures (U+2400...), the rest as U+FFFD.
    """
    code = ord(char)
    if code in (9, 10, 13, 0x2028, 0x2029):
        return " "
    if code < 32:
        return chr(0x2400 + code)
    if code == 127:
        return "\u2421"
    bad = (
        code in REORDERING
        or 128 <= code < 160
        or 0xD800 <= code < 0xE000
        or code & 0xFFFE == 0xFFFE
    )
    return "\ufffd" if bad else char


def visible(source: str) -> str:
    """Return `source` on one line, without characters that XML or UTF-8 cannot represent."""
    if source.isascii() and source.isprintable():
        return source
    return "".join(map(_visible, source))


def clip(source: str, longest: int = LONGEST) -> str:
    """Shorten to at most `longest` characters in the middle, where source text matters least.

    Words stay whole, except one that is longer than the label.
    """
    if len(source) <= longest:
        return source
    step = STEP.fullmatch(source)
    # the call's arguments say nothing about one of its steps
    if step is not None and one_call(step[3]):
        source = f"{step[1]}{step[2]}(…){step[4]}"
        if len(source) <= longest:
            return source
    head = longest * 2 // 3
    before = source[:head]
    if inside_word(source, head):
        before = whole(before, r".*\W", head // 2)
        # the first word is longer than that: as far as it goes
        if inside_word(source, len(before)):
            first = re.match(r"\w+", source)
            before = first.group() if first is not None and len(first.group()) < longest else before
    room = longest - max(head, len(before)) - 1
    after = source[len(source) - room :] if room else ""
    if after and inside_word(source, len(source) - room):
        after = whole(after, r"\W.*", 2)
    return before.rstrip(" .") + "…" + after.lstrip()


# "mul in torch.autograd.grad(y, x) #2"
STEP = re.compile(r"(\w+ in )(?:\w+\.)*(\w+)(\(.*\))((?: #\d+)?)")


def one_call(arguments: str) -> bool:
    """Whether the last parenthesis closes the first one."""
    depth = 0
    for i, char in enumerate(arguments):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if not depth:
            return i == len(arguments) - 1
    return False


def inside_word(source: str, at: int) -> bool:
    return re.match(r"\w\w", source[at - 1 : at + 1]) is not None


def whole(part: str, pattern: str, least: int) -> str:
    """Return `part` without the partial word at its cut end, if enough is left."""
    match = re.search(pattern, part)
    return match.group() if match is not None and len(match.group()) >= least else part


def text(source: str) -> str:
    """Return `source` escaped as text within an HTML-like label."""
    safe = visible(source)
    for char, entity in (
        ("&", "&amp;"),
        ("<", "&lt;"),
        (">", "&gt;"),
        ('"', "&quot;"),
        ("\u00a0", "&#160;"),
    ):
        safe = safe.replace(char, entity)
    # Graphviz puts the node's name for \N and the like and halves double backslashes, even here,
    # with no way to escape them; but not across tags.
    return re.sub(r"\\(?=[\\GNETHL])", r"<FONT>\\</FONT>", safe)


def escape_attribute(lines: str | Iterable[str]) -> str:
    """Escape a plain-text (escString) attribute such as a tooltip; several lines are joined by line
    breaks.

    A backslash is written four times because Graphviz resolves escapes twice here.
    """
    from graphviz import nohtml

    several = (lines,) if isinstance(lines, str) else lines
    escaped: str = nohtml(
        "\\n".join(visible(line).replace("&", "&amp;").replace("\\", "\\" * 4) for line in several)
    )
    return escaped


class Words(NamedTuple):
    """A piece of text in one look; `size` is in points."""

    text: str
    size: float = SMALL_SIZE
    color: str = ""
    bold: bool = False

    @property
    def width(self) -> float:
        """The approximate width in points."""
        return text_width(self.text, self.size, self.bold)

    @property
    def height(self) -> float:
        """The height of a line of this text in points."""
        return self.size * LINE_HEIGHT + 2

    @property
    def markup(self) -> str:
        """The text as label content; "" without text."""
        if not self.text:
            return ""
        color = f' COLOR="{self.color}"' if self.color else ""
        content = text(self.text)
        return f'<FONT{color} POINT-SIZE="{self.size:g}">{f"<B>{content}</B>" if self.bold else content}</FONT>'


def text_width(written: str, size: float, bold: bool = False) -> float:
    """Return the approximate width of a text in points."""
    bars = sum("▁" <= char <= "█" for char in written)
    return size * (bars * BAR + (len(written) - bars) * (BOLD_LETTER if bold else LETTER))


class Cell(NamedTuple):
    """A cell of a label's table: its text, aligned left, over a number of columns, at least `width`
    points wide.
    """

    words: tuple[Words, ...] = ()
    columns: int = 1
    width: int = 0
    port: str = ""
    separator: str = ""  # markup between two pieces of text
    empty: str = ""  # markup of a cell without text

    @property
    def markup(self) -> str:
        attributes = ' ALIGN="LEFT"' if self != SPARE else ""
        attributes += f' COLSPAN="{self.columns}"' if self.columns > 1 else ""
        attributes += f' WIDTH="{self.width}"' if self.width else ""
        attributes += f' PORT="{self.port}"' if self.port else ""
        content = self.separator.join(words.markup for words in self.words if words.text)
        return f"<TD{attributes}>{content or self.empty}</TD>"


Line = tuple[Cell, ...]
SPARE = Cell(columns=COLUMNS - 2)


def wide(*words: Words, separator: str = "") -> Line:
    """Return a line over the label's whole width."""
    return (Cell(words, COLUMNS, separator=separator),)


def pair(tag: Words | None, *content: Words, port: str = "") -> Line:
    """Return a line of two left-aligned columns: a tag and its text.

    Graphviz distributes spare width equally among columns; an empty cell at the right takes nearly
    all of it.
    """
    return Cell(() if tag is None else (tag,), empty=" "), Cell(content, port=port), SPARE


def label(lines: Iterable[Line]) -> str:
    """Return a whole label, written as a table of these lines."""
    body = "".join(f"<TR>{''.join(cell.markup for cell in line)}</TR>" for line in lines)
    return f'<<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1">{body}</TABLE>>'
