"""Trace -> a table of its tensors, for people to read.

One line for each tensor where the width allows it:

    name         value  shape  dtype    is_leaf  requires_grad  grad_fn       grad
    ──────────────────────────────────────────────────────────────────────────────
    x                2  ()     float64  True     True           None             2

and two lines where it does not (arrays on a terminal of 80 columns): name, value and gradient above, the rest below.
Colour is a matter of a few escape codes on the same text, so neither form needs rich. Why a gradient is None stands
in a footnote.
"""

from __future__ import annotations

from typing import NamedTuple

from gradtrace.trace.record import DATA, LEAF, TensorRecord, Trace
from gradtrace.views import cells, numbers

GAP = "  "
MANY = 50  # tensors above which unnamed intermediate results are left out
LONGEST_NAME = 40
FACTS = ("shape", "dtype", "is_leaf", "requires_grad", "grad_fn")
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class Options(NamedTuple):
    """How to draw it. `width` None means as wide as it gets (a pipe)."""

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
        """What its widest line takes; the title may be folded over two."""
        head = max(map(cells.width, self.title.split("\n")))
        return max(head, *(cells.width(cell.text) for cell in self.cells))

    @property
    def right(self) -> bool:
        """Numbers stand right, if there is nothing but numbers and None."""
        return any(cell.right for cell in self.cells) and all(cell.right or cell.missing for cell in self.cells)


def render(trace: Trace, options: Options = Options()) -> str:
    """The table as text, each line ended by a line break; "" if there is no tensor to show."""
    shown, hidden = chosen(trace, options.all)
    if not shown:
        return ""
    notes: list[str] = []
    columns = [column for column in build(shown, notes, options) if column.cells]
    if options.width is None or total(columns) <= options.width:
        lines = single(columns, options)
    elif total(folded(columns)) <= options.width:
        lines = single(folded(columns), options)
    else:
        lines = stacked(columns, options.width, options)
    foot = [f"{mark(i, options)} {note}" for i, note in enumerate(notes, 1)]
    if hidden:
        foot.append(f"{hidden} unnamed intermediate results are not shown (--all)")
    if foot:
        lines += ["", *(paint(line, "dim", options) for line in foot)]
    return "".join(line + "\n" for line in lines)


def chosen(trace: Trace, everything: bool) -> tuple[list[TensorRecord], int]:
    """The tensors to show, in creation order, and how many are left out."""
    if everything or len(trace.tensors) <= MANY:
        return list(trace.tensors), 0
    shown = [t for t in trace.tensors if t.name is not None or t.is_output or t.is_root or t.is_parameter]
    return shown, len(trace.tensors) - len(shown)


# ---- cells


def build(shown: list[TensorRecord], notes: list[str], options: Options) -> list[Column]:
    """The columns; `notes` collects the footnotes. The gradients' own grad_fn gets a column only if there is one."""
    columns = [
        Column("name", [name(t, options) for t in shown]),
        Column("value", [value(t) for t in shown]),
        Column("shape", [shape(t) for t in shown]),
        Column("dtype", [Cell(t.value.dtype if t.value else "") for t in shown]),
        Column("is_leaf", [flag(t.is_leaf) for t in shown]),
        Column("requires_grad", [flag(t.requires_grad) for t in shown]),
        Column("grad_fn", [word(t.grad_fn) for t in shown]),
        Column("grad", [grad(t, notes, options) for t in shown]),
    ]
    if any(t.grad_fn_of_grad for t in shown):
        columns.append(Column("grad.grad_fn", [word(t.grad_fn_of_grad) for t in shown]))
    return columns


def name(t: TensorRecord, options: Options) -> Cell:
    style = {LEAF: "green", DATA: "blue"}.get(t.kind, "bold" if t.is_output or t.is_root else "")
    return Cell(cells.clip(cells.visible(t.label), LONGEST_NAME, dots(options)), style)


def value(t: TensorRecord) -> Cell:
    if t.value is None:
        return Cell("(overwritten)", "dim")
    return contents(t.value)


def contents(found: numbers.Value) -> Cell:
    """A scalar, a small array written out, or a large one's range and mean."""
    text = numbers.elements(found) if 0 < found.numel <= numbers.SMALL else ""
    if not found.shape:
        text = numbers.number(found.data)
    elif not text or len(text) > numbers.CELL:
        text = numbers.summary(found)
    bad = "nan" in text.lower() or "inf" in text.lower()
    return Cell(text, "red" if bad else "", not found.shape)


def shape(t: TensorRecord) -> Cell:
    return Cell(numbers.shape(t.value) if t.value is not None else "")


def flag(on: bool) -> Cell:
    return Cell(str(on), "" if on else "dim")


