"""`gradtrace completion [SHELL]`: the script that teaches a shell to complete commands, options and
variables.
"""

from __future__ import annotations

import os

import click
from click.shell_completion import get_completion_class

from gradtrace.annotations import Any
from gradtrace.cli import options, output
from gradtrace.cli.clicked import command_of
from gradtrace.errors import UsageError

SHELLS = ("bash", "zsh", "fish", "powershell")
ALSO = {"pwsh": "powershell"}  # other names of these shells' programs

HELP = """Print the script that makes a shell complete commands, options, their choices, files, operators' names, and
the variables of the expression before the cursor. SHELL is bash, zsh, fish or powershell. Default: the one that SHELL
in the environment names."""

EXAMPLES = """Put the line for your shell into its start file:
  eval "$(gradtrace completion bash)"       # ~/.bashrc, bash 4.4 or later
  eval "$(gradtrace completion zsh)"        # ~/.zshrc, after compinit
  gradtrace completion fish | source        # ~/.config/fish/config.fish
  gradtrace completion powershell | Out-String | Invoke-Expression # $PROFILE"""


def completion(shell: str | None, **_: Any) -> None:
    import gradtrace.cli.powershell  # noqa: F401  registers its class with click
    from gradtrace.cli.group import cli

    name = shell or os.path.basename(os.environ.get("SHELL", "")).removesuffix(".exe")
    name = ALSO.get(name, name)
    maker = get_completion_class(name) if name in SHELLS else None
    if maker is None:
        message = (
            f"no completion for the shell '{name}'"
            if name
            else "SHELL in the environment names no shell"
        )
        raise UsageError(message, f"name one: {', '.join(SHELLS)}")
    output.write(script(maker(cli, {}, "gradtrace", "_GRADTRACE_COMPLETE")))


def script(maker: Any) -> str:
    """Return click's script without its check of the installed bash, as the script may run on
    another machine.
    """
    return str(maker.source_template % maker.source_vars()).strip() + "\n"


command = command_of(
    completion,
    HELP,
    options.COMMON,
    [
        click.Argument(
            ["shell"], required=False, metavar="[SHELL]", type=click.Choice((*SHELLS, *ALSO))
        )
    ],
    epilog=EXAMPLES,
)
