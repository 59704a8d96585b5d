"""The group of click commands; each command is imported when it is first used.

To add one, write `gradtrace/cli/commands/NAME.py` with a SourceCommand (or any click command) in
`command`, and add its line to COMMANDS and GROUPS in `gradtrace/cli/commands/__init__.py`.
"""

from __future__ import annotations

import sys
from importlib import import_module

import click
from click.shell_completion import CompletionItem

from gradtrace import __version__
from gradtrace.annotations import Any
from gradtrace.cli import guard, report, source
from gradtrace.cli.clicked import ClickCommand
from gradtrace.cli.command import SourceCommand
from gradtrace.cli.commands import COMMANDS, GROUPS
from gradtrace.cli.exits import Exit
from gradtrace.errors import UsageError

# commands of earlier versions
FORMER = {
    "compare": "a dynamic beside a static graph: gradtrace plan SOURCE --compare; "
    "two programs: gradtrace diff A B"
}
EPILOG = "First steps: gradtrace tutorial. More about a command: gradtrace eval --help"


class Tool(click.Group):
    """`gradtrace` as a click group: its commands come from COMMANDS; it has its own error reports
    and exit codes.
    """

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
        command = import_module(f"gradtrace.cli.commands.{cmd_name}").command
        return ClickCommand(command) if isinstance(command, SourceCommand) else command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a command's name from COMMANDS, without importing the commands."""
        names = [
            CompletionItem(name, help=COMMANDS[name])
            for name in COMMANDS
            if name.startswith(incomplete)
        ]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, COMMANDS))
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), COMMANDS[name]) for name in names])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name in COMMANDS or name.startswith("-"):
            return super().resolve_command(ctx, args)
        raise UsageError(f"no such command '{report.clip(name)}'", _meant(name))

    def run(self, args: list[str], prog_name: str = "gradtrace") -> int:
        """Run a command line and return its exit code; report errors on stderr with `report`."""
        return guard.ended(lambda: self.obey(args, prog_name), args)

    def obey(self, args: list[str], prog_name: str) -> int | None:
        if args[:1] == ["help"]:  # as git has it
            args = [*args[1:2], "--help"]
        try:
            with self.make_context(prog_name, list(args)) as ctx:
                status: int | None = self.invoke(ctx)
                return status
        except click.exceptions.Exit as end:
            return end.exit_code
        except click.Abort:
            raise KeyboardInterrupt from None

    def main(self, args: Any = None, prog_name: str | None = None, *rest: Any, **extra: Any) -> Any:
        """Run the command line and exit; click's test runner calls this method."""
        source.forget()
        sys.exit(self.run(list(sys.argv[1:] if args is None else args), prog_name or "gradtrace"))


def _meant(name: str) -> str:
    """Return a hint: a command with a similar name, or `eval` for a name that looks like an
    expression or a file.
    """
    from difflib import get_close_matches

    if name in FORMER:
        return FORMER[name]
    close = get_close_matches(name, COMMANDS, 1)
    if close:
        return f"did you mean {close[0]}?"
    if not name.isidentifier():
        return f"to evaluate it: gradtrace eval '{report.clip(name)}'"
    return f"there are {', '.join(COMMANDS)}"


cli = Tool(
    "gradtrace",
    help="See and check gradients of expressions and of PyTorch programs.",
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
click.version_option(__version__, prog_name="gradtrace", message="%(prog)s %(version)s")(cli)
