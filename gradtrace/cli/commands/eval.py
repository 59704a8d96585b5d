"""`gradtrace eval SOURCE`: forward, backward, and one table of every tensor."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.cli import options, output, screen
from gradtrace.cli.command import SourceCommand, ToolOption
from gradtrace.errors import UsageError

if TYPE_CHECKING:
    from gradtrace.lang import Program
    from gradtrace.trace import Trace
    from gradtrace.views.selection import Selection

HELP = """Evaluate SOURCE, call backward, and show every tensor: value, shape, dtype, is_leaf, requires_grad, grad_fn,
grad.

SOURCE is an expression, a file (it starts with @ ./ ../ / ~ or ends in .txt .py .expr .gt), or - for stdin. Each
variable of it is an option. A variable's value is a number, 1,2,3, "1,2;3,4", [[1,2],[3,4]], a constant expression such
as "randn(3,4)", or @FILE (.npy, .npz#KEY, .csv, .json; @- is stdin)."""

EXAMPLES = """Examples:
  gradtrace eval "(x+w)*(w+1)" --x 2 --w 1
  gradtrace eval "(x+w)*(w+1)" --x 2 --w 1 --get w.grad
  gradtrace eval "(x*w).sum()" --x 1,2,3 --w @weights.npy --retain-grad all
  gradtrace eval expr.txt --w -1e-3 --format json"""


def evaluate(
    program: Program,
    format: str,
    get: tuple[str, ...],
    color: str | None,
    all: bool,
    columns: tuple[str, ...],
    sort: str | None,
    only: str | None,
    **flags: Any,
) -> None:
    from gradtrace.cli import session
    from gradtrace.cli.parts import Part

    chosen = None
    if columns or sort or only:
        from gradtrace.views.selection import selection

        chosen = selection(options.names(columns), sort, only, format)

    if get and format not in ("table", "value", "json"):
        raise UsageError(f"--get prints bare values, not {format}", "leave out --format, or take json")
    inputs, how = options.take(options.Inputs, flags), options.take(options.Backward, flags)
    trace = session.record(program, inputs, how, options.budget(flags), part=options.take(Part, flags))
    if format == "value" and not get and not trace.outputs:
        raise UsageError("the program's value is not a tensor", "choose one with --output NAME or --get NAME")
    if get:
        picked(trace, get, format)
    elif format == "table":
        table(trace, color, all, chosen)
    else:
        from gradtrace.views import data

        output.write(data.render(trace, format, chosen))


def picked(trace: Trace, paths: tuple[str, ...], format: str) -> None:
    """Print one line for each path of --get; write the reason for a value of None to stderr."""
    from gradtrace.views.pick import pick

    for path, found in [(path, pick(trace, path)) for path in paths]:
        if found.fact is None and found.note:
            from gradtrace.cli import report

            report.write(f"gradtrace eval: {path} is None: {found.note}")
        if format == "json":
            from gradtrace.views.rows import dumps

            output.write(dumps(found.json) + "\n")
        else:
            output.write(found.text + "\n")


def table(trace: Trace, color: str | None, everything: bool, chosen: Selection | None) -> None:
    from gradtrace.views.table import render

    output.write(render(trace, screen.options(color, everything), chosen))


command = SourceCommand(
    "eval",
    evaluate,
    [
        *options.source(),
        *options.inputs(),
        *options.backward(),
        *options.part(),
        *options.output(),
        ToolOption(
            ["--columns"],
            metavar="NAMES",
            multiple=True,
            section="Output",
            help="Show these columns, in this order: name,value,grad.",
        ),
        ToolOption(
            ["--sort"],
            metavar="COLUMN",
            section="Output",
            help="Sort by a column; -grad puts the largest first. Numbers by value, arrays by norm.",
        ),
        ToolOption(
            ["--only"],
            choices=("leaf", "nonleaf", "param"),
            metavar="leaf|nonleaf|param",
            section="Output",
            help="Show only leaves, only non-leaves or only parameters.",
        ),
        ToolOption(["--all"], is_flag=True, section="Output", help="Show every row, even in long tables."),
        *options.engine(),
        *options.limits(),
        *options.common(),
    ],
    HELP,
    EXAMPLES,
)