def word(text: str | None) -> Cell:
    return Cell(text) if text else Cell("None", "dim")


def grad(t: TensorRecord, notes: list[str], options: Options) -> Cell:
    if t.grad is not None:
        return contents(t.grad)
    if not t.grad_note:
        return Cell("None", "dim")
    if t.grad_note not in notes:
        notes.append(t.grad_note)
    return Cell(f"None {mark(notes.index(t.grad_note) + 1, options)}", "dim")


def mark(number: int, options: Options) -> str:
    return f"[{number}]" if options.ascii else str(number).translate(SUPERSCRIPTS)


def dots(options: Options) -> str:
    return "..." if options.ascii else "…"


def paint(text: str, style: str, options: Options) -> str:
    return cells.paint(text, style) if options.color else text


# ---- layout


def total(columns: list[Column]) -> int:
    return sum(c.width for c in columns) + len(GAP) * (len(columns) - 1)


def folded(columns: list[Column]) -> list[Column]:
    """The same with the long titles over two lines."""
    short = {"is_leaf": "is_\nleaf", "requires_grad": "requires_\ngrad", "grad.grad_fn": "grad.\ngrad_fn"}
    return [Column(short.get(c.title, c.title), c.cells) for c in columns]


def single(columns: list[Column], options: Options) -> list[str]:
    """One line for each tensor, below a header."""
    widths = [c.width for c in columns]
    columns = [aligned(c) for c in columns]
    lines = header(columns, widths, options)
    lines.append(rule(total(columns), options))
    for row in zip(*(c.cells for c in columns), strict=True):
        lines.append(joined([fit(cell, width, options) for cell, width in zip(row, widths, strict=True)]))
    return lines


def aligned(column: Column) -> Column:
    return Column(column.title, [Cell(cell.text, cell.style, column.right) for cell in column.cells])


def header(columns: list[Column], widths: list[int], options: Options) -> list[str]:
    titles = [c.title.split("\n") for c in columns]
    height = max(map(len, titles))
    lines = []
    for i in range(height):
        parts = [title[i - height + len(title)] if i >= height - len(title) else "" for title in titles]
        padded = [Cell(part, "bold", c.right) for part, c in zip(parts, columns, strict=True)]
        lines.append(joined([fit(cell, width, options) for cell, width in zip(padded, widths, strict=True)]))
    return lines


def stacked(columns: list[Column], limit: int, options: Options) -> list[str]:
    """Two lines or more for each tensor: name, value and gradient; below them what it is."""
    by_title = {c.title: c for c in columns}
    first = min(by_title["name"].width, max(8, limit // 4))
    room = limit - first - len(GAP)
    below = packed([by_title[title] for title in (*FACTS, "grad.grad_fn") if title in by_title], room)
    rest = max(20, room - len(GAP))
    left, right = shares(by_title["value"].width, by_title["grad"].width, rest)
    above = [by_title["name"], by_title["value"], by_title["grad"]]
    above = [aligned(c) for c in above]
    widths = [first, left, right]
    indent = " " * (first + len(GAP))
    lines = header(above, widths, options)
    lines += [indent + line for group in below for line in header(group, [c.width for c in group], options)]
    length = first + len(GAP) + max(left + len(GAP) + right, *(total(group) for group in below))
    lines.append(rule(min(limit, length), options))
    for i, top in enumerate(zip(*(c.cells for c in above), strict=True)):
        lines.append(joined([fit(cell, width, options) for cell, width in zip(top, widths, strict=True)]))
        lines += [indent + joined([fit(faint(c.cells[i]), c.width, options) for c in group]) for group in below]
    return lines


def packed(columns: list[Column], room: int) -> list[list[Column]]:
    """The columns in as few groups as fit into `room`."""
    groups = [[columns[0]]]
    for column in columns[1:]:
        if total([*groups[-1], column]) <= room:
            groups[-1].append(column)
        else:
            groups.append([column])
    return groups


def faint(cell: Cell) -> Cell:
    return Cell(cell.text, cell.style or "dim")


def shares(left: int, right: int, room: int) -> tuple[int, int]:
    """Two widths within `room`: each what it wants, or half and half, or one the rest of the other."""
    if left + right <= room:
        return left, right
    half = room // 2
    if left <= half:
        return left, room - left
    return (room - right, right) if right <= half else (half, room - half)


def fit(cell: Cell, width: int, options: Options) -> str:
    text = cells.clip(cell.text, width, dots(options))
    padding = " " * (width - cells.width(text))
    painted = paint(text, cell.style, options)
    return padding + painted if cell.right else painted + padding


def joined(parts: list[str]) -> str:
    return GAP.join(parts).rstrip()


def rule(length: int, options: Options) -> str:
    return paint(("-" if options.ascii else "─") * length, "dim", options)
