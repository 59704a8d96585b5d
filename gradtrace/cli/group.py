"""The command group: a table of commands, each loaded when it is named; and one place where every error ends.

To add a command, write `gradtrace/cli/commands/NAME.py` with a click command in `command`, and add its
line to COMMANDS.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import click

from gradtrace import __version__
from gradtrace.cli import report, source
from gradtrace.cli.exits import Exit
from gradtrace.errors import ProgramError, UsageError

# name: what it does, as the list of commands says it (so that --help loads none of them)
COMMANDS = {
    "eval": "Values, gradients and leaf status of an expression or a file.",
    "graph": "Draw the graph of an expression or a file.",
    "run": "Run a script as it is.",
}

EPILOG = "Ask a command for more, with a source to see its variables too: gradtrace eval 'x*w' --help"


class Tool(click.Group):
    """`gradtrace`: commands from the table, our errors and exit codes."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            report.write(ctx.get_help())
            ctx.exit(Exit.USAGE)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = import_module(f"gradtrace.cli.commands.{cmd_name}").command
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name in COMMANDS or name.startswith("-"):
            return super().resolve_command(ctx, args)
        raise UsageError(f"no such command '{report.clip(name)}'", _meant(name))

    def run(self, args: list[str], prog_name: str = "gradtrace") -> int:
        """Runs a command line and returns its exit code; errors go to stderr, in the form `report` gives them."""
        settings = report.Settings.of(args)
        source.forget_stdin()
        try:
            try:
                with self.make_context(prog_name, list(args)) as ctx:
                    status = self.invoke(ctx)
            finally:
                if sys.stdout is not None:
                    sys.stdout.flush()
            return Exit.OK if status is None else int(status)
        except click.exceptions.Exit as end:
            return end.exit_code
        except (KeyboardInterrupt, click.Abort):
            return report.interrupted()
        except ProgramError as error:
            if isinstance(error.__cause__, OSError):  # not the program's doing: its output found no place
                return self.unwritten(error.__cause__, settings)
            return report.show(error, settings)
        except OSError as error:
            return self.unwritten(error, settings)
        except Exception as error:  # every one of them gets its line and its exit code, never a bare traceback
            return report.show(error, settings)

    def unwritten(self, error: OSError, settings: report.Settings) -> int:
        """Output that could not be written: silent where its reader has gone."""
        abandon_output()
        return Exit.BROKEN_PIPE if isinstance(error, BrokenPipeError) else report.show(error, settings)

    def main(self, args: Any = None, prog_name: str | None = None, *rest: Any, **extra: Any) -> Any:
        """click's own entrance (its test runner comes this way): runs the command line and exits."""
        sys.exit(self.run(list(sys.argv[1:] if args is None else args), prog_name or "gradtrace"))


def abandon_output() -> None:
    """The reader has gone, or the disk is full: what is still in stdout's buffer must not be tried again at the end."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _meant(name: str) -> str:
    """What to do instead: a command of a similar name, or `eval` for what looks like an expression or a file."""
    from difflib import get_close_matches

    close = get_close_matches(name, COMMANDS, 1)
    if close:
        return f"did you mean {close[0]}?"
    if not name.isidentifier():
        return f"to evaluate it: gradtrace eval '{report.clip(name)}'"
    return f"there are {', '.join(COMMANDS)}"


cli = Tool(
    "gradtrace",
    help="See and check gradients: values, gradients, leaf status and graphs of PyTorch-style expressions and scripts.",
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
click.version_option(__version__, prog_name="gradtrace", message="%(prog)s %(version)s")(cli)
