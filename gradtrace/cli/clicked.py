"""Make click commands of SourceCommands; they read the program and offer its variables as options.

They handle the command lines that `plain` leaves to click: help, completion, and invalid arguments.
"""

from __future__ import annotations

import contextlib
import os
import stat

import click
from click.shell_completion import CompletionItem

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, NoReturn, Sequence
from gradtrace.cli import argv, hints, source
from gradtrace.cli.command import HELP_ALL, HELP_NAMES, SourceCommand, read_program, start, words_of
from gradtrace.cli.grants import forced
from gradtrace.cli.options import GENERAL, LIMITING, ToolOption
from gradtrace.errors import GradtraceError, UsageError
from gradtrace.views.cells import harmless

if TYPE_CHECKING:
    from gradtrace.program.parse import Program

VARIABLES = "gradtrace.variables"  # the keys in a context's meta
EVERYTHING = "gradtrace.everything"
PREFIX = "variable_"  # of the parameter that holds a variable's value
WIDEST = 26  # columns of an option's name and metavar in --help
FILES = frozenset(("FILE", "FILE.json", "PATH"))  # metavars of options that take a file
FOLDERS = frozenset(("LOGDIR", "DIR"))
KINDS = {"free": "requires grad", "leaf": "requires grad", "data": "data, no grad"}


class SectionOption(click.Option):
    """The click option made of a ToolOption; --help-all lists it under `section`."""

    def __init__(self, plain: ToolOption) -> None:
        super().__init__(
            plain.names,
            help=plain.help,
            metavar=plain.metavar,
            type=kind(plain),
            is_flag=plain.is_flag,
            multiple=plain.multiple,
            default=plain.missing,
            envvar=plain.envvar,
            expose_value=plain.expose_value,
            callback=None if plain.check is None else checked(plain),
        )
        self.section = plain.section
        self.is_rare = plain.is_rare

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        return complete_value(self, incomplete) or super().shell_complete(ctx, incomplete)


def command_of(
    callback: Callable[..., Any],
    help: str,
    rows: list[ToolOption],
    arguments: Sequence[click.Parameter] = (),
    epilog: str = "",
) -> click.Command:
    """Return the click command of a callback that does not take a SOURCE; it is named after the
    callback.
    """
    params = [*arguments, *map(SectionOption, rows)]
    return TwoHelps(callback.__name__, callback=callback, params=params, help=help, epilog=epilog)


