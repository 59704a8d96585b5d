"""What a table or a tree shows, without its drawing: columns of cells, branches, and the options of
both.

`views/plain.py` writes them for a pipe, `views/terminal.py` draws them with rich; the table of
tensors has further ways to save width (`views/table.py`).
"""

from __future__ import annotations

from itertools import takewhile

from gradtrace.annotations import Any, Callable, Iterable, Mapping, NamedTuple, Sequence
from gradtrace.views import cells, plain
from gradtrace.views.cells import GAP

NOTHING: Mapping[str, int] = {}
NAME = 32  # columns of a readable name
SHORT_NAME = 16  # columns of a name, at least, before its row takes several lines
WIDE = 80  # columns of a page


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
        return any(cell.right for cell in self.cells) and all(
            cell.right or cell.missing for cell in self.cells
        )


class Branch(NamedTuple):
    """A branch of a tree: its lines, each of them parts (text, style), and the branches below the
    last line.
    """

    lines: list[list[tuple[str, str]]]
    children: list[Branch]


def columns(items: Sequence[Any], facts: Mapping[str, Callable[[Any], str | Cell]]) -> list[Column]:
    """Return the columns of a table with a row for each item; `facts` has the function that fills
    each one's cells.
    """
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


def tree(branches: Sequence[Branch], options: LayoutOptions) -> str:
    """Return branches with lines that join them, ended by a line break."""
    if options.width is None:
        return plain.tree(branches, options)
    from gradtrace.views import terminal

    return terminal.tree(branches, options)


def named(title: str, names: Sequence[str], options: LayoutOptions) -> Column:
    """Return a column of dotted names. Where they are long, the title has what all of them begin
    with.
    """
    levels = zip(*(name.split(".")[:-1] for name in names), strict=False)
    shared = ".".join(parts[0] for parts in takewhile(lambda parts: len(set(parts)) == 1, levels))
    head = f"{title} of {cells.visible(shared)}"
    if options.width is None or not shared or max(map(len, names)) <= NAME or len(head) > NAME:
        return Column(title, [Cell(cells.visible(name)) for name in names])
    return Column(head, [Cell(cells.visible(name[len(shared) + 1 :])) for name in names])


def left_out(count: int, noun: str, options: LayoutOptions) -> list[str]:
    """Return the line that says how many rows are not shown; none if all are."""
    return [paint(f"{count} more {noun} are not shown (--all)", "dim", options)] if count else []


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
    columns: Sequence[Column],
    options: LayoutOptions,
    shrink: Mapping[str, int] = NOTHING,
    spare: Sequence[str] = (),
) -> list[str]:
    """Return the lines of the table.

    On a terminal `shrink` has the smallest width of each column that may be narrower than its
    texts; `spare` names the columns that may be left out, in this order. If the table is still too
    wide, each row takes several lines. Columns with only empty cells are always left out.
    """
    head, rows = parts(columns, options, shrink, spare)
    return [*head, *(line for row in rows for line in row)]


def parts(
    columns: Sequence[Column],
    options: LayoutOptions,
    shrink: Mapping[str, int] = NOTHING,
    spare: Sequence[str] = (),
) -> tuple[list[str], list[list[str]]]:
    """Return the titles of a table with the rule below them, and the lines of each row."""
    shown = [column for column in columns if any(cell.text for cell in column.cells)]
    if not shown:
        return [], []
    if options.width is not None:
        from gradtrace.views import terminal

        return terminal.table(shown, options, shrink, spare)
    head, rows = plain.table(shown, options)
    return head, [[row] for row in rows]


def brief(column: Column) -> Column:
    """Return a column with shorter texts: "(16, 8)" for "(16, 8)  -0.4..0.5  mean 0.03", "16 B" for
    "a, b: 16 B".
    """
    shorter = size_of if column.title == "saved" else shape_of
    return Column(column.title, [cell._replace(text=shorter(cell.text)) for cell in column.cells])


def size_of(text: str) -> str:
    return text.rpartition(": ")[2]


def shape_of(text: str) -> str:
    head, gap, _ = text.partition(")  ")
    return (
        head + ")"
        if gap and head.startswith("(") and head[1:].replace(", ", "").rstrip(",").isdecimal()
        else text
    )


# ---- widths


def total(columns: Sequence[Column]) -> int:
    return sum(c.width for c in columns) + len(GAP) * (len(columns) - 1)


def within(columns: Sequence[Column], limit: int, spare: Sequence[str]) -> list[Column]:
    """Return the columns without as many of `spare`, in this order, as the width `limit` needs."""
    chosen = list(columns)
    for title in spare:
        if total(chosen) > limit:
            chosen = [column for column in chosen if column.title != title]
    return chosen


def packed(columns: Sequence[Column], room: int) -> list[list[Column]]:
    """Return the columns in as few groups as fit into `room`."""
    groups = [[columns[0]]]
    for column in columns[1:]:
        if total([*groups[-1], column]) <= room:
            groups[-1].append(column)
        else:
            groups.append([column])
    return groups


def paint(text: str, style: str, options: LayoutOptions) -> str:
    return cells.paint(text, style) if options.color else text


def code(text: str, options: LayoutOptions, style: str = "") -> str:
    """Return a line of source, highlighted where there are colours."""
    if not options.color:
        return text
    from gradtrace.views import terminal

    return terminal.code(text, options, style)


def dots(options: LayoutOptions) -> str:
    return "..." if options.ascii else "…"
