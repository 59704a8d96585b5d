"""Columns of cells -> lines, at their full width or fitted to a terminal.

Each row is one line as long as that fits: with long titles over two lines; then without the columns that are equal in
all rows (their value stands below the table); then with shortened names. If even that is too wide (arrays on a terminal
of 80 columns), each row takes two lines: name, value and gradient above, the rest below.
"""

from __future__ import annotations

from gradtrace.annotations import Iterable, NamedTuple
from gradtrace.views import cells

GAP = "  "
LONGEST_NAME = 40  # on a terminal
SHORTEST_NAME = 20
NARROW = 44  # room for a value and a gradient below which each has a line of its own
SHORT = {"is_leaf": "is_\nleaf", "requires_grad": "requires_\ngrad", "grad.grad_fn": "grad.\ngrad_fn"}
CONSTANT = ("shape", "dtype")  # columns that may be told below the table
BELOW = ("shape", "dtype", "is_leaf", "requires_grad", "grad_fn", "grad.grad_fn")


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


def lay_out(columns: list[Column], options: LayoutOptions) -> tuple[list[str], str]:
    """Return the lines of the table, and the facts that hold for every row if they are left out ("shape (), dtype
    float64").
    """
    limit = options.width
    if limit is None:
        return single(columns, options), ""
    columns = [shortened(column, LONGEST_NAME, options) for column in columns]
    short = [Column(SHORT.get(c.title, c.title), c.cells) for c in columns]
    for choice in (columns, short):
        if total(choice) <= limit:
            return single(choice, options), ""
    few, common = without_constants(short)
    room = limit - total([c for c in few if c.title != "name"]) - len(GAP)
    if room >= SHORTEST_NAME or total(few) <= limit:
        return single([shortened(column, room, options) for column in few], options), common
    if not {"name", "value", "grad"}.issubset(column.title for column in columns):
        return single(few, options), common  # columns of the reader's choice
    return stacked(columns, limit, options), ""


def shortened(column: Column, longest: int, options: LayoutOptions) -> Column:
    """Return the column of names with long ones shortened; any other column unchanged."""
    if column.title != "name":
        return column
    texts = (cells.clip_middle(cell.text, longest, dots(options)) for cell in column.cells)
    return Column("name", [cell._replace(text=text) for cell, text in zip(column.cells, texts, strict=True)])


def without_constants(columns: list[Column]) -> tuple[list[Column], str]:
    """Return the columns that vary, and a text with the values of the constant ones."""
    same = {c.title: c.cells[0].text for c in columns if c.title in CONSTANT and len({x.text for x in c.cells}) == 1}
    return [c for c in columns if c.title not in same], ", ".join(f"{title} {text}" for title, text in same.items())


def total(columns: list[Column]) -> int:
    return sum(c.width for c in columns) + len(GAP) * (len(columns) - 1)


# ---- one line for each row


def single(columns: list[Column], options: LayoutOptions) -> list[str]:
    widths = [c.width for c in columns]
    columns = [aligned(c) for c in columns]
    lines = header(columns, widths, options)
    lines.append(rule(total(columns), options))
    return lines + [line(row, widths, options) for row in zip(*(c.cells for c in columns), strict=True)]


def aligned(column: Column) -> Column:
    right = column.right
    return Column(column.title, [Cell(cell.text, cell.style, right) for cell in column.cells])


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


# ---- two lines for each row


def stacked(columns: list[Column], limit: int, options: LayoutOptions) -> list[str]:
    """Return two lines for each row: name, value and gradient; below them the other facts."""
    by_title = {c.title: c for c in columns}
    facts = [by_title[title] for title in BELOW if title in by_title]
    first = min(by_title["name"].width, max(SHORTEST_NAME, limit - len(GAP) - total(facts)))
    room = limit - first - len(GAP)
    below = packed(facts, room)
    value, grad = by_title["value"], by_title["grad"]
    names = shortened(by_title["name"], first, options)
    if value.width + len(GAP) + grad.width > room and room < NARROW:  # neither has room beside the other
        above, widths = [aligned(names), aligned(value)], [first, min(room, value.width)]
        below.insert(0, [aligned(grad)])
    else:
        above = [aligned(c) for c in (names, value, grad)]
        widths = [first, *shares(value.width, grad.width, max(20, room - len(GAP)))]
    indent = " " * (first + len(GAP))
    lines = header(above, widths, options)
    sizes = [[min(room, c.width) for c in group] for group in below]
    lines += [
        indent + title for group, wide in zip(below, sizes, strict=True) for title in header(group, wide, options)
    ]
    length = max(sum(widths) + len(GAP) * (len(widths) - 1), *(first + len(GAP) + total(group) for group in below))
    lines.append(rule(min(limit, length), options))
    for i, top in enumerate(zip(*(c.cells for c in above), strict=True)):
        lines.append(line(top, widths, options))
        for group, wide in zip(below, sizes, strict=True):
            row = [cell._replace(style=cell.style or "dim") for cell in (c.cells[i] for c in group)]
            lines.append(indent + line(row, wide, options))
    return lines


def packed(columns: list[Column], room: int) -> list[list[Column]]:
    """Return the columns in as few groups as fit into `room`."""
    groups = [[columns[0]]]
    for column in columns[1:]:
        if total([*groups[-1], column]) <= room:
            groups[-1].append(column)
        else:
            groups.append([column])
    return groups


def shares(left: int, right: int, room: int) -> tuple[int, int]:
    """Return two column widths within `room`. A column that needs at most half of it is kept whole; the other is
    cut.
    """
    if left + right <= room:
        return left, right
    half = room // 2
    if left <= half:
        return left, room - left
    return (room - right, right) if right <= half else (half, room - half)


# ---- lines


def line(row: Iterable[Cell], widths: list[int], options: LayoutOptions) -> str:
    return GAP.join(fit(cell, width, options) for cell, width in zip(row, widths, strict=True)).rstrip()


def fit(cell: Cell, width: int, options: LayoutOptions) -> str:
    text = cells.clip(cell.text, width, dots(options))
    padding = " " * (width - cells.width(text))
    painted = paint(text, cell.style, options)
    return padding + painted if cell.right else painted + padding


def paint(text: str, style: str, options: LayoutOptions) -> str:
    return cells.paint(text, style) if options.color else text


def dots(options: LayoutOptions) -> str:
    return "..." if options.ascii else "…"


def rule(length: int, options: LayoutOptions) -> str:
    return paint(("-" if options.ascii else "─") * length, "dim", options)
