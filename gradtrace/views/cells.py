"""Measure and shorten text in terminal columns.

A character may take two columns (CJK) or none (combining marks). Control characters and marks that
reorder text are escaped, so that no name or source text can move the cursor or hide its true order.
"""

from __future__ import annotations

GAP = "  "  # between the columns of a table
STYLE = r"\x1b\[(?:0|[12](?:;3[1-6])?|3[1-6])m"  # the codes of `paint`: bold or dim, and a colour
# Characters that no output contains: controls but for tab and line break, and marks that reorder or
# break a line.
HARMFUL = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb"


def bytes_text(size: float) -> str:
    """Return a number of bytes as text: "16 B", "3.1 kB", "2 MB" (powers of 1000)."""
    for unit in ("B", "kB", "MB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"


def counted(n: int, noun: str) -> str:
    """Return a count with its noun: "1 tensor", "2 tensors"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def width(text: str) -> int:
    """Return the number of columns that `text` takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(map(_char_width, text))


def _char_width(char: str) -> int:
    if char < "\u0300":
        return 1
    from unicodedata import combining, east_asian_width

    if combining(char):
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


def visible(text: str) -> str:
    """Return `text` on one line: a tab or a line break is a space, any other unprintable character
    is escaped.
    """
    if text.isprintable():
        return text
    return "".join(map(_visible, text))


def _visible(char: str) -> str:
    if char.isprintable():
        return char
    if char in "\t\n\r":
        return " "
    return char.encode("unicode_escape").decode("ascii")


def harmless(text: str, *, styled: bool = False) -> str:
    """Return a text in which no character can move the cursor, change colours or hide other text.

    All output of a command to stdout and stderr goes through here, as the last step: a name in a
    record, a message or a cell may hold any character. `styled`: the codes of `paint` stay. The
    escapes are those of JSON, which stays valid.
    """
    plain = text if styled else text.replace("\n", "").replace("\t", "")
    if plain.isprintable():
        return text
    import re

    pattern = f"{STYLE}|[{HARMFUL}]" if styled else f"[{HARMFUL}]"
    return re.sub(
        pattern, lambda match: match[0] if match[0][1:] else f"\\u{ord(match[0]):04x}", text
    )


def clip(text: str, columns: int, ellipsis: str = "…") -> str:
    """Cut `text` to at most `columns`, with `ellipsis` at the end; a number is never cut inside,
    which would change its value.
    """
    if width(text) <= columns:
        return text
    return text[: boundary(text, fitting(text, columns - width(ellipsis)))] + ellipsis


def clip_middle(text: str, columns: int, ellipsis: str = "…") -> str:
    """Cut `text` to at most `columns`, in the middle, where source text matters least; a number is
    never cut inside.
    """
    if width(text) <= columns:
        return text
    room = columns - width(ellipsis)
    head = boundary(text, fitting(text, (room + 1) // 2))
    tail = boundary(text, len(text) - fitting(text[::-1], room // 2), after=True)
    return text[:head] + ellipsis + text[tail:]


def fitting(text: str, columns: int) -> int:
    """Return how many characters from the start fit into the columns."""
    used = 0
    for i, char in enumerate(text):
        used += _char_width(char)
        if used > columns:
            return i
    return len(text)


NUMERIC = frozenset("0123456789.eE+-")


def boundary(text: str, cut: int, after: bool = False) -> int:
    """Return the position nearest to `cut` that is not inside a number: `cut` itself, or before (or
    `after`) the number.

    A word that begins with a letter is a name, even if it ends in digits, and may be cut.
    """
    if not 0 < cut < len(text) or text[cut - 1] not in NUMERIC or text[cut] not in NUMERIC:
        return cut
    start = cut
    end = cut
    while start and text[start - 1] in NUMERIC:
        start -= 1
    while end < len(text) and text[end] in NUMERIC:
        end += 1
    is_name = start and (text[start - 1].isalnum() or text[start - 1] == "_")
    if is_name or text[start] in "eE" or not any(char.isdigit() for char in text[start:end]):
        return cut
    return end if after else start


def wrap(text: str, columns: int, marks: str = "") -> list[str]:
    """Break `text` into lines of at most `columns` (at least 1), between words; a longer word is
    broken after the last character of `marks` that fits, else anywhere but in a number.
    """
    lines = []
    line = ""
    columns = max(columns, 1)
    for word in text.split(" "):
        while width(word) > columns:
            head = clip(word, columns, "") or word[:columns]  # a number may be longer than a line
            cuts = (
                cut
                for cut in range(len(head), 0, -1)
                if head[cut - 1] in marks and boundary(word, cut) == cut
            )
            head = head[: next(cuts, len(head))]
            lines += [line] * bool(line) + [head]
            line = ""
            word = word[len(head) :]
        if line and width(line) + 1 + width(word) > columns:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]


def paint(text: str, style: str) -> str:
    """Return `text` in a style of rich, such as "bold" or "red"; unchanged if the style or the text
    is empty.
    """
    if not (style and text):
        return text
    from gradtrace.views import terminal

    return terminal.styled(text, style)
