"""`--engine torch`: run the source in real PyTorch, in a subprocess, and show the recorded run.

    gradtrace why --engine torch train.py w [--python PATH] [-- the script's own arguments]

The file runs with full rights, as under plain Python. So the option is never a default: it is read
only from the command line, and refused if a source is not a file. This process never imports torch;
it reads the record that the subprocess writes, like any .gt file.

A run in gradtrace's own engine says which module or name gradtrace does not have (`missing` of the
error). `command_line` names the command line that runs such a program in PyTorch.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from gradtrace import files
from gradtrace.annotations import Any, Callable, Iterator, NamedTuple
from gradtrace.cli import argv, guard, options, report, source, torch_request
from gradtrace.cli.commands import COMMANDS
from gradtrace.cli.torch_request import ScriptRequest, ScriptStatus
from gradtrace.errors import GradtraceError, ProgramError, UsageError
from gradtrace.program import torch_homes
from gradtrace.program.modules import NEED_PYTORCH, ON_PYTORCH
from gradtrace.sandbox import channel

CHILD = Path(__file__).parent.parent / "torch" / "child.py"
KNOWN = ("why", "graph", "page", "stats", "ledger", "trace", "diff", "eval", "run")
OPTIONS = ("--engine", "--python")
# that a run in PyTorch takes
RUN_OPTIONS = {"-o", *(name for option in options.COMMON for name in option.names)}
WITH_OWN_OPTIONS = (["verify"], ["replay"])
LEVEL = "summary"
HOW = "gradtrace why --engine torch train.py"
NEAREST = {
    "map": "eval",
    "hessian": "eval",
    "jacobian": "eval",
    "paths": "why",
    "check": "why",
    "plan": "graph",
}
INSTALLED = 'pip install "gradtrace[torch]"'


class Asked(NamedTuple):
    """The parts of a command line with --engine torch."""

    command: str
    options: list[list[str]]  # the other ones, each with its values
    positionals: list[str]
    python: str
    script_args: list[str]

    def request(self, level: str, script: str, record: str) -> ScriptRequest:
        """Return what is asked of the process that runs a script; the status is written beside the
        record.
        """
        status = os.path.join(os.path.dirname(record), "status.json")
        return ScriptRequest(level, script.removeprefix("@"), self.script_args, record, status)


def is_asked(args: list[str]) -> bool:
    """Whether a command line has --engine before the arguments of a script."""
    head = args[: args.index("--")] if "--" in args else args
    # --python of check is its own option too
    names = OPTIONS[:1] if head[:1] == ["check"] else OPTIONS
    return head[:1] not in WITH_OWN_OPTIONS and any(
        token.partition("=")[0] in names for token in head
    )


def run(args: list[str], go_on: Callable[[list[str]], int]) -> int:
    """Run the scripts in PyTorch, then call `go_on` with a command line that has their records in
    their places.
    """

    def work() -> int:
        status = 0
        asked = taken_apart(args)
        with own_folder() as folder:
            if asked.command == "run":
                return run_alone(asked, folder)
            if asked.command == "check":
                return import_module("gradtrace.cli.probing").check_in_torch(asked)
            records = []
            for number, script in enumerate(asked.positionals[: sources_of(asked.command)]):
                if is_record(asked, script):
                    records.append(script)
                    continue
                record = os.path.join(folder, f"{number}.gt")
                _, end = run_script(
                    asked.request(level_of(asked), script, record), asked.python, asked.command
                )
                records.append(record)
                if end.interrupted:
                    status = 130
            words = asked.positionals[len(records) :]
            others = [token for option in asked.options for token in option]
            try:
                shown = go_on([asked.command, *others, "--", *records, *words])
            except SystemExit as end:  # of the parent of a confined child
                shown = end.code if isinstance(end.code, int) else 1
            return status or shown

    return guard.ended(work, args)


@contextmanager
def own_folder() -> Iterator[str]:
    """Give a new folder, which this process removes; the confined child that shows a record does
    not.
    """
    name = tempfile.mkdtemp(prefix="gradtrace-")
    try:
        yield name
    finally:
        if not channel.is_open():
            shutil.rmtree(name, ignore_errors=True)


def run_alone(asked: Asked, folder: str) -> int:
    """Run a script for what it prints; with -o its record is written too. Return the script's exit
    code.
    """
    for option in asked.options:
        if option[0].partition("=")[0] not in RUN_OPTIONS and option[0][:2] != "-o":
            raise UsageError(
                f"'{option[0]}' is not for a run in PyTorch", "-o run.gt writes its record"
            )
    name = value_of(asked.options, "-o")
    if name is not None:
        import_module("gradtrace.cli.commands.run").record_file(name)
    record = os.path.join(folder, "0.gt")
    request = asked.request("none" if name is None else LEVEL, asked.positionals[0], record)
    code, _ = run_script(request, asked.python, "run")
    if name is not None:
        files.write_output(name, Path(record).read_bytes())
    return code


def sources_of(command: str) -> int:
    """Return how many of a command's arguments are scripts."""
    return 2 if command == "diff" else 1


