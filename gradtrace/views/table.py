"""A table of a trace's tensors.

    name         value  shape  dtype    is_leaf  requires_grad  grad_fn       grad
    ──────────────────────────────────────────────────────────────────────────────
    x                2  ()     float64  True     True           None             2

This module fills the cells; `layout` fits them to the terminal. Colours are escape codes in the same text, so rich is
not needed. A footnote says why a gradient is None.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING
from gradtrace.trace.record import DATA, LEAF, TensorRecord, Trace, Value
from gradtrace.views import cells, layout, numbers
from gradtrace.views.layout import Cell, Column, LayoutOptions, paint

if TYPE_CHECKING:
    from gradtrace.views.selection import Selection

MANY = 50  # tensors above which unnamed intermediate results are left out
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def render(trace: Trace, options: LayoutOptions = LayoutOptions(), selection: Selection | None = None) -> str:
    """Return the table as text, each line ended by a line break; "" without a tensor to show."""
    shown, hidden = chosen(trace, options.all)
    shown = shown if selection is None else selection.tensors(shown)
    if not shown:
        return ""
    notes: list[str] = []
    columns = build(shown, notes, options)
    if selection is not None:
        columns = [columns[place] for place in selection.places([column.title for column in columns])]
        notes = notes if any(column.title == "grad" for column in columns) else []
    lines, common = layout.lay_out(columns, options)
    foot = [f"{mark(i, options)} {note}" for i, note in enumerate(notes, 1)]
    if common:
        foot.append(f"in every row: {common}")
    if hidden:
        foot.append(f"{hidden} unnamed intermediate results are not shown (--all)")
    if foot:
        lines += ["", *(paint(line, "dim", options) for line in foot)]
    return "".join(line + "\n" for line in lines)


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
    columns = [
        Column("name", [name(t) for t in shown]),
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


def name(t: TensorRecord) -> Cell:
    style = {LEAF: "green", DATA: "blue"}.get(t.kind, "bold" if t.is_output or t.is_root else "")
    return Cell(cells.visible(t.label), style)


def value(t: TensorRecord) -> Cell:
    if t.value is None:
        return Cell("(overwritten)", "dim")
    return contents(t.value)


def contents(found: Value) -> Cell:
    """Return a cell with a scalar, the elements of a small array, or a large one's range and mean."""
    text = numbers.elements(found) if 0 < found.numel <= numbers.SMALL and found.is_whole else ""
    if not found.shape and found.is_whole:
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
