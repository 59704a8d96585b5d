"""`gradtrace run FILE`: run a script; stdout gets only what the script prints."""

from __future__ import annotations

import sys

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.cli import options
from gradtrace.cli.command import SourceCommand, ToolOption
from gradtrace.errors import ProgramError

if TYPE_CHECKING:
    from gradtrace.lang import Program

HELP = """Run FILE (or - for stdin), a small PyTorch script or an expression file, as it is.

stdout is what it prints, nothing else; warnings go to stderr. An exception that it does not catch is reported with its
place and its source line, exit status 1. Arguments after -- are the script's own (sys.argv, argparse).

With -o the run is recorded too, as "gradtrace graph FILE -o run.gt" does; every command takes the record as its source.
A program that fails has a record up to its failure."""

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


def run(program: Program, output_file: str | None, arguments: tuple[str, ...] = (), **flags: Any) -> None:
    from gradtrace.cli import session

    inputs, budget = options.take(options.Inputs, flags), options.budget(flags)._replace(arguments=arguments)
    try:
        if output_file is not None:
            session.save(program, inputs, budget, output_file, sys.stdout)
            return
        dtype = session.dtype_of(program, inputs.dtype)
        tensors = session.prepare(program, inputs, dtype, budget)
        with session.audible(sys.stdout) as out:
            session.execute(program, tensors, dtype, out, budget=budget)
    except ProgramError as error:
        error.as_python = True  # type: ignore[attr-defined]
        raise


command = SourceCommand(
    "run",
    run,
    [
        *options.source(),
        ToolOption(
            ["-o", "output_file"], metavar="FILE.gt", check=record_file, section="Output", help="Record the run too."
        ),
        *options.inputs(),
        *options.engine(),
        *options.limits(),
        *options.common(),
    ],
    HELP,
    EXAMPLES,
    always_file=True,
    passes_on=True,
)
