"""The command-line part of `gradtrace map`: columns for inputs, the plan of a row, progress, bad
rows.
"""

from __future__ import annotations

import sys
import time

from gradtrace.annotations import Any, NamedTuple
from gradtrace.cli import hints, output, progress, report, running, values
from gradtrace.cli.inputs import check_known, default, read_all, recorded_inputs
from gradtrace.cli.options import Request, names
from gradtrace.errors import UsageError

COLUMN = "col:"


class Bound(NamedTuple):
    """The columns and the fixed values to which the inputs of a program are bound."""

    columns: dict[str, str]  # input: column
    raw: dict[str, Any]  # the other inputs' values, those that were given


def bind(request: Request, table: list[str]) -> Bound:
    """Bind each input to the column of `col:NAME`, else to a given value, the column of its name,
    or its default.

    Raise UsageError for an input that has none of these, and for a column that does not exist.
    """
    program = request.program
    inputs = request.inputs
    variables = {variable.name: variable for variable in program.inputs}
    said = {
        name: value[len(COLUMN) :]
        for name, value in inputs.given.items()
        if value.startswith(COLUMN)
    }
    settings = []
    for text in inputs.set:
        name, value = values.assignment(text)
        if value.startswith(COLUMN):
            said[name] = value[len(COLUMN) :]
        else:
            settings.append(text)
    check_known(said, variables, "--set")
    constants = {name: value for name, value in inputs.given.items() if name not in said}
    raw = read_all(request._replace(inputs=inputs._replace(given=constants, set=tuple(settings))))
    for name, column in said.items():
        if column not in table:
            raise no_column(f"{name}={COLUMN}{column}", column, table)
    for name in variables:
        if name not in said and name not in raw and name in table:
            said[name] = name
    for name, (value, _) in recorded_inputs(program).items():
        if name in variables and name not in said:
            raw.setdefault(name, value)
    missing = [n for n, i in variables.items() if n not in said and n not in raw and i.is_required]
    if missing:
        raise no_column(
            f"the variable {missing[0]}", missing[0], table, f"-s {missing[0]}=col:NAME or a value"
        )
    return Bound({name: said[name] for name in variables if name in said}, raw)


def no_column(label: str, name: str, table: list[str], otherwise: str = "") -> UsageError:
    near = hints.near(name, dict.fromkeys(table), f"its columns are {', '.join(table[:20])}")
    if len(table) == 1 and not {*table[0]}.isdisjoint("; \t"):
        near = f"its only column is '{table[0]}': cells are separated by commas (csv) or tabs (tsv)"
    hint = f"{near}; or give {otherwise}" if otherwise else near
    return UsageError(f"{label}: the table has no column '{name}'", hint)


def recorded(
    request: Request, bound: Bound, examples: dict[str, Any], grad: tuple[str, ...], order: int
) -> Any:
    """Return the plan for one row, recorded with an example value of each column, and its input
    tensors.
    """
    from gradtrace.static.passes import optimise
    from gradtrace.static.source import plan_of

    program = request.program
    dtype = request.dtype
    variables = {variable.name: variable for variable in program.inputs}
    frozen = set(names(request.inputs.no_grad))
    check_known(frozen, variables, "--no-grad")
    check_known(grad, variables, "--grad")
    tensors = {}
    for name, variable in variables.items():
        if variable.optional and name not in examples and name not in bound.raw:
            continue
        if name in examples:
            raw = examples[name]
        else:
            raw = bound.raw[name] if name in bound.raw else default(program, variable, dtype)
        floating = variable.kind != "data" or name in examples
        tensors[name] = values.tensor(raw, dtype, floating=floating)
        wanted = (
            name in grad
            if grad
            else name in examples and variable.kind != "data" and name not in frozen
        )
        if wanted and tensors[name].is_floating_point():
            tensors[name].requires_grad_()
    fed = [name for name in tensors if name in examples or tensors[name].requires_grad]
    with running.warning_lines(program.source.name):
        plan = plan_of(
            program,
            tensors,
            fed=fed,
            order=order,
            outputs=names(request.how.output),
            dtype=dtype,
            budget=request.budget,
            stderr=sys.stderr,
        )
    return optimise(plan), tensors


class Progress:
    """Progress on stderr, twice a second: rows, rows per second and time left.

    Without a terminal it is shown only if `asked`; if asked, the last line appears even for short
    runs. For a text file the share that is done is computed from the bytes read.
    """

    def __init__(self, table: Any, done: Any, asked: bool) -> None:
        self.table, self.done, self.wanted = table, done, asked or sys.stderr.isatty()
        self.start = self.last = time.monotonic()
        self.shown = asked

    def __call__(self, rows: int) -> None:
        now = time.monotonic()
        if self.wanted and now - self.last > 0.5:
            self.last = now
            self.show(rows, now - self.start)

    def show(self, rows: int, seconds: float) -> None:
        done = self.share(rows)
        new = rows - self.done.there
        share = "" if done is None else f" ({100 * done:.0f}%)"
        left = (
            ""
            if not done or not new
            else f", {seconds * (1 - done) / done * rows / new:.0f} s left"
        )
        line = f"{rows:,} rows{share}, {new / max(seconds, 1e-9):,.0f} rows/s{left}"
        if done is not None and output.is_terminal(sys.stderr):
            from gradtrace.views import terminal

            line = f"{terminal.bar(done, output.look_of(sys.stderr))} {line}"
        sys.stderr.write(progress.in_place(line))
        sys.stderr.flush()
        self.shown = True

    def share(self, rows: int) -> float | None:
        """Return the fraction of the table that is done; None if it is not known."""
        total: int | None = getattr(self.table, "rows", None)
        if total:
            return min(1.0, rows / total)
        of_bytes = getattr(self.table, "share", None)
        return None if of_bytes is None else min(1.0, of_bytes())

    def end(self, rows: int) -> None:
        if self.shown:
            self.show(rows, time.monotonic() - self.start)
            sys.stderr.write("\n")


def tell_bad(done: Any, on_error: str) -> None:
    """Report the bad rows by number on stderr."""
    if not done.bad:
        return
    did = "left empty" if on_error == "null" else "left out"
    for line in done.noted:
        report.write(f"gradtrace map: {line}; {did}")
    more = done.bad - len(done.noted)
    rows = "row" if done.bad == 1 else "rows"
    report.write(
        f"gradtrace map: {done.bad} bad {rows} {did}"
        + (f", {more} of them not listed" if more else "")
    )
