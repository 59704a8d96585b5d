"""Columns of cells -> lines that fit the terminal: columns are shortened first, then left out where that is allowed.

Every table is laid out here; the table of tensors has further ways to save width (`views/table.py`).
"""

from __future__ import annotations

from itertools import takewhile

from gradtrace.annotations import Any, Callable, Iterable, Mapping, NamedTuple, Sequence
from gradtrace.views import cells

GAP = "  "
NOTHING: Mapping[str, int] = {}
NAME = 32  # how much of a name is readable
WIDE = 80  # the width of a table that has room for such names and a few columns


class LayoutOptions(NamedTuple):
    """The options of a table's layout. `width` None means unlimited (a pipe)."""

    width: int | None = None
    color: bool = False
    ascii: bool = False
    all: bool = False


class Cell(NamedTuple):
    text: str
    style: str = ""
    right: bool = False

    @property
    def missing(self) -> bool:
        return self.text.startswith(("None", "("))


class Column(NamedTuple):
    title: str
    cells: list[Cell]

    @property
    def width(self) -> int:
        """Return the width of the widest line; a title may be wrapped onto two lines."""
        head = max(map(cells.width, self.title.split("\n")))
        return max(head, *(cells.width(cell.text) for cell in self.cells))

    @property
    def right(self) -> bool:
        """Whether a column is aligned right, because it holds only numbers and None."""
        return any(cell.right for cell in self.cells) and all(cell.right or cell.missing for cell in self.cells)


def columns(items: Sequence[Any], facts: Mapping[str, Callable[[Any], str | Cell]]) -> list[Column]:
    """Return the columns of a table with a row for each item; `facts` has the function that fills each one's cells."""
    return [
        Column(title, [cell if isinstance(cell, Cell) else Cell(cell) for cell in map(fact, items)])
        for title, fact in facts.items()
    ]


def table(
    items: Sequence[Any],
    facts: Mapping[str, Callable[[Any], str | Cell]],
    options: LayoutOptions,
    shrink: Mapping[str, int] = NOTHING,
    spare: Sequence[str] = (),
) -> list[str]:
    """Return the lines of the table that `columns` makes."""
    return lines(columns(items, facts), options, shrink, spare)


def named(title: str, names: Sequence[str], options: LayoutOptions) -> Column:
    """Return a column of dotted names. Where they are long, the title has what all of them begin with."""
    levels = zip(*(name.split(".")[:-1] for name in names), strict=False)
    shared = ".".join(parts[0] for parts in takewhile(lambda parts: len(set(parts)) == 1, levels))
    head = f"{title} of {cells.visible(shared)}"
    if options.width is None or not shared or max(map(len, names)) <= NAME or len(head) > NAME:
        return Column(title, [Cell(cells.visible(name)) for name in names])
    return Column(head, [Cell(cells.visible(name[len(shared) + 1 :])) for name in names])


def name_width(column: Column, options: LayoutOptions) -> int:
    """Return the least width of a column of names: before they are cut to less, other columns are left out."""
    return max(10, min(NAME, column.width, (options.width or WIDE) - (WIDE - NAME)))


def left_out(count: int, what: str, options: LayoutOptions) -> list[str]:
    """Return the line that says how many rows are not shown; none if all are."""
    return [paint(f"{count} more {what} are not shown (--all)", "dim", options)] if count else []


def right(content: Any, style: str = "") -> Cell:
    """Return a cell that is aligned right."""
    return Cell(str(content), style, True)


def wrapped(text: str, style: str, options: LayoutOptions, width: int) -> list[str]:
    """Return a text in lines of at most `width` columns."""
    return [paint(line, style, options) for line in cells.wrap(cells.visible(text), width)]


def joined(shown: Iterable[str]) -> str:
    """Return lines as text, each ended by a line break."""
    return "".join(line + "\n" for line in shown)


def lines(
    columns: Sequence[Column], options: LayoutOptions, shrink: Mapping[str, int] = NOTHING, spare: Sequence[str] = ()
) -> list[str]:
    """Return the lines of the table.

    `shrink` has the smallest width of each column that may be shortened; `spare` names the columns that may be left
    out, in this order. Columns with only empty cells are always left out. If the table is still too wide, each row
    takes several lines.
    """
    head, rows = parts(columns, options, shrink, spare)
    return [*head, *(line for row in rows for line in row)]


def parts(
    columns: Sequence[Column], options: LayoutOptions, shrink: Mapping[str, int] = NOTHING, spare: Sequence[str] = ()
) -> tuple[list[str], list[list[str]]]:
    """Return the table's titles with the rule below them, and the lines of each row."""
    shown = [c for c in columns if any(cell.text for cell in c.cells)]
    limit = options.width
    if not shown:
        return [], []
    if limit is not None and total(shown) > limit:  # of what a large tensor holds, its shape says most
        shown = [brief(c) if c.title in shrink else c for c in shown]
    for title in spare:
        if limit is None or least(shown, shrink) <= limit:
            break
        shown = [c for c in shown if c.title != title]
    if limit is not None and least(shown, shrink) > limit:
        return folded(shown, limit, options)
    table = single(shown if limit is None else shortened(shown, limit, shrink, options), options)
    height = len(table) - len(shown[0].cells)
    return table[:height], [[line] for line in table[height:]]


