"""`gradtrace repl`: run statements as they are typed, and answer questions about the session."""

from __future__ import annotations

import sys
from typing import Any

from gradtrace.cli import options, output, report
from gradtrace.cli.clicked import command_of
from gradtrace.cli.exits import Exit
from gradtrace.cli.options import choice, number, option, section

HELP = """Run statements as they are typed, in one session under the limits, and print their values with their flags.
Questions are functions: why(w), graph(y), trace(y), paths(w), stats(), table(); help() lists them. An error is reported
with its place, and the session goes on.

Input may be a pipe: a script runs as if typed, without prompts, and the exit code is 1 if any of it failed. History is
kept in memory alone, unless --history names a file."""

EXAMPLES = """Examples:
  gradtrace repl
  gradtrace repl --history ~/.gradtrace_history
  printf 'w: leaf = 1.0\\ny = w * w\\ny.backward()\\nw.grad\\n' | gradtrace repl"""


def repl(
    color: str | None, dtype: str | None, seed: int | None, history: str | None, **flags: Any
) -> int:
    import gradtrace
    import gradtrace.ops.random.generator
    from gradtrace.cli import guard, prompt
    from gradtrace.cli.grants import Grants
    from gradtrace.cli.repl import Repl, remote_entries
    from gradtrace.sandbox import channel

    budget = options.budget(flags)
    asked = Grants.within(budget)._replace(
        temporary=True,
        seconds=None,  # the parent reads the entries, and its clock begins with each
        prompt=lambda names: prompt.entries(names, history),
        entry_seconds=budget.seconds,
    )
    guard.contain(asked)
    if seed is not None:
        gradtrace.manual_seed(seed)
    session = Repl(budget, dtype, report.Settings.of(sys.argv[1:])._replace(color=color))
    names = session.known_names
    status = session.serve(
        remote_entries(names) if channel.is_open() else prompt.entries(names, history)
    )
    return status or (
        Exit.FAILED if session.failed and not output.is_terminal(sys.stdin) else Exit.OK
    )


SESSION = section(
    "Session",
    choice("--dtype float64|float32", "Default: float64, or float32 once torch was imported."),
    number("--seed N", "Seed of random numbers (torch.manual_seed)."),
    option(
        "--history FILE",
        "The file for the history of entries. Default: none, it is kept in memory.",
    ),
)
command = command_of(repl, HELP, [*SESSION, *options.LIMITS, *options.COMMON], epilog=EXAMPLES)