def level_of(asked: Asked) -> str:
    """Return the level at which a command's script is recorded."""
    if asked.command == "diff":
        return "compare"
    precise = ["--precision"] in asked.options or value_of(
        asked.options, "--color-by"
    ) == "precision"
    return "precision" if precise else LEVEL


def is_record(asked: Asked, script: str) -> bool:
    """Whether a source of diff is a record, to compare with what a script does."""
    return asked.command == "diff" and script.lower().endswith(".gt")


def taken_apart(args: list[str]) -> Asked:
    """Parse a command line with --engine torch; raise UsageError for options that cannot be
    combined with it.
    """
    command = args[0]
    if command not in (*KNOWN, "check"):
        shown = command if command in COMMANDS else report.clip(command)
        raise UsageError(f"--engine torch is not for '{shown}'", f"it goes with {', '.join(KNOWN)}")
    cut = args.index("--") if "--" in args else len(args)
    head = args[1:cut]
    script_args = args[cut + 1 :]
    arity = import_module(f"gradtrace.cli.commands.{command}").command.arity
    split = argv.split(head, {**arity, **dict.fromkeys(OPTIONS, 1)})
    values = {name: value_of(split.options, name) for name in OPTIONS}
    if values["--engine"] is None:
        raise UsageError("--python goes with --engine torch", HOW)
    if values["--engine"] != "torch":
        raise UsageError(
            f"--engine: '{report.clip(values['--engine'])}' is not an engine", "there is torch"
        )
    if split.unknown:
        raise UsageError(
            f"no such option '{report.clip(split.unknown[0])}'",
            "a script's own arguments stand after --: train.py -- --lr 1",
        )
    if any(option[0] == "-e" for option in split.options):
        raise UsageError("--engine torch runs a file, not an expression", HOW)
    others = [option for option in split.options if option[0].partition("=")[0] not in OPTIONS]
    asked = Asked(
        command, others, split.positionals, values["--python"] or sys.executable, script_args
    )
    check_sources(asked)
    return asked


def value_of(options: list[list[str]], name: str) -> str | None:
    """Return the last value of an option (--engine torch, --engine=torch, -o a.gt, -oa.gt); raise
    UsageError if it is missing.
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
    for script in asked.positionals[: sources_of(asked.command)]:
        if script == "-":
            raise UsageError(
                "--engine torch does not run stdin",
                "save it to a file: the file runs with full rights",
            )
        if is_record(asked, script):
            continue
        if script.lower().endswith(".gt"):
            raise UsageError(
                f"{report.clip(script)} is a record already", "leave out --engine torch"
            )
        if not script.lower().endswith(".py") and not source.is_file(script):
            raise UsageError(
                f"--engine torch runs a file, and '{report.clip(script)}' is an expression", HOW
            )
        path = script.removeprefix("@")
        if not os.path.isfile(path):
            raise UsageError(f"no such file: '{report.clip(path)}'")
        source.check_kind(path, source.read_bytes(path, source.LONGEST))


def run_script(request: ScriptRequest, python: str, command: str) -> tuple[int, ScriptStatus]:
    """Run a script in the Python of --python; return its exit code and its status."""
    shown = report.escaped(request.script)
    report.write(
        f"gradtrace {command}: {shown} runs in real PyTorch with full rights: files, network, "
        "processes"
    )
    path = os.path.join(os.path.dirname(request.status), "request.json")
    torch_request.write(path, request)
    # of a run, what the script prints is the result
    stdout = None if command == "run" else sys.stderr
    try:
        code = waited([python, str(CHILD), path], stdout)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(
            f"cannot start '{python}': {reason}", "name a Python that has torch: --python PATH"
        ) from None
    if code == -signal.SIGINT:  # Ctrl-C before or after the script's own run
        raise KeyboardInterrupt
    try:
        status = torch_request.read(request.status, ScriptStatus)
    except (OSError, ValueError, TypeError):  # the process has left none
        status = ScriptStatus()
    check_status(status, request, python, code)
    return code, status


def waited(command: list[str], stdout: Any) -> int:
    """Run a subprocess and return its exit code; on Ctrl-C the subprocess still writes its
    record.
    """
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


def check_status(status: ScriptStatus, request: ScriptRequest, python: str, code: int) -> None:
    """Raise UsageError or ProgramError if the script's run has left no record."""
    ways = "pip install 'gradtrace[torch]' there, or name a Python that has it: --python PATH"
    if status.missing:
        raise UsageError(f"PyTorch is not installed for {python}: {status.missing}", ways)
    if status.old:
        raise UsageError(
            f"PyTorch {status.version} of {python} is too old", f"2.4 or later: {ways}"
        )
    if status.refused:
        raise UsageError(*status.refused)
    if request.level in ("none", "model") or os.path.exists(request.record):
        return
    script = report.escaped(request.script)
    if status.fault:
        raise ProgramError(
            f"the run of {script} could not be recorded: {status.fault}", "please report this"
        )
    raise ProgramError(f"{script} ended with exit code {code} before its record was written", "")


