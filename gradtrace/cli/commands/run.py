"""`gradtrace run FILE`: a script, as it is. stdout is what the script prints and nothing else."""

from __future__ import annotations

import sys

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.cli import options
from gradtrace.cli.command import SourceCommand
from gradtrace.errors import ProgramError

if TYPE_CHECKING:
    from gradtrace.lang import Program

HELP = """Run FILE (or - for stdin), a small PyTorch script or an expression file, as it is.

stdout is what it prints, nothing else; warnings go to stderr. An exception that it does not catch is told with its
place and its source line, exit status 1."""

EXAMPLES = """Examples:
  gradtrace run tutorial.py
  gradtrace run model.txt --x 1,2,3"""


def run(program: Program, **flags: Any) -> None:
    from gradtrace.cli import session

    inputs, budget = options.take(options.Inputs, flags), options.budget(flags)
    dtype = session.dtype_of(program, inputs.dtype)
    tensors = session.prepare(program, inputs, dtype, budget)
    try:
        with session.audible(sys.stdout) as out:
            session.execute(program, tensors, dtype, out, budget=budget)
    except ProgramError as error:
        error.as_python = True  # type: ignore[attr-defined]
        raise


command = SourceCommand(
    "run",
    run,
    [*options.source(), *options.inputs(), *options.limits(), *options.common()],
    HELP,
    EXAMPLES,
    always_file=True,
)
