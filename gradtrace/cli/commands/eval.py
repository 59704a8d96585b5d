"""`gradtrace eval SOURCE`: forward, backward, and one table of every tensor."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING
from gradtrace.cli import options, output, session
from gradtrace.cli.command import SourceCommand
from gradtrace.cli.options import Request, choice, option, rare, section
from gradtrace.errors import UsageError

if TYPE_CHECKING:
    from gradtrace.trace import Trace

HELP = """Evaluate SOURCE, call backward, and show every tensor: value, shape, dtype, is_leaf, requires_grad, grad_fn,
grad. Each variable of SOURCE is an option: --x 2, --x 1,2,3, --x @data.npy.

SOURCE is an expression, a file (it starts with @ ./ ../ / ~ or ends in .txt .py .expr .gt), or - for stdin. A
variable's value is a number, 1,2,3, "1,2;3,4", [[1,2],[3,4]], a constant expression such
as "randn(3,4)", or @FILE (.npy, .npz#KEY, .csv, .json; @- is stdin)."""

EXAMPLES = """Examples:
  gradtrace eval "(x+w)*(w+1)" --x 2 --w 1
  gradtrace eval "(x+w)*(w+1)" --x 2 --w 1 --get w.grad
  gradtrace eval "(x*w).sum()" --x 1,2,3 --w @weights.npy --retain-grad all
  gradtrace eval "sqrt(x+1)-sqrt(x)" --x 1e12 --precision
  gradtrace eval expr.txt --w -1e-3 --format json"""


def evaluate(
    request: Request,
    get: tuple[str, ...],
    columns: tuple[str, ...],
    sort: str | None,
    only: str | None,
    precision: bool,
) -> None:
    format = request.look.format
    chosen = None
    if columns or sort or only:
        from gradtrace.views.selection import selection

        chosen = selection(options.names(columns), sort, only, format)
    if get and format not in ("table", "value", "json"):
        raise UsageError(
            f"--get prints bare values, not {format}", "leave out --format, or take json"
        )
    digits = None
    if precision:
        from gradtrace.analysis.precision import digits as digits_in
        from gradtrace.cli.precision import record

        trace = record(request, session.Wanted())
        digits = digits_in(trace)
    else:
        trace = session.record(request)
    if format == "value" and not get and not trace.outputs:
        raise UsageError(
            "the program's value is not a tensor", "choose one with --output NAME or --get NAME"
        )
    if get:
        picked(trace, get, format)
    elif format == "table":
        from gradtrace.views.table import render

        more = None
        if digits is not None:
            from gradtrace.views import precision as view

            more = lambda shown: view.columns(shown, digits)
        output.write(render(trace, output.options(request.look), chosen, more))
    else:
        from gradtrace.views import data

        output.write(data.render(trace, format, chosen, digits))


def picked(trace: Trace, paths: tuple[str, ...], format: str) -> None:
    """Print one line for each path of --get; write the reason for a value of None to stderr."""
    from gradtrace.views.pick import pick, separated

    for path, answer in [(path, pick(trace, path)) for text in paths for path in separated(text)]:
        if answer.fact is None and answer.note:
            from gradtrace.cli import report

            report.write(f"gradtrace eval: {path} is None: {answer.note}")
        if format == "json":
            output.write_json(answer.json)
        else:
            output.write(answer.text + "\n")


command = SourceCommand(
    "eval",
    evaluate,
    options.of_source(
        options.RECORDING,
        options.format_of(options.VALUE_FORMATS),
        section(
            "Output",
            option(
                "--get NAME.FIELD ...",
                "Print one bare value: w.grad, y, y.shape, w.grad[0], root.value.",
            ),
            options.PRECISION,
            *rare(
                option(
                    "--columns NAMES ...", "Show these columns, in this order: name,value,grad."
                ),
                option(
                    "--sort COLUMN",
                    "Sort by a column; -grad puts the largest first. Numbers by value, arrays "
                    "by norm.",
                ),
                choice(
                    "--only leaf|nonleaf|param",
                    "Show only leaves, only non-leaves or only parameters.",
                ),
            ),
        ),
        options.ALL_ROWS,
        options.ENGINE,
    ),
    HELP,
    EXAMPLES,
)
