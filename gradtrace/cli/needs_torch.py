"""Name the command line that runs a program in real PyTorch, for a program that needs it.

A run says which module or name gradtrace does not have (`missing` of the error). This module decides whether PyTorch
has it, or a package that is written on PyTorch, and what the user, who typed these arguments, has to type instead.
"""

from __future__ import annotations

import os
import shlex
from importlib import import_module

from gradtrace.annotations import TYPE_CHECKING, Iterator
from gradtrace.cli.commands import COMMANDS
from gradtrace.errors import GradtraceError
from gradtrace.program.modules import NEED_PYTORCH, ON_PYTORCH

if TYPE_CHECKING:
    from gradtrace.cli.options import ToolOption

NEAREST = {"map": "eval", "hessian": "eval", "jacobian": "eval", "paths": "why", "check": "why", "plan": "graph"}
INSTALLED = 'pip install "gradtrace[torch]"'


def needs_torch(error: GradtraceError) -> bool:
    """Whether the program failed for want of PyTorch: of a name of torch, or a package that depends on it."""
    package = error.missing.partition(".")[0]
    return package == "torch" or package in (*NEED_PYTORCH, *ON_PYTORCH) or (bool(package) and is_on_torch(package))


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
    """Return a sentence that ends with the command line that runs the program of the command line `args` in PyTorch."""
    command = args[0] if args and args[0] in COMMANDS else "run"
    how = f"to run it in PyTorch{'' if is_torch_installed() else f' (not installed here: {INSTALLED})'}"
    from gradtrace.cli import torch_engine

    nearest = command
    if command not in torch_engine.KNOWN:
        nearest = NEAREST.get(command, "run")
        how = f"gradtrace {command} does not run PyTorch; {how}"
    sources = sources_of(command, args)
    if not sources:
        return f"{how}, save it to a file: gradtrace {nearest} --engine torch FILE.py"
    words = sources if nearest != command else taken_over(command, args)
    return f"{how}: {shlex.join(('gradtrace', nearest, '--engine', 'torch', *words))}"


def is_torch_installed() -> bool:
    from importlib.util import find_spec

    try:
        return find_spec("torch") is not None
    except (ImportError, ValueError):
        return False


def sources_of(command: str, args: list[str]) -> list[str]:
    """Return the files that are the command line's sources; none for stdin, -e TEXT, an expression and a document."""
    from gradtrace.cli import argv, grants, source

    arity = getattr(import_module(f"gradtrace.cli.commands.{command}").command, "arity", None)
    if arity is None:
        return []
    split = argv.split(args[1:], arity, command == "run")
    words = split.positionals[: 2 if command == "diff" else 1]
    is_program = grants.forced(split) is None and all(
        word != "-" and (source.is_file(word) or command == "run") and os.path.isfile(word.removeprefix("@"))
        for word in words
    )
    return words if is_program else []


def taken_over(command: str, args: list[str]) -> list[str]:
    """Return the arguments without the options that do not go with --engine torch: limits, permissions, variables."""
    from gradtrace.cli import argv, options

    cut = args.index("--") if "--" in args else len(args)
    plain = import_module(f"gradtrace.cli.commands.{command}").command
    split = argv.split(args[1:cut], plain.arity)
    refused = {name for option in (*options.LIMITS, *options.INPUTS, *options.ENGINE) for name in option.names}
    if command == "run":
        refused |= {name for name in plain.arity if name not in ("-o", *named(options.COMMON))}
    own = {*split.unknown, *refused}
    kept = [option for option in split.options if option[0].partition("=")[0] not in own and option[0][:2] != "-s"]
    if len(kept) == len(split.options):
        return args[1:]
    return [*(word for option in kept for word in option), *split.positionals, *args[cut:]]


def named(known: list[ToolOption]) -> Iterator[str]:
    for option in known:
        yield from option.names
