"""Text for Graphviz: HTML-like labels, tooltips, and escaping for both.

Graphviz reads an HTML-like label (`<...>`) with an XML parser, and a plain label with its own backslash escapes and
entities. Names, source text and constants of a program may hold any character, so all text passes through `text` or
`escape_attribute`.
"""

from __future__ import annotations

import re

from gradtrace.annotations import Iterable

LONGEST = 32  # characters of a label; the tooltip has all of it
REORDERING = frozenset((0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), *range(0xFFF9, 0xFFFC)))


def _visible(char: str) -> str:
    """A character that XML can hold and that does not reorder text: control characters as their pictures
    (U+2400...), the rest as U+FFFD.
    """
    code = ord(char)
    if code in (9, 10, 13, 0x2028, 0x2029):
        return " "
    if code < 32:
        return chr(0x2400 + code)
    if code == 127:
        return "\u2421"
    bad = code in REORDERING or 128 <= code < 160 or 0xD800 <= code < 0xE000 or code & 0xFFFE == 0xFFFE
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
    if step is not None and one_call(step[3]):  # the call's arguments say nothing about one of its steps
        source = f"{step[1]}{step[2]}(…){step[4]}"
        if len(source) <= longest:
            return source
    head = longest * 2 // 3
    before = source[:head]
    if inside_word(source, head):
        before = whole(before, r".*\W", head // 2)
        if inside_word(source, len(before)):  # the first word is longer than that: as far as it goes
            first = re.match(r"\w+", source)
            before = first.group() if first is not None and len(first.group()) < longest else before
    room = longest - max(head, len(before)) - 1
    after = source[len(source) - room :] if room else ""
    if after and inside_word(source, len(source) - room):
        after = whole(after, r"\W.*", 2)
    return before.rstrip(" .") + "…" + after.lstrip()


STEP = re.compile(r"(\w+ in )(?:\w+\.)*(\w+)(\(.*\))((?: #\d+)?)")  # "mul in torch.autograd.grad(y, x) #2"


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
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        safe = safe.replace(char, entity)
    # Graphviz puts the node's name for \N and the like and halves double backslashes, even here, with no way to
    # escape them; but not across tags.
    return re.sub(r"\\(?=[\\GNETHL])", r"<FONT>\\</FONT>", safe)


def escape_attribute(lines: str | Iterable[str]) -> str:
    """Escape a plain-text (escString) attribute such as a tooltip; several lines are joined by line breaks.

    A backslash is written four times because Graphviz resolves escapes twice here.
    """
    from graphviz import nohtml

    several = (lines,) if isinstance(lines, str) else lines
    escaped: str = nohtml("\\n".join(visible(line).replace("&", "&amp;").replace("\\", "\\" * 4) for line in several))
    return escaped


def font(content: str, *, color: str = "", size: float = 0, bold: bool = False) -> str:
    """Return label content in a colour, size or weight."""
    if not content:
        return ""
    attributes = (f' COLOR="{color}"' if color else "") + (f' POINT-SIZE="{size:g}"' if size else "")
    inner = f"<B>{content}</B>" if bold else content
    return f"<FONT{attributes}>{inner}</FONT>" if attributes else inner


def label(lines: Iterable[str]) -> str:
    """Return a whole label from its lines, each a run of cells that `wide` or `pair` made."""
    body = "".join(f"<TR>{line}</TR>" for line in lines)
    return f'<<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1">{body}</TABLE>>'


COLUMNS = 24


def wide(content: str) -> str:
    """Return a line over the label's whole width."""
    return f'<TD ALIGN="LEFT" COLSPAN="{COLUMNS}">{content}</TD>'


def pair(tag: str, content: str, port: str = "") -> str:
    """Return a line of two left-aligned columns: a tag and its text.

    Graphviz distributes spare width equally among columns; an empty cell at the right takes nearly all of it.
    """
    name = f' PORT="{port}"' if port else ""
    cells = f'<TD ALIGN="LEFT">{tag or " "}</TD><TD ALIGN="LEFT"{name}>{content}</TD>'
    return f'{cells}<TD COLSPAN="{COLUMNS - 2}"></TD>'
