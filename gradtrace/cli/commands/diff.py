"""`gradtrace diff A [B]`: where two runs first differ."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING
from gradtrace.cli import options, output, session, source
from gradtrace.cli.command import SourceCommand, parse
from gradtrace.cli.commands.plan import draw
from gradtrace.cli.exits import Exit
from gradtrace.cli.options import Request, flag, number, option, rare, section
from gradtrace.errors import UsageError

if TYPE_CHECKING:
    from gradtrace.analysis.compare.tolerance import Tolerance
    from gradtrace.program.parse import Program
    from gradtrace.trace import Trace

HELP = """Say whether two runs, A and B, are equal, or where they first differ. A run is a program, or a record of one
(.gt), also of real PyTorch.

One program may run with two inputs (--set-b gives those of B). The variables' options hold for
both.

Operations are aligned by what they compute, so another way to compute the same is equal within the tolerance. Else the
first difference is shown: its kind, step, operation, module and line in both programs, its size before and after, and
its reason where that is known; then up to five more places of independent origin. Of small runs a table follows: - is
only in A, + only in B, ~ differs. Several records (run.rank*.gt) are compared with the first.

-o writes the two programs side by side (.html), or draws both graphs in one. The exit code is 0 if the runs are equal
within the tolerance, 1 if they differ."""

EXAMPLES = """Examples:
  gradtrace diff "(x+w)*(w+1)" "x*w + x + w*w + w" --x 2 --w 1
  gradtrace diff loop.py --x 1 --set-b x=3
  gradtrace diff old.gt new.gt -o diff.html
  gradtrace diff --engine torch before.py after.py --step 3"""
PICTURES = ("dot", "svg", "png", "pdf")


def drawing(name: str) -> str:
    """Check the file name of -o before anything is computed; UsageError for an unknown suffix."""
    if name.rpartition(".")[2].lower() not in (*PICTURES, "html") or "." not in name:
        raise UsageError(
            f"-o: cannot tell what to draw from '{name}'",
            "end it in .html, .svg, .png, .pdf or .dot",
        )
    return name


def diff(
    request: Request,
    words: tuple[str, ...],
    set_b: tuple[str, ...],
    output_file: str | None,
    rtol: float | None,
    atol: float,
    exact: bool,
) -> int:
    from gradtrace.analysis.compare.tolerance import Tolerance
    from gradtrace.analysis.compare.verdict import compare
    from gradtrace.views import diff as view

    if exact and (rtol is not None or atol):
        raise UsageError("--exact leaves no tolerance", "leave out --rtol and --atol")
    if not words and not set_b:
        raise UsageError(
            "there is nothing to compare with", "give a second program, or --set-b NAME=VALUE"
        )
    tolerance = Tolerance(rtol, atol, exact)
    name = next(reversed(source.files()), request.program.source.name)
    first = traced(request, request.program)
    if len(words) > 1:
        return several(request, (name, first), words, tolerance, output_file)
    second = traced(
        request, parse(source.read(words[0]), request.budget) if words else request.program, set_b
    )
    verdict = compare(first, second, tolerance)
    if output_file is None:
        output.show(request.look, view.text, view.render, verdict, first, second)
    elif output_file.lower().endswith(".html"):
        from gradtrace.files import write_output
        from gradtrace.views.diff_page import page

        write_output(output_file, page(verdict, first, second).encode())
    else:
        draw(view.dot(verdict, first, second), output_file)
    return Exit.OK if verdict.same else Exit.FAILED


def traced(request: Request, program: Program, to: tuple[str, ...] = ()) -> Trace:
    """Return the record of one run, with the options that hold for it; of a recorded run of
    PyTorch, none does.
    """
    if program.record is not None and program.record.about.engine:
        request = request._replace(inputs=options.Inputs(), how=options.Backward())
    elif program is not request.program or to:
        inputs = fitting(program, request.inputs)
        request = request._replace(inputs=inputs._replace(set=(*inputs.set, *to)))
    wanted = session.GRADIENTS._replace(detailed=None)
    return session.record(request._replace(program=program), wanted)


def several(
    request: Request,
    named: tuple[str, Trace],
    words: tuple[str, ...],
    tolerance: Tolerance,
    output_file: str | None,
) -> int:
    """Compare several records, of the ranks of one run: say which part from the others, and
    where.
    """
    from gradtrace.analysis.compare.verdict import ranks
    from gradtrace.views import ranks as view

    others = [name for name in words if not name.lower().endswith(".gt")]
    if others:
        raise UsageError(
            f"unexpected extra argument '{others[-1]}'",
            "two programs are compared, or several records",
        )
    if output_file is not None:
        raise UsageError("-o draws two runs", "give two of the records")
    records = [parse(source.read(name), request.budget) for name in words]
    name, first = named
    by_rank = ranks(
        [name, *words], [first, *(traced(request, record) for record in records)], tolerance
    )
    output.show(request.look, view.ranks_text, view.ranks_data, by_rank)
    return Exit.OK if by_rank.same else Exit.FAILED


def fitting(program: Program, inputs: options.Inputs) -> options.Inputs:
    """Return the given inputs that this program has; variables' own options become --set, which
    --set-b overrides.
    """
    names = {variable.name for variable in program.inputs}
    kept = [text for text in inputs.set if text.partition("=")[0] in names]
    settings = [f"{name}={value}" for name, value in inputs.given.items() if name in names]
    no_grad = tuple(name for name in options.names(inputs.no_grad) if name in names)
    return inputs._replace(given={}, set=(*kept, *settings), no_grad=no_grad)


command = SourceCommand(
    "diff",
    diff,
    options.of_source(
        section("Inputs", option("--set-b NAME=VALUE ...", "Set a variable of the second run, B.")),
        section(
            "Comparison",
            option("--step N", "Compare one step of the training loop.", check=options.step_of),
            number(
                "--rtol R",
                "The relative difference allowed. Default: by dtype and length of sums.",
                0,
                type=float,
            ),
            number(
                "--atol R",
                "The absolute difference allowed, as a root mean square.",
                0,
                default=0.0,
                type=float,
            ),
            flag("--exact", "Compare to the bit."),
        ),
        section(
            "Output",
            option(
                "-o FILE",
                "Write a page (.html) or a drawing (.svg, .png, .pdf, .dot).",
                "output_file",
                drawing,
            ),
            *rare(flag("--all", "Show every tensor in the table.")),
        ),
        options.INPUTS,
        options.BACKWARD,
        options.format_of(),
        options.ENGINE,
    ),
    HELP,
    EXAMPLES,
    words="[SOURCE]",
)
