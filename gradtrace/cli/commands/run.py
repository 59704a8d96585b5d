"""`gradtrace run FILE`: run a program; stdout gets only what the program prints."""

from __future__ import annotations

import sys

from gradtrace.cli import options
from gradtrace.cli.command import SourceCommand
from gradtrace.cli.options import Request, option, section
from gradtrace.errors import ProgramError, UsageError

HELP = """Run FILE (or - for stdin), a Python program that imports torch, or an expression file.

Python runs it, with gradtrace's library under the name torch, in a process that the kernel confines (gradtrace doctor).

stdout is what it prints, nothing else; warnings go to stderr. An exception that it does not catch is reported with its
place and its source line, exit status 1; one of autograd's ends with the command that explains it. Arguments after --
are the program's own (sys.argv, argparse).

With -o the run is recorded too, as "gradtrace graph FILE -o run.gt" does; every command takes the record as its source.
A program that fails has a record up to its failure. With --precision the record has the rounding errors of its results,
for "gradtrace why --precision run.gt"."""

EXAMPLES = """Examples:
  gradtrace run tutorial.py
  gradtrace run tutorial.py -o run.gt
  gradtrace run model.txt --x 1,2,3
  gradtrace run train.py -- --epochs 3 --lr 0.1"""


def record_file(name: str) -> str:
    """Check the file name of -o before the run; UsageError unless it is that of a record (.gt)."""
    from gradtrace.cli.commands.graph import checked
    from gradtrace.cli.records import SUFFIX

    return checked(name, (SUFFIX,))


def run(
    request: Request, output_file: str | None, precision: bool, arguments: tuple[str, ...] = ()
) -> None:
    from gradtrace.cli import inputs, running, session

    if precision and output_file is None:
        raise UsageError(
            "run --precision measures for a record", "add -o FILE.gt; or gradtrace why --precision"
        )
    request = request._replace(budget=request.budget._replace(arguments=arguments))
    try:
        if output_file is not None:
            session.save(request, output_file, sys.stdout, precision)
            return
        tensors = inputs.prepare(request)
        with running.audible(sys.stdout) as out:
            running.execute(request, tensors, out)
    except ProgramError as error:
        name = request.program.source.name
        if of_autograd(error) and not name.startswith("<"):
            import shlex

            error.next_command = f"gradtrace why {shlex.quote(name)}"  # type: ignore[attr-defined]
        raise


def of_autograd(error: ProgramError) -> bool:
    """Whether the error is one that an operation raised, which `gradtrace why` explains, and not
    the program's own.
    """
    raised = getattr(error.place, "text", "").lstrip().startswith(("raise", "assert"))
    return isinstance(error.__cause__, RuntimeError) and not raised


command = SourceCommand(
    "run",
    run,
    options.of_source(
        section(
            "Output",
            option("-o FILE.gt", "Record the run too.", "output_file", record_file),
            options.PRECISION,
        ),
        options.INPUTS,
        options.ENGINE,
    ),
    HELP,
    EXAMPLES,
    always_file=True,
    passes_on=True,
)
