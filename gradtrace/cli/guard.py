"""End a command line: turn any exception that leaves it into an exit code and a report."""

from __future__ import annotations

import errno
import os
import sys

from gradtrace.annotations import TYPE_CHECKING, Callable
from gradtrace.cli.exits import Exit
from gradtrace.errors import GradtraceError, ProgramError

if TYPE_CHECKING:
    from gradtrace.cli.grants import Grants


FULL = (errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EFBIG)  # of an OSError of what is printed


def ended(job: Callable[[], int | None], args: list[str]) -> int:
    """Run the job of the command line `args` and return its exit code; a job that returns None
    succeeded.
    """
    try:
        if sys.stdout is None:
            raise GradtraceError("stdout is closed", "leave out >&-, or send the results to a file")
        try:
            status = job()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
        return Exit.OK if status is None else status
    except KeyboardInterrupt:
        from gradtrace.cli import report

        return report.interrupted()
    # every one of them gets its line and its exit code, never a bare traceback
    except Exception as error:
        return report_error(error, args)


def contain(grants: Grants) -> None:
    """Put all later runs of programs in this process behind the walls: return in a confined child
    of the console script's process, with the watchdog.
    """
    from gradtrace.cli import broker

    # Fork before importing the modules that run programs: a small process forks faster.
    broker.confine(grants, sys.argv[1:])
    from gradtrace.program import watchdog

    watchdog.guard(lambda error: report_error(error, sys.argv[1:]))


def report_error(error: Exception, args: list[str]) -> int:
    from gradtrace.cli import report

    unwritten = error.__cause__ if isinstance(error, ProgramError) else error
    if isinstance(error, ProgramError) and getattr(unwritten, "errno", None) not in FULL:
        unwritten = None  # the program's own; else its output found no place
    if isinstance(error, ModuleNotFoundError):
        from gradtrace.cli import running

        error = running.without_package(error) or error
    if not isinstance(unwritten, OSError):
        return report.show(error, report.Settings.of(args))
    abandon_output()
    return (
        Exit.BROKEN_PIPE
        if isinstance(unwritten, BrokenPipeError)
        else report.show(unwritten, report.Settings.of(args))
    )


def abandon_output() -> None:
    """Discard stdout's buffer, so that the exit does not write it to a closed pipe or a full disk
    again.
    """
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