def folded(columns: list[Column], limit: int, options: LayoutOptions) -> tuple[list[str], list[list[str]]]:
    """Put as many columns in a line as fit, and the others in indented lines below."""
    first = clipped(columns[0], max(10, limit * 2 // 5), options)
    margin = first.width + len(GAP)
    room = max(8, limit - margin)
    groups = packed([clipped(c, room, options) for c in columns[1:]], room)
    groups[0].insert(0, first)
    groups = [[aligned(c) for c in group] for group in groups]
    widths = [[c.width for c in group] for group in groups]
    indents = ["", *[" " * margin] * (len(groups) - 1)]
    head = [
        indent + title
        for indent, group, wide in zip(indents, groups, widths, strict=True)
        for title in header(group, wide, options)
    ]
    longest = max(len(indent) + total(group) for indent, group in zip(indents, groups, strict=True))
    rows = [
        [
            indent + line([c.cells[i] for c in group], wide, options)
            for indent, group, wide in zip(indents, groups, widths, strict=True)
            if any(c.cells[i].text for c in group)
        ]
        for i in range(len(columns[0].cells))
    ]
    return [*head, rule(min(limit, longest), options)], rows


def brief(column: Column) -> Column:
    """Return a column with shorter texts: "(16, 8)" for "(16, 8)  -0.4..0.5  mean 0.03", "16 B" for "a, b: 16 B"."""
    shorter = size_of if column.title == "saved" else shape_of
    return Column(column.title, [cell._replace(text=shorter(cell.text)) for cell in column.cells])


def size_of(text: str) -> str:
    return text.rpartition(": ")[2]


def shape_of(text: str) -> str:
    head, gap, _ = text.partition(")  ")
    return head + ")" if gap and head.startswith("(") and head[1:].replace(", ", "").rstrip(",").isdecimal() else text


def least(columns: Sequence[Column], shrink: Mapping[str, int]) -> int:
    """Return the width of the table with every column at its smallest width."""
    return total(list(columns)) - sum(max(0, c.width - floor(c, shrink)) for c in columns)


def floor(column: Column, shrink: Mapping[str, int]) -> int:
    if column.title not in shrink:
        return column.width
    numbers = (cells.width(cell.text) for cell in column.cells if is_number(cell.text))
    return max(shrink[column.title], cells.width(column.title), *numbers)


def is_number(text: str) -> bool:
    """Whether a cell is a single number, which is shown whole or not at all."""
    return text != "" and cells.NUMERIC.issuperset(text) and any(map(str.isdigit, text))


def shortened(columns: list[Column], limit: int, shrink: Mapping[str, int], options: LayoutOptions) -> list[Column]:
    """Shorten the columns that may be shortened until the table fits, the widest first."""
    widths = [c.width for c in columns]
    floors = [floor(c, shrink) for c in columns]
    over = total(columns) - limit
    while over > 0:
        able = [i for i in range(len(columns)) if widths[i] > floors[i]]
        if not able:
            break
        widest = max(able, key=lambda i: widths[i])
        widths[widest] -= 1
        over -= 1
    return [clipped(c, width, options) for c, width in zip(columns, widths, strict=True)]


def clipped(column: Column, width: int, options: LayoutOptions) -> Column:
    if column.width <= width:
        return column
    texts = cells.clip_distinct([cell.text for cell in column.cells], width, dots(options))
    return Column(column.title, [cell._replace(text=text) for cell, text in zip(column.cells, texts, strict=True)])


# ---- a table at its full width


def total(columns: list[Column]) -> int:
    return sum(c.width for c in columns) + len(GAP) * (len(columns) - 1)


def single(columns: list[Column], options: LayoutOptions) -> list[str]:
    widths = [c.width for c in columns]
    columns = [aligned(c) for c in columns]
    lines = header(columns, widths, options)
    lines.append(rule(sum(widths) + len(GAP) * (len(columns) - 1), options))
    return lines + [line(row, widths, options) for row in zip(*(c.cells for c in columns), strict=True)]


def aligned(column: Column) -> Column:
    right = column.right
    return Column(
        column.title, [cell if cell.right == right else Cell(cell.text, cell.style, right) for cell in column.cells]
    )


def header(columns: list[Column], widths: list[int], options: LayoutOptions) -> list[str]:
    """Return the lines of the titles, aligned at their last lines."""
    titles = [c.title.split("\n") for c in columns]
    height = max(map(len, titles))
    filled = [[""] * (height - len(title)) + title for title in titles]
    rows = zip(*filled, strict=True)
    sides = [c.right for c in columns]
    return [
        line([Cell(part, "bold", right) for part, right in zip(row, sides, strict=True)], widths, options)
        for row in rows
    ]


def packed(columns: list[Column], room: int) -> list[list[Column]]:
    """Return the columns in as few groups as fit into `room`."""
    groups = [[columns[0]]]
    for column in columns[1:]:
        if total([*groups[-1], column]) <= room:
            groups[-1].append(column)
        else:
            groups.append([column])
    return groups


def line(row: Iterable[Cell], widths: list[int], options: LayoutOptions) -> str:
    return GAP.join(fit(cell, width, options) for cell, width in zip(row, widths, strict=True)).rstrip()


def fit(cell: Cell, width: int, options: LayoutOptions) -> str:
    text, needed = cell.text, cells.width(cell.text)
    if needed > width:
        text = cells.clip(text, width, dots(options))
        needed = cells.width(text)
    padding = " " * (width - needed)
    painted = paint(text, cell.style, options)
    return padding + painted if cell.right else painted + padding


def paint(text: str, style: str, options: LayoutOptions) -> str:
    return cells.paint(text, style) if options.color else text


def dots(options: LayoutOptions) -> str:
    return "..." if options.ascii else "…"


def rule(length: int, options: LayoutOptions) -> str:
    return paint(("-" if options.ascii else "─") * length, "dim", options)
