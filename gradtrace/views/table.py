"""A table of a trace's tensors.

    name         value  shape  dtype    is_leaf  requires_grad  grad_fn       grad
    ──────────────────────────────────────────────────────────────────────────────
    x                2  ()     float64  True     True           None             2

A footnote says why a gradient is None. On a terminal each row is one line as long as that fits:
with long titles over two lines; then without the columns that are equal in all rows (their value
stands below the table). If even that is too wide (arrays on a terminal of 80 columns), names,
values and gradients take several lines within their cells.
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
MAIN = ("value", "grad")
SHRINK = {"name": 12, "value": 16, "grad": 16}  # columns that may be narrower on a terminal
SHORT = {
    "is_leaf": "is_\nleaf",
    "requires_grad": "requires_\ngrad",
    "grad.grad_fn": "grad.\ngrad_fn",
}
CONSTANT = ("shape", "dtype")  # columns that may be told below the table


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
        columns.insert(
            next(i for i, shown_column in enumerate(columns) if shown_column.title == after) + 1,
            column,
        )
    if selection is not None:
        columns = [
            columns[place] for place in selection.places([column.title for column in columns])
        ]
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
    shown = [
        t for t in trace.tensors if t.name is not None or t.is_output or t.is_root or t.is_parameter
    ]
    return shown, len(trace.tensors) - len(shown)


# ---- cells


def build(shown: list[TensorRecord], notes: list[str], options: LayoutOptions) -> list[Column]:
    """Return the columns; the footnotes are appended to `notes`. A column shows the gradients' own
    grad_fn if any has one.
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


def contents(value: Value) -> Cell:
    """Return a cell with a scalar, the elements of a small array, or a large one's range and
    mean.
    """
    text = numbers.elements(value) if 0 < value.numel <= numbers.SMALL and value.is_whole else ""
    if value.is_meta:
        return Cell("meta", "dim")
    if not value.shape and value.is_whole:
        text = numbers.number(value.data)
    elif not text or len(text) > numbers.CELL:
        text = numbers.summary(value)
    bad = "nan" in text.lower() or "inf" in text.lower()
    return Cell(text, "red" if bad else "", not value.shape)


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
    """Return the lines of the table, and the facts that hold for every row if they are left out
    ("shape (), dtype float64").
    """
    limit = options.width
    if limit is None:
        return layout.lines(columns, options), ""
    short = [Column(SHORT.get(c.title, c.title), c.cells) for c in columns]
    for choice in (columns, short):
        if layout.total(choice) <= limit:
            return layout.lines(choice, options), ""
    few, common = without_constants(short)
    # else the columns of the reader's choice
    if {"name", *MAIN}.issubset(column.title for column in few):
        few.sort(key=lambda column: column.title not in ("name", *MAIN))
    return layout.lines(few, options, SHRINK), common


def without_constants(columns: list[Column]) -> tuple[list[Column], str]:
    """Return the columns that vary, and a text with the values of the constant ones."""
    same = {
        c.title: c.cells[0].text
        for c in columns
        if c.title in CONSTANT and len({x.text for x in c.cells}) == 1
    }
    return [c for c in columns if c.title not in same], ", ".join(
        f"{title} {text}" for title, text in same.items()
    )