# ---- the command line that runs a program in PyTorch, for one that needs it


def needs_torch(error: GradtraceError) -> bool:
    """Whether the program failed for want of PyTorch: of a name of torch, or a package that depends
    on it.
    """
    package = error.missing.partition(".")[0]
    return (
        (package == "torch" and torch_homes.pytorch_has(error.missing))
        or package in (*NEED_PYTORCH, *ON_PYTORCH)
        or (bool(package) and is_on_torch(package))
    )


def is_on_torch(package: str) -> bool:
    """Whether an installed package, by the name of its import, requires torch."""
    import re
    from importlib import metadata

    try:
        names = metadata.packages_distributions().get(package, ())
        required = [text for name in names for text in metadata.requires(name) or ()]
    except (OSError, metadata.PackageNotFoundError):
        return False
    return any(re.match(r"torch(?![\w.-])", text) and "extra ==" not in text for text in required)


def command_line(args: list[str]) -> str:
    """Return a sentence that ends with the command line that runs the program of the command line
    `args` in PyTorch.
    """
    command = args[0] if args and args[0] in COMMANDS else "run"
    how = (
        "to run it in "
        f"PyTorch{'' if is_torch_installed() else f' (not installed here: {INSTALLED})'}"
    )
    nearest = command
    if command not in KNOWN and "--model" not in args:
        nearest = NEAREST.get(command, "run")
        how = f"gradtrace {command} does not run PyTorch; {how}"
    sources = files_of(command, args)
    if not sources:
        how += ", save it to a file that imports torch and makes its inputs"
        return f"{how}: gradtrace {nearest} --engine torch FILE.py"
    words = sources if nearest != command else taken_over(command, args)
    return f"{how}: {shlex.join(('gradtrace', nearest, '--engine', 'torch', *words))}"


def is_torch_installed() -> bool:
    from importlib.util import find_spec

    try:
        return find_spec("torch") is not None
    except (ImportError, ValueError):
        return False


def files_of(command: str, args: list[str]) -> list[str]:
    """Return the files that are the command line's sources; none for stdin, -e TEXT, an expression
    and a document.
    """
    from gradtrace.cli import grants

    arity = getattr(import_module(f"gradtrace.cli.commands.{command}").command, "arity", None)
    if arity is None:
        return []
    split = argv.split(args[1:], arity, command == "run")
    words = split.positionals[: sources_of(command)]
    is_program = grants.forced(split) is None and all(
        word != "-"
        and (source.is_file(word) or command == "run")
        and os.path.isfile(word.removeprefix("@"))
        for word in words
    )
    return words if is_program else []


def taken_over(command: str, args: list[str]) -> list[str]:
    """Return the arguments without the options that do not go with --engine torch: limits,
    permissions, variables.
    """
    cut = args.index("--") if "--" in args else len(args)
    plain = import_module(f"gradtrace.cli.commands.{command}").command
    split = argv.split(args[1:cut], plain.arity)
    refused = {
        name
        for option in (*options.LIMITS, *options.INPUTS, *options.ENGINE)
        for name in option.names
    }
    if command == "run":
        refused |= plain.arity.keys() - RUN_OPTIONS
    own = {*split.unknown, *refused}
    kept = [
        option
        for option in split.options
        if option[0].partition("=")[0] not in own and option[0][:2] != "-s"
    ]
    if len(kept) == len(split.options):
        return args[1:]
    return [*(word for option in kept for word in option), *split.positionals, *args[cut:]]
