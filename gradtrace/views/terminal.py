"""Draw tables, trees, bars and source code for a terminal, with rich; return them as text with
codes for colours.

What does not fit is broken into several lines within its cell, so that nothing is lost; a number is
never broken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from itertools import islice
from typing import Any, Literal

from rich.box import Box
from rich.color import Color
from rich.console import Console, Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.style import Style
from rich.table import Table
from rich.terminal_theme import TerminalTheme
from rich.text import Text
from rich.tree import Tree

from gradtrace.views import cells
from gradtrace.views.layout import Branch, Cell, Column, LayoutOptions, brief, packed, total
from gradtrace.views.plain import ASCII, NEXT

# What a cell never holds; it stands for the rule below titles, the end of a row, and a space that
# is not broken.
RULE = "\ue000"
END_OF_ROW = "\ue001"
SPACE = "\ue002"
BOX = "\n".join(
    ["    ", "    ", f" {RULE * 2} ", "    ", f" {END_OF_ROW * 2} ", "    ", "    ", "    "]
)
MARKS = ".,_)]"  # a word that is too long is broken after one of these
SHORTEST = 10  # columns of the first cell of a row that takes several lines
GUIDE = 4  # columns of the lines before a branch for each level of a tree
# columns that each line of a tree has at least; a part of at most so many stays on one line
WHOLE = 40
BAR = 24  # columns
HIGHLIGHTS = {
    ("Keyword",): Style(color="blue", bold=True),
    ("Operator", "Word"): Style(color="blue", bold=True),
    ("Literal", "Number"): Style(color="cyan"),
    ("Literal", "String"): Style(color="green"),
    ("Comment",): Style(dim=True, bold=False),
}
# Each colour has a contrast of 4.5:1 or nearly so on white and on a dark page.
COLOURS = ("#000000", "#d13438", "#1a8a3a", "#a06a00", "#3b78d8", "#a050c0", "#0f8390", "#808080")
PAGE = TerminalTheme(
    (255, 255, 255), (0, 0, 0), [Color.parse(colour).get_truecolor() for colour in COLOURS]
)
FONT = "font-family:var(--jp-code-font-family,Menlo,Consolas,'DejaVu Sans Mono',monospace)"
FRAME = f"overflow-x:auto;white-space:pre;line-height:1.4;margin:0;background:none;{FONT}"
ELEMENT = f'<pre class="gradtrace" style="{FRAME}">{{code}}</pre>'


class Paper(StringIO):
    """A file with the encoding of the terminal, which decides what rich draws lines with."""

    encoding = "utf-8"


def draw(content: RenderableType, options: LayoutOptions) -> str:
    """Return what rich draws in the terminal's width."""
    paper = Paper()
    paper.encoding = "ascii" if options.ascii else "utf-8"
    console = Console(
        file=paper,
        width=options.width or 10_000,
        color_system="standard" if options.color else None,
        force_terminal=True,
        force_jupyter=False,
        no_color=False,
        legacy_windows=False,
        highlight=False,
        emoji=False,
        markup=False,
    )
    with console.capture() as captured:
        console.print(content)
    return "".join(line.rstrip() + "\n" for line in captured.get().splitlines())


def without_codes(text: str) -> str:
    """Return a terminal's text without its codes."""
    return Text.from_ansi(text, end="").plain + "\n" * text.endswith("\n")


def html(text: str) -> str:
    """Return a terminal's text as one HTML element for a notebook, with the same colours."""
    console = Console(file=Paper(), record=True, width=10_000, force_jupyter=False, highlight=False)
    console.print(Text.from_ansi(text), soft_wrap=True)
    return console.export_html(theme=PAGE, code_format=ELEMENT, inline_styles=True)


def styled(text: str, style: str) -> str:
    return Style.parse(style).render(text)


# ---- tables


def table(
    columns: Sequence[Column],
    options: LayoutOptions,
    shrink: Mapping[str, int],
    spare: Sequence[str],
) -> tuple[list[str], list[list[str]]]:
    """Return the titles with the rule below them, and the lines of each row; see `layout.lines`."""
    limit = options.width or 0
    if total(columns) > limit:
        columns = [brief(column) if column.title in shrink else column for column in columns]
    for title in spare:
        if least(columns, shrink, whole_words=True) > limit:
            columns = [column for column in columns if column.title != title]
    drawn = grid(box=Box(BOX, ascii=options.ascii), show_header=True)
    if least(columns, shrink) > limit:
        fill_folded(drawn, columns, limit)
    else:
        chosen = fitted(columns, limit, shrink)
        for column, width in zip(columns, chosen, strict=True):
            add_column(drawn, column, width)
        for row in rows_of(columns):
            drawn.add_row(*map(text_of, row, chosen), end_section=True)
    lines = draw(drawn, options).splitlines()
    height = 1 + next(place for place, line in enumerate(lines) if RULE in line)
    rule = lines[height - 1].replace(RULE, "-" if options.ascii else "─")
    lines[height - 1] = styled(rule, "dim") if options.color else rule
    rows: list[list[str]] = [[]]
    for line in lines[height:]:
        if END_OF_ROW in line:
            rows.append([])
        else:
            rows[-1].append(line)
    return lines[:height], rows


def grid(**settings: Any) -> Table:
    """Return a table without lines around and between its cells."""
    looks = {
        "show_header": False,
        "show_edge": False,
        "pad_edge": False,
        "header_style": "",
        "border_style": "",
        **settings,
    }
    return Table(padding=(0, len(cells.GAP) - 1, 0, 0), **looks)


