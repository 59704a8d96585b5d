"""Statistics of a training loop as text or data: a row for each step, then the details of one.

The JSON document is that of `views/stats.py` for the step with details, with `training` added:
{step, verdict, diverges, first_inf, first_nan, steps [{step, loss, grad_norm, update, parameters
[{name, grad_norm, update}], bad {where, label, op, what, line}}]}. JSON Lines have one step each;
CSV, TSV, Markdown and LaTeX have a row for each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradtrace.analysis.training import BadValue, StepRow, Training
from gradtrace.views import layout, numbers, rows
from gradtrace.views import stats as details
from gradtrace.views.cells import visible
from gradtrace.views.layout import Cell, LayoutOptions, right

WIDTH = 80  # the columns of text if no terminal gives another number
STEPS = 30  # the table has at most this many rows
PARAMETERS = 6  # at most this many parameters have a line
NODES = 5  # the details have at most this many nodes
COLUMNS = ("step", "loss", "grad_norm", "update", "bad", "bad_line")


def text(training: Training, options: LayoutOptions) -> str:
    """Return the table of steps, the norms of parameters, and the details of one step."""
    shown = list(training.rows) if options.all else chosen(training)
    lines = layout.table(
        shown,
        {
            "step": lambda r: right(r.number),
            "loss": lambda r: cell(r.loss),
            "grad norm": lambda r: cell(r.grad_norm),
            "update": lambda r: cell(r.update),
            "first bad value": lambda r: Cell(visible(bad_text(r.bad)), "red"),
        },
        options,
        {"first bad value": 16},
    )
    lines += [
        *layout.left_out(len(training.rows) - len(shown), "steps", options),
        "",
        *parameter_lines(training, options),
    ]
    if training.verdict:
        lines += wrapped(training.verdict, "red" if training.diverges else "", options)
    bad = training.rows[training.step - 1].bad
    which = "the first with a value that is not finite" if bad else "the last one"
    head = f"{training.name}, {which} (--step N shows another, --step all the whole run):"
    lines += ["", *wrapped(head, "bold", options)]
    return layout.joined(lines) + details.brief(training.details, options, NODES)


def wrapped(said: str, style: str, options: LayoutOptions) -> list[str]:
    return layout.wrapped(said, style, options, options.width or WIDTH)


def chosen(training: Training) -> list[StepRow]:
    """Return at most STEPS rows: the first and last ones, those around the first bad value, and
    some between.
    """
    steps = training.rows
    if len(steps) <= STEPS:
        return list(steps)
    ends = {*range(4), *range(len(steps) - 4, len(steps))}
    around = {i for i in range(training.step - 4, training.step + 2) if 0 <= i < len(steps)}
    room = STEPS - len(ends | around)
    spread = {(len(steps) - 1) * i // (room + 1) for i in range(1, room + 1)}
    return [steps[i] for i in sorted(ends | around | spread)]


def cell(x: float | None, digits: int = 4) -> Cell:
    if x is None:
        return right("")
    return Cell(numbers.number(x, digits), "" if abs(x) < float("inf") else "red", True)


def bad_text(bad: BadValue | None) -> str:
    """Return a bad value as text: "Inf in loss: mse_loss, line 9"."""
    if bad is None:
        return ""
    where = f": {bad.op}, {bad.span.where}" if bad.span is not None else ""
    before = " before the step" if bad.where == "parameter" else ""
    return f"{bad.what} in {bad.label}{before}{where}"


def parameter_lines(training: Training, options: LayoutOptions) -> list[str]:
    """Return for each parameter the norms of its gradient and its update: the first, the largest,
    the last.
    """
    names = list(dict.fromkeys(p.name for r in training.rows for p in r.parameters))
    if not names:
        return []
    shown = names if options.all or len(names) <= PARAMETERS else names[:PARAMETERS]
    norms = {
        name: [p for r in training.rows for p in r.parameters if p.name == name] for name in shown
    }
    column = layout.named("parameter", shown, options._replace(width=options.width or WIDTH))
    columns = [column]
    for title, field in (("grad", "grad_norm"), ("update", "update")):
        series = [[getattr(p, field) for p in norms[name]] for name in shown]
        columns += layout.columns(
            series,
            {
                f"{title}: first": lambda values: cell(ends(values)[0], 3),
                "largest": lambda values: cell(largest(values), 3),
                "last": lambda values: cell(ends(values)[1], 3),
            },
        )
    if options.width is None:
        columns = layout.within(columns, WIDTH, ("largest",))
    lines = layout.lines(columns, options, {column.title: layout.SHORT_NAME}, ("largest",))
    return [*lines, *layout.left_out(len(names) - len(shown), "parameters", options)]


def ends(series: Sequence[float | None]) -> tuple[float | None, float | None]:
    """Return the first and the last number of a series; None for both if it has none."""
    measured = [x for x in series if x is not None]
    return (measured[0], measured[-1]) if measured else (None, None)


def largest(series: Sequence[float | None]) -> float | None:
    """Return the largest finite number of a series; None if it has none."""
    return max((x for x in series if x is not None and abs(x) < float("inf")), default=None)


# ---- data


def render(training: Training, format: str) -> str:
    steps = [
        rows.fields(r, "step=number loss grad_norm update parameters bad") for r in training.rows
    ]
    if format == "json":
        summary = rows.fields(training, "step verdict diverges first_inf first_nan")
        document = {**details.document(training.details), "training": {**summary, "steps": steps}}
        return rows.write(rows.Results("gradtrace/stats", document, "training", (), ()), format)
    names = list(dict.fromkeys(p.name for r in training.rows for p in r.parameters))
    columns = (
        *COLUMNS,
        *(f"{name}.{field}" for name in names for field in ("grad_norm", "update")),
    )
    body = [csv_row(r, names) for r in training.rows]
    return rows.write(
        rows.Results("gradtrace/stats", {"steps": steps}, "steps", columns, body), format
    )


def csv_row(r: StepRow, names: Sequence[str]) -> list[Any]:
    """Return the row of a step: COLUMNS, then two norms of each parameter in `names`."""
    own = {p.name: p for p in r.parameters}
    norms = [
        getattr(own[n], field) if n in own else None
        for n in names
        for field in ("grad_norm", "update")
    ]
    line = r.bad.span.short if r.bad is not None and r.bad.span is not None else ""
    return [r.number, r.loss, r.grad_norm, r.update, bad_text(r.bad), line, *norms]
