"""`gradtrace tutorial`: an introduction of about ten minutes, in the terminal."""

from __future__ import annotations

import sys

from gradtrace.annotations import Any
from gradtrace.cli import options, output
from gradtrace.cli.clicked import command_of
from gradtrace.cli.options import flag, number, section
from gradtrace.errors import UsageError

HELP = """Learn gradtrace in ten minutes: each step has a short text, a command to run or to change, its real output,
and a question. Commands run in a temporary folder with the tutorial's programs.

Ctrl-D, Ctrl-C or `quit` end it, and --step goes on from there. Where input or output is not a terminal, and with
--no-input, all steps are printed with their outputs and answers.

\b
Examples:
  gradtrace tutorial
  gradtrace tutorial --step 4
  gradtrace tutorial --no-input | less"""


def tutorial(step: int | None, list_steps: bool, no_input: bool, color: str | None, **_: Any) -> int:
    from gradtrace.cli import colour
    from gradtrace.cli.tutorial import listing, start
    from gradtrace.cli.tutorial_steps import STEPS

    if list_steps:
        output.write(listing())
        return 0
    last = len(STEPS)
    first = 1 if step is None else step
    if first > last:
        raise UsageError(f"no step {first}", f"the tutorial has {last} steps; --list shows them")
    interactive = not no_input and colour.is_terminal(sys.stdin) and colour.is_terminal(sys.stdout)
    return start(first, interactive, colour.wanted(color, sys.stdout))


ROWS = section(
    "Tutorial",
    number("--step N", "Start at step N. Default: 1.", 1),
    flag("--list", "List the steps and exit.", "list_steps"),
    flag("--no-input", "Ask nothing: print all steps with their outputs and answers."),
)
command = command_of(tutorial, HELP, [*ROWS, *options.COMMON])