def add_column(drawn: Table, column: Column, width: int) -> None:
    title = Text.assemble((column.title, "bold"))
    drawn.add_column(title, justify=side(column), width=width, overflow="fold")


def side(column: Column) -> Literal["left", "right"]:
    return "right" if column.right else "left"


def text_of(cell: Cell, width: int) -> Text:
    lines = cells.wrap(cell.text, width, MARKS)
    return Text("\n").join(Text.assemble((line, cell.style)) for line in lines)


def rows_of(columns: Sequence[Column]) -> Iterable[tuple[Cell, ...]]:
    return zip(*(column.cells for column in columns), strict=True)


def least(
    columns: Sequence[Column], shrink: Mapping[str, int], *, whole_words: bool = False
) -> int:
    """Return the width of the table with every column at its smallest width."""
    return sum(
        floor(column, shrink, whole_words=whole_words) + len(cells.GAP) for column in columns
    ) - len(cells.GAP)


def floor(column: Column, shrink: Mapping[str, int], *, whole_words: bool = False) -> int:
    """Return the smallest width of a column: that of `shrink`, or of its title or a number, which
    is never broken.
    """
    if column.title not in shrink:
        return column.width
    texts = (
        text
        for cell in column.cells
        for text in (cell.text.split() if whole_words else [cell.text])
    )
    whole = max((cells.width(text) for text in texts if whole_words or is_number(text)), default=0)
    return min(column.width, max(shrink[column.title], cells.width(column.title), whole))


def is_number(text: str) -> bool:
    return text != "" and cells.NUMERIC.issuperset(text) and any(map(str.isdigit, text))


def fitted(columns: Sequence[Column], limit: int, shrink: Mapping[str, int]) -> list[int]:
    """Return the columns' widths. The widest of those that may be narrower are narrowed until the
    table fits, first by breaking texts between words.
    """
    chosen = [column.width for column in columns]
    over = total(columns) - limit
    for whole_words in (True, False):
        floors = [floor(column, shrink, whole_words=whole_words) for column in columns]
        while over > 0 and (
            able := [place for place, width in enumerate(chosen) if width > floors[place]]
        ):
            chosen[max(able, key=chosen.__getitem__)] -= 1
            over -= 1
    return chosen


def fill_folded(drawn: Table, columns: Sequence[Column], limit: int) -> None:
    """Put the first column beside lines with as many of the others as fit into each."""
    columns = [column._replace(title=column.title.replace("\n", "")) for column in columns]
    first = min(columns[0].width, max(SHORTEST, limit * 2 // 5))
    room = max(SHORTEST, limit - first - len(cells.GAP))
    groups = [
        [(min(column.width, room), side(column)) for column in group]
        for group in packed(columns[1:], room)
    ]

    def beside(row: Iterable[Cell]) -> Group:
        shown = []
        rest = iter(row)
        for group in groups:
            filled = list(islice(rest, len(group)))
            if any(cell.text for cell in filled):
                part = grid(box=None)
                part.padding = (0, len(cells.GAP), 0, 0)
                for width, justify in group:
                    part.add_column(justify=justify, width=width, overflow="fold")
                widths = [width for width, _ in group]
                part.add_row(*map(text_of, filled, widths))
                shown.append(part)
        return Group(*shown)

    below = "\n" * (len(groups) - 1)  # rich puts titles at the foot of their cells
    add_column(drawn, columns[0]._replace(title=columns[0].title + below), first)
    drawn.add_column(beside(Cell(column.title, "bold") for column in columns[1:]))
    for cell, *others in rows_of(columns):
        drawn.add_row(text_of(cell, first), beside(others), end_section=True)


# ---- the rest


def tree(branches: Sequence[Branch], options: LayoutOptions) -> str:
    """Return branches with lines that join them; a long line goes on below its start."""
    gap = Text(cells.GAP + " ")
    root = Tree("", hide_root=True, guide_style="dim")
    waiting = [(branch, root, 0) for branch in reversed(branches)]
    deepest = 0
    while waiting:
        branch, above, depth = waiting.pop()
        deepest = max(deepest, depth)
        lines = [gap.join(map(whole_text, parts)) for parts in branch.lines]
        node = above.add(Text("\n" + NEXT).join(lines))
        waiting += [(child, node, depth + 1) for child in reversed(branch.children)]
    width = max(options.width or 0, deepest * GUIDE + WHOLE)
    text = draw(root, options._replace(width=width)).replace(SPACE, " ")
    return text.translate(ASCII) if options.ascii else text


def whole_text(part: tuple[str, str]) -> Text:
    """Return a part of a tree's line, which is not broken between words unless it is long."""
    text, style = part
    whole = text.replace(" ", SPACE) if cells.width(text) <= WHOLE else text
    return Text.assemble((whole, style), overflow="fold")


def bar(share: float, options: LayoutOptions) -> str:
    """Return a progress bar of which `share`, from 0 to 1, is done."""
    done = ProgressBar(1.0, share, BAR, style="dim", complete_style="green", finished_style="green")
    return draw(done, options).rstrip("\n")


def spinner(seconds: float, options: LayoutOptions) -> str:
    """Return the mark that turns while something goes on."""
    return draw(Spinner("line" if options.ascii else "dots").render(seconds), options).rstrip("\n")


def code(text: str, options: LayoutOptions, style: str = "") -> str:
    """Return a line of Python with its keywords, numbers, strings and comments in colours."""
    from rich.syntax import ANSISyntaxTheme, Syntax

    highlighted = Syntax("", "python", theme=ANSISyntaxTheme(HIGHLIGHTS)).highlight(text)
    highlighted.stylize_before(style)
    return draw(highlighted, options).rstrip("\n")