def show_everything(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[EVERYTHING] = True
        click.echo(ctx.get_help())
        ctx.exit()


class TwoHelps(click.Command):
    """A command whose --help fits a screen: the first paragraph of its text, the first sentence
    about each option that is not rare, and the examples. --help-all has everything, in sections.
    """

    def get_help(self, ctx: click.Context) -> str:
        return harmless(super().get_help(ctx))

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        everything = click.Option(
            [HELP_ALL],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=show_everything,
            help="Show all options and notes, and exit.",
        )
        return [*super().get_params(ctx), everything, *ctx.meta.get(VARIABLES, ())]

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        text = self.help or ""
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(text if EVERYTHING in ctx.meta else text.partition("\n\n")[0])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {VariableOption.section: []}
        for param in self.get_params(ctx):
            title = getattr(param, "section", GENERAL)
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is None:
                continue
            if EVERYTHING not in ctx.meta and title != VariableOption.section:
                if getattr(param, "is_rare", True):
                    continue
                title, record = "Options", (record[0], first_sentence(param.help))
            sections.setdefault(title, []).append(record)
        for last in (GENERAL, LIMITING):
            sections[last] = sections.pop(last, [])
        widest = max(
            (
                len(record[0])
                for records in sections.values()
                for record in records
                if len(record[0]) <= WIDEST
            ),
            default=0,
        )
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(
                        [(option.ljust(widest), help) for option, help in records], col_max=WIDEST
                    )

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the epilog line by line, since it contains examples."""
        paragraphs = [self.epilog] if self.epilog else []
        if EVERYTHING not in ctx.meta:
            paragraphs.append(f"More options: {ctx.command_path} {HELP_ALL}")
        for paragraph in paragraphs:
            formatter.write_paragraph()
            formatter.write("\n".join(paragraph.splitlines()) + "\n")


def first_sentence(text: str | None) -> str:
    sentence, stop, _ = (text or "").partition(". ")
    return sentence + stop.strip()


def kind(plain: ToolOption) -> Any:
    """Return click's type for the values of an option."""
    if plain.is_flag:
        return None
    if plain.choices:
        return click.Choice(plain.choices)
    if plain.type is str:
        return str
    ranged = WholeNumber if plain.type is int else Number
    if plain.min is plain.max is None:
        return plain.type
    return ranged(plain.min, plain.max, min_open=plain.min_open)  # type: ignore[arg-type]


class WholeNumber(click.IntRange):
    """click's range of integers, which also takes 1e9."""

    name = "whole number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and "e" in value.lower():
            with contextlib.suppress(ValueError, OverflowError):
                if float(value) == int(float(value)):
                    value = int(float(value))
        return super().convert(value, param, ctx)


class Number(click.FloatRange):
    name = "number"


def checked(plain: ToolOption) -> Any:
    return lambda ctx, param, value: (
        value if value is None or plain.check is None else plain.check(value)
    )


class VariableOption(click.Option):
    """The option for one variable of the program."""

    section = "Variables of this expression"


class ClickCommand(TwoHelps):
    """The click command made of a SourceCommand."""

    def __init__(self, plain: SourceCommand) -> None:
        place = click.Argument(
            ["source"],
            required=False,
            metavar="FILE" if plain.always_file else "SOURCE",
            shell_complete=complete_source,
        )
        options = map(SectionOption, plain.params)
        words = [click.Argument(["words"], nargs=-1, metavar=plain.words)] if plain.words else []
        super().__init__(
            plain.name,
            callback=lambda **flags: start(plain, flags),
            params=[place, *words, *options],
            help=plain.help,
            epilog=plain.epilog,
        )
        self.plain = plain

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = {option.opts[0] for option in ctx.meta.get(VARIABLES, ())}
        return sorted(
            super().shell_complete(ctx, incomplete), key=lambda item: item.value not in names
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        arity = self.plain.arity
        split = argv.split(args, arity, self.plain.passes_on)
        program = self.find_program(ctx, split, arity)
        names = set()
        if program is not None:
            ctx.meta[VARIABLES] = variables(program, arity)
            names = {variable.name for variable in program.inputs}
        groups = argv.renamed(split.options, names)
        lacking = argv.incomplete(
            groups, {**dict.fromkeys((f"--{name}" for name in names), 1), **arity}
        )
        if lacking and not ctx.resilient_parsing:
            raise click.BadOptionUsage(lacking, f"option '{lacking}' requires an argument", ctx)
        if program is not None and not ctx.resilient_parsing:
            check_names(ctx, groups, names, arity, program.source.text)
        options = [token for group in groups if group[0] != lacking for token in group]
        rest = super().parse_args(ctx, [*options, "--", *split.positionals])
        ctx.params.pop("source")
        if self.plain.words:
            ctx.params["words"] = words_of(split)
        if self.plain.passes_on:
            ctx.params["arguments"] = tuple(split.after)
        ctx.params["program"] = program
        ctx.params["own"] = frozenset(option.opts[0][2:] for option in ctx.meta.get(VARIABLES, ()))
        ctx.params["given"] = {
            name.removeprefix(PREFIX): value
            for name in [name for name in ctx.params if name.startswith(PREFIX)]
            if (value := ctx.params.pop(name)) is not None
        }
        return rest

    def find_program(
        self, ctx: click.Context, split: argv.Split, arity: dict[str, int]
    ) -> Program | None:
        """Return the program of the source argument; None on errors if only help or completion is
        asked for.
        """
        lenient = ctx.resilient_parsing or any(option[0] in HELP_NAMES for option in split.options)
        try:
            if not split.positionals and forced(split) is None:
                self.no_source(ctx, split, arity)
            if lenient and split.positionals[:1] == ["-"]:
                return None
            if ctx.resilient_parsing and not self.is_readable_at_once(split):
                return None
            refuse_option(ctx, split)
            return read_program(split, self.plain)
        except (GradtraceError, click.UsageError):
            if lenient:
                return None
            raise

    def is_readable_at_once(self, split: argv.Split) -> bool:
        """Whether reading the source takes no time: completion must not wait for a pipe or a
        device.
        """
        if forced(split) is not None:
            return True
        word = split.positionals[0]
        if not (self.plain.always_file or source.is_file(word)):
            return True
        with contextlib.suppress(OSError, ValueError):
            status = os.stat(os.path.expanduser(word.removeprefix("@")))
            # files of /proc are empty by their size
            return stat.S_ISREG(status.st_mode) and status.st_size > 0
        return False

    def no_source(self, ctx: click.Context, split: argv.Split, arity: dict[str, int]) -> NoReturn:
        """Raise the error for a missing source; a mistyped flag may have taken the source as its
        value.
        """
        from difflib import get_close_matches

        unknown = [
            option for option in split.options if option[0].partition("=")[0] in split.unknown
        ]
        close = get_close_matches(unknown[0][0].partition("=")[0], arity) if unknown else []
        if close:
            raise click.NoSuchOption(unknown[0][0].partition("=")[0], possibilities=close, ctx=ctx)
        taken = next(
            (
                f"; '{option[1]}' is the value of {option[0]}"
                for option in unknown
                if len(option) > 1
            ),
            "",
        )
        if self.plain.always_file:
            raise UsageError(f"no FILE given{taken}", f"see {ctx.command_path} --help")
        raise UsageError(f"no SOURCE given{taken}", "give an expression, a file, or - for stdin")


def check_names(
    ctx: click.Context, groups: list[list[str]], names: set[str], arity: dict[str, int], text: str
) -> None:
    """Refuse a name that is neither an option nor a variable of the program `text`; NoSuchOption
    lists what exists.
    """
    rows: list[Any] = ctx.command.params
    formats = next((row.type.choices for row in rows if "--format" in row.opts), ())
    for group in groups:
        name = group[0].partition("=")[0]
        if not name.startswith("--") or name in arity or name[2:] in names:
            continue
        if name[2:] in formats:
            error = click.NoSuchOption(name, ctx=ctx)
            error.there = f"did you mean --format {name[2:]}?"  # type: ignore[attr-defined]
            raise error
        from difflib import get_close_matches

        hint = hints.of_option(name, arity, text)
        if not hint and not get_close_matches(name[2:], names, 1):
            hint = hints.of_other_commands(name, owners(ctx, name))
        if hint:
            error = click.NoSuchOption(name, ctx=ctx)
            error.there = hint  # type: ignore[attr-defined]
            raise error
        close = get_close_matches(
            name[2:], [*names, *(option[2:] for option in arity if option.startswith("--"))], 1
        )
        error = click.NoSuchOption(name, possibilities=[f"--{near}" for near in close], ctx=ctx)
        error.there = there_are(names)  # type: ignore[attr-defined]
        raise error


def owners(ctx: click.Context, option: str) -> list[str]:
    """Return the commands that have an option, in the order of the help."""
    tool = ctx.find_root().command
    if not isinstance(tool, click.Group):
        return []
    return [
        name
        for name in tool.list_commands(ctx)
        if (command := tool.get_command(ctx, name)) is not None
        and any(option in parameter.opts for parameter in command.params)
    ]


def there_are(names: set[str]) -> str:
    """Return the variables as a hint; one with a file's name may come from a shell pattern, and the
    hint says so.
    """
    if not names:
        return "the program has no variables"
    listing = f"the variables are {', '.join(sorted(names))}"
    files = [name for name in names if os.path.exists(name)]
    if len(names) == 1 and files:
        return (
            f"{listing}, and a file has that name: quote the expression if the shell made it of "
            "a pattern"
        )
    return listing


def refuse_option(ctx: click.Context, split: argv.Split) -> None:
    """Refuse a short option in the place of the source if there are several positional
    arguments.
    """
    if len(split.positionals) > 1 and forced(split) is None:
        first = split.positionals[0]
        if len(first) == 2 and first != "--" and first[0] == "-":
            raise click.NoSuchOption(first, ctx=ctx)


def variables(program: Program, taken: dict[str, int]) -> list[VariableOption]:
    """Return an option for each input, except for names of the tool's own options, which need -s
    NAME=VALUE.
    """
    return [
        VariableOption(
            [f"--{variable.name}", PREFIX + variable.name], metavar="VALUE", help=describe(variable)
        )
        for variable in program.inputs
        if f"--{variable.name}" not in taken
    ]


def describe(variable: Any) -> str:
    kind = KINDS.get(variable.kind, variable.kind)
    if variable.optional:
        return f"{kind}; optional"
    return (
        f"{kind}; required" if variable.default is None else f"{kind}; default {variable.default}"
    )


# ---- completion in addition to click's


def complete_source(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete a SOURCE: only a file can be completed, not an expression."""
    return [CompletionItem(incomplete, type="file")]


def complete_value(param: click.Option, incomplete: str) -> list[CompletionItem] | None:
    """Complete the file or folder of an option; None for options that click completes (choices,
    flags).
    """
    if param.metavar in FILES:
        return [CompletionItem(incomplete, type="file")]
    if param.metavar in FOLDERS:
        return [CompletionItem(incomplete, type="dir")]
    return None


def complete_operators(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from gradtrace.analysis import operators

    return [CompletionItem(name) for name in operators.names() if name.startswith(incomplete)]
