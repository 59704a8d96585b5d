"""`gradtrace trace SOURCE`: every step of a run, in execution order."""

from __future__ import annotations

from gradtrace.cli import options, output, session
from gradtrace.cli.command import SourceCommand
from gradtrace.cli.options import Request, option, section
from gradtrace.errors import ProgramError

HELP = """Show every step of SOURCE in the order in which it happened: forward (expression, operation, inputs, value,
what was saved for backward and its bytes), then backward in the engine's real order (upstream, local and downstream
gradient, sums with their contributions, hooks that ran and what they changed, buffers freed).

A program that fails has its trace up to the failure, which is reported at the end; the exit code is 1.

A dot for a local derivative means that it is a matrix, not a number for each element."""

EXAMPLES = """Examples:
  gradtrace trace "(x+w)*(w+1)" --x 2 --w 1
  gradtrace trace tutorial.py --follow x
  gradtrace trace tutorial.py --format jsonl"""


def trace(request: Request, follow: tuple[str, ...]) -> None:
    from gradtrace.analysis import steps
    from gradtrace.views import pick
    from gradtrace.views import steps as view

    failures: list[ProgramError] = []
    run = session.record(request, session.Wanted(watched=True, everything=True, failures=failures))
    listed = steps.steps(run)
    if follow:
        listed = steps.follow(
            run, listed, {pick.tensor(run, name, "--follow").id for name in options.names(follow)}
        )
    look = request.look
    lines = (
        view.table(listed, output.options(look))
        if look.format == "table"
        else view.render(run, listed, look.format)
    )
    for line in lines:
        output.write(line)
    if failures:
        raise failures[0]


FOLLOW = option(
    "--follow NAMES ...",
    "Show only the steps that make these tensors, read them, or pass a gradient to them.",
)
command = SourceCommand(
    "trace",
    trace,
    options.of_source(
        options.RECORDING,
        options.format_of(),
        section("Output", FOLLOW),
        options.ENGINE,
    ),
    HELP,
    EXAMPLES,
)
