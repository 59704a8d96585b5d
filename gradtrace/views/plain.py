"""Write tables and trees for a pipe or a file: every row on one line of any width, nothing left
out.

A terminal gets the same rows from `views/terminal.py`, which this module never imports: rich takes
longer to load than a small run takes.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Iterable, Iterator, Sequence
from gradtrace.views import cells

if TYPE_CHECKING:
    from gradtrace.views.layout import Branch, Cell, Column, LayoutOptions

FORK = "├─ "
LAST = "└─ "
LINE = "│  "
NEXT = "← "
ASCII = dict(
    zip(map(ord, "├└─│←…−×÷·"), ["|", "`", "-", "|", "<", "...", "-", "*", "/", "-"], strict=True)
)


def table(columns: Sequence[Column], options: LayoutOptions) -> tuple[list[str], list[str]]:
    """Return the titles with the rule below them, and a line for each row."""
    widths = [column.width for column in columns]
    sides = [column.right for column in columns]

    def line(texts: Iterable[str], styles: Iterable[str]) -> str:
        padded = []
        for text, style, width, right in zip(texts, styles, widths, sides, strict=True):
            space = " " * (width - cells.width(text))
            painted = cells.paint(text, style) if options.color else text
            padded.append(space + painted if right else painted + space)
        return cells.GAP.join(padded).rstrip()

    length = sum(widths) + len(cells.GAP) * (len(columns) - 1)
    rule = ("-" if options.ascii else "─") * length
    head = line([column.title for column in columns], ["bold"] * len(columns))
    rows: Iterator[tuple[Cell, ...]] = zip(*(column.cells for column in columns), strict=True)
    body = [line([cell.text for cell in row], [cell.style for cell in row]) for row in rows]
    return [head, cells.paint(rule, "dim") if options.color else rule], body


def tree(branches: Sequence[Branch], options: LayoutOptions) -> str:
    """Return branches with lines that join them, ended by a line break."""
    lines: list[str] = []
    waiting = [(branch, "", "") for branch in reversed(branches)]
    while waiting:
        branch, start, under = waiting.pop()
        for parts in branch.lines:
            texts = [cells.paint(text, style) if options.color else text for text, style in parts]
            lines.append((start + (cells.GAP + " ").join(texts)).rstrip())
            start = under + NEXT
        for place, child in reversed(list(enumerate(branch.children, 1))):
            last = place == len(branch.children)
            waiting.append(
                (child, under + (LAST if last else FORK), under + ("   " if last else LINE))
            )
    text = "\n".join(lines) + "\n"
    return text.translate(ASCII) if options.ascii else text
