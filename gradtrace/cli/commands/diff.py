"""`gradtrace diff A [B]`: two programs, or one with two inputs, side by side."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING
from gradtrace.cli import options, screen, session, source
from gradtrace.cli.command import SourceCommand, parse
from gradtrace.cli.commands.plan import draw
from gradtrace.cli.exits import Exit
from gradtrace.cli.options import Request, flag, option, section
from gradtrace.errors import UsageError

if TYPE_CHECKING:
    from gradtrace.lang import Program

HELP = """Compare two programs, A and B, or one with two inputs (--to gives the second run's): their operations, values
and gradients. The variables' options hold for both. In the table - is only in A, + only in B, ~ has changed.

-o draws both graphs in one, with what changed in colour. The exit code is 1 if there is a difference, as diff's is."""

EXAMPLES = """Examples:
  gradtrace diff "(x+w)*(w+1)" "x*w + x + w*w + w" --x 2 --w 1
  gradtrace diff loop.py --x 1 --to x=3
  gradtrace diff before.py after.py -o diff.svg"""


def drawing(name: str) -> str:
    """Check the file name of -o before anything is computed; UsageError for an unknown suffix."""
    if name.rpartition(".")[2].lower() not in ("dot", "svg", "png", "pdf") or "." not in name:
        raise UsageError(f"-o: cannot tell what to draw from '{name}'", "end it in .svg, .png, .pdf or .dot")
    return name


def diff(
    request: Request,
    words: tuple[str, ...],
    to: tuple[str, ...],
    output_file: str | None,
) -> int:
    from gradtrace.analysis import diff as analysis
    from gradtrace.views import diff as view

    if len(words) > 1:
        raise UsageError(f"unexpected extra argument '{words[1]}'", "two programs are compared")
    if not words and not to:
        raise UsageError("there is nothing to compare with", "give a second program, or --to NAME=VALUE")
    program = parse(source.read(words[0]), request.budget) if words else request.program
    inputs = fitting(program, request.inputs)
    changed = request._replace(program=program, inputs=inputs._replace(set=(*inputs.set, *to)))
    a, b = (session.record(run, session.GRADIENTS._replace(detailed=None)) for run in (request, changed))
    found = analysis.diff(a, b)
    if output_file is not None:
        draw(view.dot(found, a, b), output_file)
    else:
        screen.show(request.look, view.text, view.render, found)
    return Exit.OK if found.same else Exit.FAILED


def fitting(program: Program, inputs: options.Inputs) -> options.Inputs:
    """Return the given inputs that this program has; variables' own options become --set, which --to overrides."""
    known = {given.name for given in program.inputs}
    kept = [text for text in inputs.set if text.partition("=")[0] in known]
    given = [f"{name}={value}" for name, value in inputs.given.items() if name in known]
    no_grad = tuple(name for name in options.names(inputs.no_grad) if name in known)
    return inputs._replace(given={}, set=(*kept, *given), no_grad=no_grad)


command = SourceCommand(
    "diff",
    diff,
    options.of_source(
        section("Inputs", option("--to NAME=VALUE ...", "A variable's value in the second run.")),
        section(
            "Output",
            option("-o FILE", "Draw both graphs to .svg, .png, .pdf or .dot.", "output_file", drawing),
            flag("--all", "Show every tensor."),
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
