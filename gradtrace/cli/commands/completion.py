"""`gradtrace completion [SHELL]`: the script that teaches a shell to complete commands, options and variables."""

from __future__ import annotations

import os

import click
from click.shell_completion import get_completion_class

from gradtrace.annotations import Any
from gradtrace.cli import options, output
from gradtrace.cli.clicked import SectionOption
from gradtrace.errors import UsageError

SHELLS = ("bash", "zsh", "fish")

HELP = """Print the script that makes SHELL (bash, zsh or fish; without it the one that SHELL in the environment names)
complete commands, options, their choices, files, operators' names, and the variables of the expression that stands
before the cursor.

\b
Put into the shell's start file what fits:
  eval "$(gradtrace completion bash)"       # ~/.bashrc, bash 4.4 or later
  eval "$(gradtrace completion zsh)"        # ~/.zshrc, after compinit
  gradtrace completion fish | source        # ~/.config/fish/config.fish"""


def completion(shell: str | None, **_: Any) -> None:
    from gradtrace.cli.group import cli

    name = shell or os.path.basename(os.environ.get("SHELL", "")).removesuffix(".exe")
    maker = get_completion_class(name) if name in SHELLS else None
    if maker is None:
        told = f"no completion for the shell '{name}'" if name else "SHELL in the environment names no shell"
        raise UsageError(told, f"name one: {', '.join(SHELLS)}")
    output.write(script(maker(cli, {}, "gradtrace", "_GRADTRACE_COMPLETE")))


def script(maker: Any) -> str:
    """The script as click has it, without the look at the installed bash: it may run on another machine."""
    return str(maker.source_template % maker.source_vars()).strip() + "\n"


command = click.Command(
    "completion",
    callback=completion,
    params=[
        click.Argument(["shell"], required=False, metavar="[SHELL]", type=click.Choice(SHELLS)),
        *map(SectionOption, options.common()),
    ],
    help=HELP,
)
