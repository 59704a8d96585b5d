"""`gradtrace trace SOURCE`: every step of a run, in execution order."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.cli import options, output, screen
from gradtrace.cli.command import SourceCommand, ToolOption
from gradtrace.errors import ProgramError

if TYPE_CHECKING:
    from gradtrace.lang import Program

HELP = """Show every step of SOURCE in the order in which it happened: forward (expression, operation, inputs, value,
what was saved for backward and its bytes), then backward in the engine's real order (upstream, local and downstream
gradient, sums with their contributions, hooks that ran and what they changed, buffers freed).

A program that fails has its trace up to the failure, which is reported at the end; the exit code is 1.

A dot for a local derivative means that it is a matrix, not a number for each element."""

EXAMPLES = """Examples:
  gradtrace trace "(x+w)*(w+1)" --x 2 --w 1
  gradtrace trace tutorial.py --follow x
  gradtrace trace tutorial.py --format jsonl"""

FORMATS = ("table", "json", "jsonl", "csv", "tsv", "md", "latex")


def trace(program: Program, format: str, follow: tuple[str, ...], color: str | None, **flags: Any) -> None:
    from gradtrace.analysis import steps
    from gradtrace.cli import session
    from gradtrace.cli.parts import Part
    from gradtrace.views import pick
    from gradtrace.views import steps as view

    inputs, how = options.take(options.Inputs, flags), options.take(options.Backward, flags)
    part = options.take(Part, flags)
    failures: list[ProgramError] = []
    run = session.record(
        program, inputs, how, options.budget(flags), watched=True, everything=True, part=part, failures=failures
    )
    found = steps.steps(run)
    if follow:
        found = steps.follow(run, found, {pick.tensor(run, name, "--follow").id for name in options.names(follow)})
    lines = view.table(found, screen.options(color)) if format == "table" else view.render(run, found, format)
    for line in lines:
        output.write(line)
    if failures:
        raise failures[0]


command = SourceCommand(
    "trace",
    trace,
    [
        *options.source(),
        *options.inputs(),
        *options.backward(),
        *options.part(),
        *options.format(FORMATS),
        ToolOption(
            ["--follow"],
            metavar="NAMES",
            multiple=True,
            section="Output",
            help="Show only the steps that make these tensors, read them, or pass a gradient to them.",
        ),
        *options.engine(),
        *options.limits(),
        *options.common(),
    ],
    HELP,
    EXAMPLES,
)
