"""The books of a training step as a table or as data.

    step 5 of 5
    parameter   from          norm   edits            used by  change
    net.weight  loss (line 9) 0.523  clip_grad_norm_  opt        1.2%

The JSON document has `schema` "gradtrace/ledger", `version`, `step` (null without a training loop),
`steps`, and `parameters`, a list of objects with name, losses [{loss, line, file, passes, cleared,
left}], norm, edits, fate ("used", "cleared", "left", ""), by, line, file, change (relative), and
writes.
"""

from __future__ import annotations

from html import escape

from gradtrace.analysis.ledger.step import LedgerRow, Source, StepBooks
from gradtrace.annotations import Any, Callable, Iterator
from gradtrace.trace.record import Span
from gradtrace.views import layout, rows
from gradtrace.views.cells import visible
from gradtrace.views.layout import LayoutOptions, paint, right

COLUMNS = ("name", "losses", "norm", "edits", "fate", "by", "line", "change", "writes")
SHRINK = {"parameter": 12, "from": 12, "edits": 8, "used by": 8, "other writes": 8}
LONG = 30  # rows that are shown without --all


def books_text(books: StepBooks, options: LayoutOptions) -> str:
    """Return the books as a table, each line ended by a line break."""
    if not books.rows:
        return "no leaf got a gradient\n"
    shown = books.rows if options.all else books.rows[:LONG]
    facts: dict[str, Any] = {"parameter": lambda r: visible(r.name)}
    facts.update(
        (title, lambda r, fact=fact, title=title: right(fact(r)) if title in NUMBERS else fact(r))
        for title, fact in FACTS.items()
        if title not in RARE or any(map(fact, shown))
    )
    lines = [paint(line, "bold", options) for line in [head(books)] if line]
    lines += layout.table(shown, facts, options, SHRINK)
    lines += layout.left_out(len(books.rows) - len(shown), "parameters", options)
    return layout.joined(lines)


def head(books: StepBooks) -> str:
    return "" if books.number is None else f"step {books.number} of {books.steps}"


def books_html(books: StepBooks) -> str:
    """Return the books as a list for a page: of each parameter the facts that there are."""
    entries = [
        f"<p><b>{escape(visible(row.name))}</b><br>{escape('; '.join(clauses(row)))}</p>"
        for row in books.rows
    ]
    return f"<h2>Gradients</h2><p>{head(books)}</p>{''.join(entries)}"


def clauses(row: LedgerRow) -> Iterator[str]:
    """Yield what a row says: "from loss (line 9)", "norm 0.5", "used by optimizer"."""
    for title, fact in FACTS.items():
        text = fact(row)
        if text:
            yield text if title == "used by" and row.fate != "used" else f"{title} {text}"


def loss(source: Source, is_used: bool) -> str:
    """Return a loss with its line, of several passes their number, and those that no step used,
    unless the row says so: "loss (line 9), 3 of 4 passes cleared".
    """
    passes = source.passes
    unused = [
        f"{count} of {passes} passes {fate}" if passes > 1 else fate
        for count, fate in ((source.cleared, "cleared"), (source.left, "left"))
        if count and (is_used or passes > 1)
    ]
    several = [f"{passes} passes"] if passes > 1 and not unused else []
    return ", ".join([f"{source.loss}{at(source.span)}", *several, *unused])


def at(span: Span | None) -> str:
    return "" if span is None else f" ({span.where})"


def end(row: LedgerRow) -> str:
    """Return what became of a row's gradient: the optimiser, or what cleared it."""
    if row.fate == "used":
        return row.by
    return f"not used: {row.by}{at(row.span)}" if row.fate == "cleared" else row.fate


FACTS: dict[str, Callable[[LedgerRow], str]] = {
    "from": lambda r: visible(", ".join(loss(s, r.fate == "used") for s in r.losses)),
    "norm": lambda r: "" if r.norm is None else f"{r.norm:.3g}",
    "edits": lambda r: visible(", ".join(r.edits)),
    "used by": lambda r: visible(end(r)),
    "change": lambda r: "" if r.change is None else f"{r.change:.2%}",
    "other writes": lambda r: visible(", ".join(r.writes)),
}
NUMBERS = ("norm", "change")
RARE = ("edits", "other writes")  # columns that are shown if they say something


def books_data(books: StepBooks, format: str) -> str:
    """Return the books in any format except the table."""
    parameters = [document(row) for row in books.rows]
    head = {"step": books.number, "steps": books.steps, "parameters": parameters}
    lines = ([cell(item[name]) for name in COLUMNS] for item in parameters)
    return rows.write(rows.Results("gradtrace/ledger", head, "parameters", COLUMNS, lines), format)


def document(row: LedgerRow) -> dict[str, Any]:
    losses = [
        {**place(source.span), **rows.fields(source, "loss passes cleared left")}
        for source in row.losses
    ]
    own = rows.fields(row, "name norm edits fate by change writes")
    return {**own, "losses": losses, **place(row.span)}


def place(span: Span | None) -> dict[str, Any]:
    return {
        "line": None if span is None else span.line,
        "file": "" if span is None else span.file,
    }


def cell(fact: Any) -> Any:
    if isinstance(fact, (list, tuple)):
        return ", ".join(f["loss"] if isinstance(f, dict) else f for f in fact)
    return fact
