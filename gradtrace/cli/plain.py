"""Parse well-formed arguments without click, which takes longer to import than a small run takes.

    gradtrace COMMAND SOURCE --VARIABLE VALUE ... --OPTION [VALUE] ...

Handles only command lines that click would parse identically; all others (help, completion, too
many arguments, an unknown name, a value that is not one of the choices) are left to click, before
anything is run.
"""

from __future__ import annotations

import os
from importlib import import_module

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.cli import argv, guard
from gradtrace.cli.command import HELP_NAMES, SourceCommand, read_program, start, words_of
from gradtrace.cli.commands import COMMANDS
from gradtrace.cli.grants import forced
from gradtrace.cli.options import ToolOption
from gradtrace.errors import UsageError

if TYPE_CHECKING:
    from gradtrace.program.parse import Program


UNUSUAL = -1  # no exit code: click must read the arguments


class Unusual(Exception):
    """Raised for arguments that click must parse."""


def run(args: list[str]) -> int | None:
    """Run a command line and return its exit code; None if click must parse it."""
    command = named(args[0]) if args else None
    if command is None or any(
        option.envvar in os.environ for option in command.params if option.envvar
    ):
        return None
    status = guard.ended(lambda: call(command, args[1:]), args)
    return None if status == UNUSUAL else status


def named(name: str) -> SourceCommand | None:
    if name not in COMMANDS:
        return None
    command = import_module(f"gradtrace.cli.commands.{name}").command
    return command if isinstance(command, SourceCommand) else None


def call(command: SourceCommand, args: list[str]) -> int | None:
    """Parse the arguments and run the command; return UNUSUAL, without running anything, if click
    must parse them.
    """
    split = argv.split(args, command.arity, command.passes_on)
    sources = int(forced(split) is None)
    few = len(split.positionals) < sources
    many = len(split.positionals) > sources and not command.words
    doubtful = bool(command.words) and any(word.startswith("-") for word in split.positionals)
    if few or many or doubtful or any(o[0] in HELP_NAMES for o in split.options):
        return UNUSUAL
    program = read_program(split, command)
    try:
        flags = read(command, program, split)
    except Unusual:
        return UNUSUAL
    status: int | None = start(command, flags)
    return status


def read(command: SourceCommand, program: Program, split: argv.Split) -> dict[str, Any]:
    """Return the keyword arguments of the command's callback."""
    arity = command.arity
    options = {name: option for option in command.params for name in option.names if name in arity}
    own = frozenset(
        variable.name for variable in program.inputs if f"--{variable.name}" not in arity
    )
    flags: dict[str, Any] = {
        option.field: option.missing for option in command.params if option.expose_value
    }
    texts: dict[str, str] = {}
    for group in argv.renamed(split.options, {variable.name for variable in program.inputs}):
        name, *value = written(group, arity)
        if name in options:
            take(options[name], value, flags)
        elif name[2:] in own and len(value) == 1:
            texts[name[2:]] = value[0]
        else:
            raise Unusual
    if command.words:
        flags["words"] = words_of(split)
    if command.passes_on:
        flags["arguments"] = tuple(split.after)
    return {**flags, "program": program, "own": own, "given": texts}


def written(group: list[str], arity: dict[str, int]) -> list[str]:
    """Split an option from its value if they are one argument (--name=value, -sx=1); return name
    and values.
    """
    token, *values = group
    if token in arity:
        return group
    if token.startswith("--"):
        name, equals, value = token.partition("=")
        return [name, value] if equals else group
    return [token[:2], token[2:], *values]


def take(option: ToolOption, values: list[str], flags: dict[str, Any]) -> None:
    """Store the option's value in the flags; raise Unusual if it is missing or invalid."""
    if len(values) != (not option.is_flag):
        raise Unusual
    value = True if option.is_flag else converted(option, values[0])
    if option.expose_value:
        flags[option.field] = (*flags[option.field], value) if option.multiple else value


def converted(option: ToolOption, text: str) -> Any:
    if option.check is not None:
        try:
            return option.check(text)
        except UsageError:  # which click tells in its turn, after what is wrong with names
            raise Unusual from None
    if option.choices and text not in option.choices:
        raise Unusual
    return text if option.type is str else number(option, text)


def number(option: ToolOption, text: str) -> int | float:
    """Convert a number within the option's range; raise Unusual for all others."""
    whole = option.type is int
    if (
        not text.isascii()
        or len(text) > 15
        or not (text if whole else text.replace(".", "", 1)).isdigit()
    ):
        raise Unusual
    value: int | float = option.type(text)
    low = option.min
    high = option.max
    if low is not None and (value < low or (value == low and option.min_open)):
        raise Unusual
    if high is not None and value > high:
        raise Unusual
    return value
