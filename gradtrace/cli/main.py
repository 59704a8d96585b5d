"""The console script: prepares the process, runs the command group, ends with its exit code."""

from __future__ import annotations

import gc
import os
import sys

from gradtrace.annotations import NoReturn

# Built graphs are freed by reference counting alone; the cycle collector would only walk them again and again.
# That is for a process of our own to decide, never for the library.
GC_THRESHOLDS = (200_000, 50, 50)


def main() -> NoReturn:
    """Runs the command line in `sys.argv` and exits."""
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        status = run(sys.argv[1:])
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)


def run(args: list[str]) -> int:
    """Runs a command line and returns its exit code: well-formed arguments without click, all others with it."""
    completing = "_GRADTRACE_COMPLETE" in os.environ
    if args and args[0][:1] != "-" and not completing:
        from gradtrace.cli import plain

        status = plain.run(args)
        if status is not None:
            return status
    from gradtrace.cli.group import cli

    if completing:
        import click

        click.Group.main(cli, prog_name="gradtrace")
    return cli.run(args)
