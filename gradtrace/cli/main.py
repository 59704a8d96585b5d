"""The console script: run a command line and end the process with its exit code."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # signal itself loads enum
import atexit
import gc
import os
import sys

from gradtrace.annotations import Any, NoReturn

# Built graphs are freed by reference counting alone; the cycle collector would only walk them again
# and again. That is for a process of our own to decide, never for the library.
GC_THRESHOLDS = (200_000, 50, 50)
# Signals that end the command line after it has tidied up: no half-written file and no subprocess
# is left.
ENDING = tuple(getattr(_signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(_signal, name))


def main() -> NoReturn:
    """Run the command line in `sys.argv` and exit."""
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        for number in ENDING:
            if _signal.getsignal(number) == _signal.SIG_DFL:
                _signal.signal(number, end_by)
        from gradtrace.cli import broker

        broker.enable()
        status = run(sys.argv[1:])
    except KeyboardInterrupt:
        status = 130
    except SystemExit as end:  # of the parent of a confined child, or by a signal
        status = end.code if isinstance(end.code, int) else 1
    leave(status)


def end_by(number: int, frame: Any) -> NoReturn:
    """End the process by an exception, with the exit code that a shell shows for the signal."""
    raise SystemExit(128 + number)


def leave(status: int) -> NoReturn:
    """End the process by os._exit, since Python's cleanup of modules and objects takes milliseconds
    with numpy loaded.

    Functions registered with atexit are called first. With a profiler, a debugger, `python -i`,
    running threads, or output that cannot be written, the process ends by the usual sys.exit.
    """
    threading = sys.modules.get("threading")
    if is_watched() or (threading is not None and threading.active_count() > 1):
        sys.exit(status)
    _signal.signal(_signal.SIGINT, _signal.SIG_IGN)  # the result stands
    try:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        sys.exit(status)
    os._exit(status)


def is_watched() -> bool:
    """Whether a profiler, a debugger or `python -i` needs Python's ordinary exit."""
    monitoring = getattr(sys, "monitoring", None)
    tools = () if monitoring is None else [monitoring.get_tool(number) for number in range(6)]
    return bool(sys.flags.inspect or sys.getprofile() or sys.gettrace() or any(tools))


def run(args: list[str]) -> int:
    """Run a command line and return its exit code; only unusual arguments go through click."""
    completing = "_GRADTRACE_COMPLETE" in os.environ
    named = "" if completing else option_named_as_file(args)
    if named:
        return report_ambiguous(named, args)
    if any(token[:8] in ("--engine", "--python") for token in args) and not completing:
        from gradtrace.cli import torch_engine

        if torch_engine.is_asked(args):
            return torch_engine.run(args, run_command)
    return run_command(args, completing)


def option_named_as_file(args: list[str]) -> str:
    """Return the first option that is also the name of a file in the current folder; "" if there is
    none.

    A shell writes such a word for `*`. In a folder with a stranger's file `--engine=torch` or
    `--allow-write=..` it would give rights that nobody has typed.
    """
    for word in args:
        if word == "--":
            break
        if word.startswith(("--", "-o")) and "\0" not in word and os.path.lexists(word):
            return word
    return ""


def report_ambiguous(word: str, args: list[str]) -> int:
    from gradtrace.cli import guard, report
    from gradtrace.errors import UsageError

    shown = report.clip(word)
    hint = (
        f"write ./{shown} for the file; for the option rename the file or run this in another "
        "folder"
    )
    return guard.report_error(
        UsageError(f"'{shown}' is an option and also the name of a file here", hint), args
    )


def run_command(args: list[str], completing: bool = False) -> int:
    if args and args[0][:1] != "-" and not completing:
        from gradtrace.cli import plain

        status = plain.run(args)
        if status is not None:
            return status
    from gradtrace.cli.group import cli

    if completing:
        import click

        import gradtrace.cli.powershell  # noqa: F401  registers its class with click

        click.Group.main(cli, prog_name="gradtrace")
    return cli.run(args)
