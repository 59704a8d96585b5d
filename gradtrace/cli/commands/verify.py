"""`gradtrace verify FILE`: run the cells of a note and compare their output with the recorded
output.
"""

from __future__ import annotations

import os
from typing import Any

import click

from gradtrace.cli import options, output, source
from gradtrace.cli.clicked import command_of
from gradtrace.cli.exits import Exit
from gradtrace.cli.options import flag, section

HELP = """Run the cells of a note in the order of the file, in one namespace, and compare what they print with what is
recorded there. FILE is a notebook (.ipynb), text with In [n]: cells, or Markdown.

In Markdown the fence after a python fence is its record if it is bare or marked text, output or console; a block of
>>> examples is run as doctest does. Other %magic and !shell lines are left out, and named.

Each `$ gradtrace ...` in a block of a terminal, and each %%gradtrace cell, is run as a command line, without any
rights: one that writes a file, or names limits or real PyTorch, is not run, and one that reads a file only if
--allow-read names the file or its folder.

Numbers are compared as numbers, all else as text. Addresses may differ; so may random numbers, and what another
version of PyTorch writes otherwise: both are named. The exit code is 1 if anything else differs or fails, or if nothing
could be compared; with --strict, also if PyTorch writes it otherwise today. A cell whose record is an error that only a
second run gives, and whose number says that there was one, is run twice."""

EXAMPLES = """Examples:
  gradtrace verify note.md
  gradtrace verify notebook.ipynb --format json
  gradtrace verify note.md --update"""


def verify(file: str, update: bool, strict: bool, **flags: Any) -> int:
    from gradtrace.cli import console, guard, report, verifying
    from gradtrace.cli.grants import Grants
    from gradtrace.documents import outputs
    from gradtrace.views import verify as view

    budget = options.budget(flags)
    place = os.path.expanduser(file.removeprefix("@"))
    rewritten = ((file.removeprefix("@"), place),) if update else ()
    read = (*budget.allow_read, place)
    asked = Grants.within(budget)._replace(
        temporary=True, read=read, outputs=rewritten, reads_stdin=file == "-"
    )
    guard.contain(asked._replace(commands=console.runner(budget)))
    name, text, *_ = source.read(file, always_file=True, is_note=True)
    checks = verifying.verify(name, text, budget)
    updated: list[Any] = []
    if update:
        from gradtrace.files import write_output

        changed, updated = verifying.updated(name, text, checks)
        if changed != text:
            write_output(name, changed.encode())
        labels = ", ".join(cell.label for cell in updated) or "none"
        report.write(f"gradtrace verify: records of {name} that were rewritten: {labels}")
    output.show(options.take(options.Look, flags), view.text, view.render, name, checks)
    passed = all(
        c.cell in updated or (c.passed and not (strict and c.verdict == outputs.VERSION))
        for c in checks
    )
    return Exit.OK if passed and any(c.compared for c in checks) else Exit.FAILED


OUTPUT = section(
    "Output",
    flag("--update", "Rewrite the records that differ, except by errors."),
    flag("--strict", "Also fail on differences that only the PyTorch version explains."),
)
command = command_of(
    verify,
    HELP,
    [*OUTPUT, *options.format_of(), *options.LIMITS, *options.COMMON],
    [click.Argument(["file"])],
    epilog=EXAMPLES,
)
