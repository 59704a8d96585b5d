"""`--engine torch`: run the source in real PyTorch, in a subprocess, and show the recorded run.

    gradtrace why --engine torch train.py w [--python PATH] [-- the script's own arguments]

The file runs with full rights, as under plain Python. So the option is never a default: it is read only from the
command line, and refused if a source is not a file. This process never imports torch; it reads the record that the
subprocess writes, like any .gt file.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from gradtrace.annotations import Any, Callable, NamedTuple
from gradtrace.cli import argv, guard, options, report, source
from gradtrace.cli.commands import COMMANDS
from gradtrace.errors import ProgramError, UsageError
from gradtrace.sandbox import channel

CHILD = Path(__file__).parent.parent / "torch" / "child.py"
KNOWN = ("why", "graph", "page", "stats", "trace", "diff", "eval", "run")
OPTIONS = ("--engine", "--python")
WITH_OWN_OPTIONS = (["check"], ["verify"], ["replay"])
LEVEL = "summary"
HOW = "gradtrace why --engine torch train.py"


class Asked(NamedTuple):
    """The parts of a command line with --engine torch."""

    command: str
    options: list[list[str]]  # the other ones, each with its values
    positionals: list[str]
    python: str
    script_args: list[str]


def is_asked(args: list[str]) -> bool:
    """Whether a command line has --engine before the arguments of a script."""
    head = args[: args.index("--")] if "--" in args else args
    return head[:1] not in WITH_OWN_OPTIONS and any(token.partition("=")[0] in OPTIONS for token in head)


def run(args: list[str], go_on: Callable[[list[str]], int]) -> int:
    """Run the scripts in PyTorch, then call `go_on` with a command line that has their records in their places."""
    status = 0

    def work() -> int:
        nonlocal status
        asked = taken_apart(args)
        with own_folder() as folder:
            if asked.command == "run":
                return run_alone(asked, folder)
            records = []
            for number, script in enumerate(asked.positionals[: sources_of(asked)]):
                if is_record(asked, script):
                    records.append(script)
                    continue
                path = os.path.join(folder, f"{number}.gt")
                _, told = run_script(asked, path, level_of(asked), script)
                records.append(path)
                if told.get("interrupted"):
                    status = 130
            words = asked.positionals[len(records) :]
            others = [token for option in asked.options for token in option]
            try:
                shown = go_on([asked.command, *others, "--", *records, *words])
            except SystemExit as end:  # of the parent of a confined child
                shown = end.code if isinstance(end.code, int) else 1
            return status or shown

    return guard.ended(work, args)


class own_folder:
    """Context manager: a new folder, which this process removes; the confined child that shows a record does not."""

    def __enter__(self) -> str:
        self.name = tempfile.mkdtemp(prefix="gradtrace-")
        return self.name

    def __exit__(self, *_: object) -> None:
        if not channel.is_open():
            shutil.rmtree(self.name, ignore_errors=True)


def run_alone(asked: Asked, folder: str) -> int:
    """Run a script for what it prints; with -o its record is written too. Return the script's exit code."""
    taken = ("-o", *(name for option in options.COMMON for name in option.names))
    for option in asked.options:
        if option[0].partition("=")[0] not in taken and option[0][:2] != "-o":
            raise UsageError(f"'{option[0]}' is not for a run in PyTorch", "-o run.gt writes its record")
    name = value_of(asked.options, "-o")
    script = asked.positionals[0]
    if name is None:
        return run_script(asked, folder, "none", script)[0]
    name = import_module("gradtrace.cli.commands.run").record_file(name)
    record = os.path.join(folder, "0.gt")
    code, _ = run_script(asked, record, LEVEL, script)
    files = import_module("gradtrace.files")
    files.write_output(name, Path(record).read_bytes())
    return code


def sources_of(asked: Asked) -> int:
    """Return how many of the command's arguments are scripts."""
    return 2 if asked.command == "diff" else 1


def level_of(asked: Asked) -> str:
    """Return the level at which a command's script is recorded."""
    if asked.command == "diff":
        return "compare"
    precise = ["--precision"] in asked.options or value_of(asked.options, "--color-by") == "precision"
    return "precision" if precise else LEVEL


def is_record(asked: Asked, script: str) -> bool:
    """Whether a source of diff is a record, to compare with what a script does."""
    return asked.command == "diff" and script.lower().endswith(".gt")


