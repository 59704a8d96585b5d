"""A table of a trace's tensors.

    name         value  shape  dtype    is_leaf  requires_grad  grad_fn       grad
    ──────────────────────────────────────────────────────────────────────────────
    x                2  ()     float64  True     True           None             2

Colours are escape codes in the same text, so rich is not needed. A footnote says why a gradient is None.

On a terminal each row is one line as long as that fits: with long titles over two lines; then without the columns that
are equal in all rows (their value stands below the table); then with shortened names. If even that is too wide (arrays
on a terminal of 80 columns), each row takes two lines: name, value and gradient above, the rest below.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Callable
from gradtrace.trace.record import DATA, LEAF, TensorRecord, Trace, Value
from gradtrace.views import cells, layout, numbers
from gradtrace.views.layout import Cell, Column, LayoutOptions, paint

if TYPE_CHECKING:
    from gradtrace.views.selection import Selection

MANY = 50  # tensors above which unnamed intermediate results are left out
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
LONGEST_NAME = 40  # on a terminal
SHORTEST_NAME = 20
NARROW = 44  # room for a value and a gradient below which each has a line of its own
SHORT = {"is_leaf": "is_\nleaf", "requires_grad": "requires_\ngrad", "grad.grad_fn": "grad.\ngrad_fn"}
CONSTANT = ("shape", "dtype")  # columns that may be told below the table
BELOW = ("shape", "dtype", "is_leaf", "requires_grad", "grad_fn", "grad.grad_fn")


def render(
    trace: Trace,
    options: LayoutOptions = LayoutOptions(),
    selection: Selection | None = None,
    more: Callable[[list[TensorRecord]], list[Column]] | None = None,
) -> str:
    """Return the table as text, each line ended by a line break; "" without a tensor to show.

    `more` makes columns that stand after those of the value and the gradient.
    """
    shown, hidden = chosen(trace, options.all)
    shown = shown if selection is None else selection.tensors(shown)
    if not shown:
        return ""
    notes: list[str] = []
    columns = build(shown, notes, options)
    for column in () if more is None else more(shown):
        after = "value" if column.title == "digits" else "grad"
        columns.insert(next(i for i, shown_column in enumerate(columns) if shown_column.title == after) + 1, column)
    if selection is not None:
        columns = [columns[place] for place in selection.places([column.title for column in columns])]
        notes = notes if any(column.title == "grad" for column in columns) else []
    lines, common = lay_out(columns, options)
    foot = [f"{mark(i, options)} {note}" for i, note in enumerate(notes, 1)]
    if common:
        foot.append(f"in every row: {common}")
    if hidden:
        foot.append(f"{hidden} unnamed intermediate results are not shown (--all)")
    if foot:
        lines += ["", *(paint(line, "dim", options) for line in foot)]
    return layout.joined(lines)


def chosen(trace: Trace, everything: bool) -> tuple[list[TensorRecord], int]:
    """Return the tensors to show, in creation order, and the number of those left out."""
    if everything or len(trace.tensors) <= MANY:
        return list(trace.tensors), 0
    shown = [t for t in trace.tensors if t.name is not None or t.is_output or t.is_root or t.is_parameter]
    return shown, len(trace.tensors) - len(shown)


# ---- cells


def build(shown: list[TensorRecord], notes: list[str], options: LayoutOptions) -> list[Column]:
    """Return the columns; the footnotes are appended to `notes`. A column shows the gradients' own grad_fn if any has
    one.
    """
    facts: dict[str, Callable[[TensorRecord], str | Cell]] = {
        "name": name,
        "value": value,
        "shape": lambda t: numbers.shape(t.value) if t.value is not None else "",
        "dtype": lambda t: t.value.dtype if t.value else "",
        "is_leaf": lambda t: flag(t.is_leaf),
        "requires_grad": lambda t: flag(t.requires_grad),
        "grad_fn": lambda t: word(t.grad_fn),
        "grad": lambda t: grad(t, notes, options),
    }
    if any(t.grad_fn_of_grad for t in shown):
        facts["grad.grad_fn"] = lambda t: word(t.grad_fn_of_grad)
    return layout.columns(shown, facts)


def name(t: TensorRecord) -> Cell:
    style = {LEAF: "green", DATA: "blue"}.get(t.kind, "bold" if t.is_output or t.is_root else "")
    return Cell(cells.visible(t.label), style)


def value(t: TensorRecord) -> Cell:
    if t.value is None:
        return Cell(f"({t.missing})", "dim")
    return contents(t.value)


def contents(found: Value) -> Cell:
    """Return a cell with a scalar, the elements of a small array, or a large one's range and mean."""
    text = numbers.elements(found) if 0 < found.numel <= numbers.SMALL and found.is_whole else ""
    if found.is_meta:
        return Cell("meta", "dim")
    if not found.shape and found.is_whole:
        text = numbers.number(found.data)
    elif not text or len(text) > numbers.CELL:
        text = numbers.summary(found)
    bad = "nan" in text.lower() or "inf" in text.lower()
    return Cell(text, "red" if bad else "", not found.shape)


