"""`gradtrace ops [NAME...]`: the reference of operators."""

from __future__ import annotations

from typing import Any

import click

from gradtrace.cli import hints, options, output
from gradtrace.cli.clicked import command_of, complete_operators
from gradtrace.errors import UsageError

HELP = """Describe operators: their formula, forms, grad_fn and derivatives, and the values at kinks (points without a
derivative). Without NAME, list all operators."""

EXAMPLES = """Examples:
  gradtrace ops
  gradtrace ops relu mul
  gradtrace ops softmax --format json"""


def ops(names: tuple[str, ...], **flags: Any) -> None:
    from gradtrace.analysis import operators
    from gradtrace.views import operators as view

    listed = operators.names()
    look = options.take(options.Look, flags)
    for name in names:
        if name not in listed:
            raise UsageError(
                f"no operator '{name}'", hints.near(name, listed, "gradtrace ops lists them")
            )
    if not names and look.format == "table":
        output.write(view.listing(listed, output.options(look)))
        return
    chosen = [operators.operator(name) for name in names or listed]
    output.show(look, view.text, view.render, chosen)


command = command_of(
    ops,
    HELP,
    [*options.format_of(), *options.COMMON],
    [click.Argument(["names"], nargs=-1, metavar="[NAME]...", shell_complete=complete_operators)],
    epilog=EXAMPLES,
)