def taken_apart(args: list[str]) -> Asked:
    """Parse a command line with --engine torch; raise UsageError for options that cannot be combined with it."""
    command = args[0]
    if command not in KNOWN:
        shown = command if command in COMMANDS else report.clip(command)
        raise UsageError(f"--engine torch is not for '{shown}'", f"it goes with {', '.join(KNOWN)}")
    cut = args.index("--") if "--" in args else len(args)
    head, script_args = args[1:cut], args[cut + 1 :]
    arity = import_module(f"gradtrace.cli.commands.{command}").command.arity
    split = argv.split(head, {**arity, **dict.fromkeys(OPTIONS, 1)})
    values = {name: value_of(split.options, name) for name in OPTIONS}
    if values["--engine"] is None:
        raise UsageError("--python goes with --engine torch", HOW)
    if values["--engine"] != "torch":
        raise UsageError(f"--engine: '{report.clip(values['--engine'])}' is not an engine", "there is torch")
    if split.unknown:
        raise UsageError(
            f"no such option '{report.clip(split.unknown[0])}'",
            "a script's own arguments stand after --: train.py -- --lr 1",
        )
    if any(option[0] == "-e" for option in split.options):
        raise UsageError("--engine torch runs a file, not an expression", HOW)
    others = [option for option in split.options if option[0].partition("=")[0] not in OPTIONS]
    asked = Asked(command, others, split.positionals, values["--python"] or sys.executable, script_args)
    check_sources(asked)
    return asked


def value_of(options: list[list[str]], name: str) -> str | None:
    """Return the last value of an option (--engine torch, --engine=torch, -o a.gt, -oa.gt); raise UsageError if it is
    missing.
    """
    for token, *values in reversed(options):
        if token == name and not values:
            raise UsageError(f"option '{name}' requires an argument", HOW)
        if token == name:
            return values[0]
        if token.startswith(name if len(name) == 2 else name + "="):
            return token[len(name) :].removeprefix("=")
    return None


def check_sources(asked: Asked) -> None:
    """Raise UsageError unless the sources are files with a Python program."""
    if not asked.positionals:
        raise UsageError("no SOURCE given", f"give a file: {HOW}")
    for script in asked.positionals[: sources_of(asked)]:
        if script == "-":
            raise UsageError("--engine torch does not run stdin", "save it to a file: the file runs with full rights")
        if is_record(asked, script):
            continue
        if script.lower().endswith(".gt"):
            raise UsageError(f"{report.clip(script)} is a record already", "leave out --engine torch")
        if not script.lower().endswith(".py") and not source.is_file(script):
            raise UsageError(f"--engine torch runs a file, and '{report.clip(script)}' is an expression", HOW)
        path = script.removeprefix("@")
        if not os.path.isfile(path):
            raise UsageError(f"no such file: '{report.clip(path)}'")


def run_script(asked: Asked, out: str, level: str, script: str) -> tuple[int, dict[str, Any]]:
    """Run a script in the Python of --python; return its exit code and its status report."""
    script = script.removeprefix("@")
    shown = report.escaped(script)
    report.write(f"gradtrace {asked.command}: {shown} runs in real PyTorch with full rights: files, network, processes")
    status_file = os.path.join(os.path.dirname(out) if level != "none" else out, "status.json")
    command = [asked.python, str(CHILD), out, status_file, level, script, *asked.script_args]
    stdout = None if asked.command == "run" else sys.stderr  # of a run, what the script prints is the result
    try:
        code = waited(command, stdout)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(
            f"cannot start '{asked.python}': {reason}", "name a Python that has torch: --python PATH"
        ) from None
    if code == -signal.SIGINT:  # Ctrl-C before or after the script's own run
        raise KeyboardInterrupt
    told = status_of(status_file)
    check_status(told, asked, out, level, code, shown)
    return code, told


def waited(command: list[str], stdout: Any) -> int:
    """Run a subprocess and return its exit code; on Ctrl-C the subprocess still writes its record."""
    try:
        stream = None if stdout is None else stdout.fileno()
    except (OSError, ValueError, AttributeError):
        stream = subprocess.DEVNULL
    sys.stdout.flush()
    with subprocess.Popen(command, stdout=stream) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:  # which a terminal sends to both
                continue
            except SystemExit:  # this process is to end
                process.terminate()
                raise


def status_of(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            status = json.load(file)
    except (OSError, ValueError):
        return {}
    return status if isinstance(status, dict) else {}


def check_status(told: dict[str, Any], asked: Asked, out: str, level: str, code: int, script: str) -> None:
    """Raise UsageError or ProgramError if the script's run has left no record."""
    ways = "pip install 'gradtrace[torch]' there, or name a Python that has it: --python PATH"
    if told.get("missing"):
        raise UsageError(f"PyTorch is not installed for {asked.python}: {told['missing']}", ways)
    if told.get("old"):
        raise UsageError(f"PyTorch {told['version']} of {asked.python} is too old", f"2.4 or later: {ways}")
    if told.get("refused"):
        raise UsageError(*told["refused"])
    if level == "none" or os.path.exists(out):
        return
    if told.get("fault"):
        raise ProgramError(f"the run of {script} could not be recorded: {told['fault']}", "please report this")
    raise ProgramError(f"{script} ended with exit code {code} before its record was written", "")