def flag(on: bool) -> Cell:
    return Cell(str(on), "" if on else "dim")


def word(text: str | None) -> Cell:
    return Cell(text) if text else Cell("None", "dim")


def grad(t: TensorRecord, notes: list[str], options: LayoutOptions) -> Cell:
    if t.grad is not None:
        return contents(t.grad)
    if not t.grad_note:
        return Cell("None", "dim")
    if t.grad_note not in notes:
        notes.append(t.grad_note)
    return Cell(f"None {mark(notes.index(t.grad_note) + 1, options)}", "dim")


def mark(number: int, options: LayoutOptions) -> str:
    return f"[{number}]" if options.ascii else str(number).translate(SUPERSCRIPTS)


# ---- layout


def lay_out(columns: list[Column], options: LayoutOptions) -> tuple[list[str], str]:
    """Return the lines of the table, and the facts that hold for every row if they are left out ("shape (), dtype
    float64").
    """
    limit = options.width
    if limit is None:
        return layout.single(columns, options), ""
    columns = [with_short_names(column, LONGEST_NAME, options) for column in columns]
    short = [Column(SHORT.get(c.title, c.title), c.cells) for c in columns]
    for choice in (columns, short):
        if layout.total(choice) <= limit:
            return layout.single(choice, options), ""
    few, common = without_constants(short)
    room = limit - layout.total([c for c in few if c.title != "name"]) - len(layout.GAP)
    if room >= SHORTEST_NAME or layout.total(few) <= limit:
        return layout.single([with_short_names(column, room, options) for column in few], options), common
    if not {"name", "value", "grad"}.issubset(column.title for column in columns):
        return layout.single(few, options), common  # columns of the reader's choice
    return stacked(columns, limit, options), ""


def with_short_names(column: Column, longest: int, options: LayoutOptions) -> Column:
    """Return the column of names with long ones shortened; any other column unchanged."""
    if column.title != "name":
        return column
    texts = (cells.clip_middle(cell.text, longest, layout.dots(options)) for cell in column.cells)
    return Column("name", [cell._replace(text=text) for cell, text in zip(column.cells, texts, strict=True)])


def without_constants(columns: list[Column]) -> tuple[list[Column], str]:
    """Return the columns that vary, and a text with the values of the constant ones."""
    same = {c.title: c.cells[0].text for c in columns if c.title in CONSTANT and len({x.text for x in c.cells}) == 1}
    return [c for c in columns if c.title not in same], ", ".join(f"{title} {text}" for title, text in same.items())


def stacked(columns: list[Column], limit: int, options: LayoutOptions) -> list[str]:
    """Return two lines for each row: name, value and gradient; below them the other facts."""
    by_title = {c.title: c for c in columns}
    facts = [by_title[title] for title in BELOW if title in by_title]
    first = min(by_title["name"].width, max(SHORTEST_NAME, limit - len(layout.GAP) - layout.total(facts)))
    room = limit - first - len(layout.GAP)
    below = layout.packed(facts, room)
    value, grad = by_title["value"], by_title["grad"]
    names = with_short_names(by_title["name"], first, options)
    if value.width + len(layout.GAP) + grad.width > room and room < NARROW:  # neither has room beside the other
        above, widths = [layout.aligned(names), layout.aligned(value)], [first, min(room, value.width)]
        below.insert(0, [layout.aligned(grad)])
    else:
        above = [layout.aligned(c) for c in (names, value, grad)]
        widths = [first, *shares(value.width, grad.width, max(20, room - len(layout.GAP)))]
    indent = " " * (first + len(layout.GAP))
    lines = layout.header(above, widths, options)
    sizes = [[min(room, c.width) for c in group] for group in below]
    lines += [
        indent + title
        for group, wide in zip(below, sizes, strict=True)
        for title in layout.header(group, wide, options)
    ]
    length = max(
        sum(widths) + len(layout.GAP) * (len(widths) - 1),
        *(first + len(layout.GAP) + layout.total(group) for group in below),
    )
    lines.append(layout.rule(min(limit, length), options))
    for i, top in enumerate(zip(*(c.cells for c in above), strict=True)):
        lines.append(layout.line(top, widths, options))
        for group, wide in zip(below, sizes, strict=True):
            row = [cell._replace(style=cell.style or "dim") for cell in (c.cells[i] for c in group)]
            lines.append(indent + layout.line(row, wide, options))
    return lines


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
