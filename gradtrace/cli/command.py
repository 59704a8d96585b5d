"""The kind of command that takes a SOURCE: it reads the program first and offers its variables as options.

The callback of such a command gets the tool's flags by name, and besides

    program    the parsed Program
    given      what the variables' own options say: name -> text (only those that were given)
    own        the names of the variables that have an option of their own (a tool's option may have the name)
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import click

from gradtrace.cli import argv, source
from gradtrace.errors import GradtraceError, UsageError
from gradtrace.limits import BY_FIELD, Budget

if TYPE_CHECKING:
    from gradtrace.lang import Program

VARIABLES = "gradtrace.variables"  # the key in a context's meta
PREFIX = "variable_"  # of the parameter that holds a variable's value
GENERAL = "General"  # the last section of --help
WIDEST = 26  # columns of an option's name and metavar in --help
KINDS = {"free": "requires grad", "leaf": "requires grad", "data": "data, no grad"}


class ToolOption(click.Option):
    """An option of the tool itself, listed by --help under `section`."""

    def __init__(self, *args: Any, section: str = GENERAL, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


class VariableOption(click.Option):
    """One variable of the program."""

    section = "Variables of this expression"


class SourceCommand(click.Command):
    """A command on a program, whose variables become options. `always_file`: the argument is a FILE, not a SOURCE."""

    def __init__(
        self, name: str, callback: Callable[..., Any], params: list[click.Parameter], help: str, epilog: str = "",
        always_file: bool = False,
    ) -> None:
        place = click.Argument(["source"], required=False, metavar="FILE" if always_file else "SOURCE")
        super().__init__(name, callback=callback, params=[place, *params], help=help, epilog=epilog)
        self.always_file = always_file

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), *ctx.meta.get(VARIABLES, ())]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        tool = super().get_params(ctx)
        arity = argv.arities(tool)
        found = argv.split(args, arity)
        program = self.find_program(ctx, found, arity)
        names = set()
        if program is not None:
            ctx.meta[VARIABLES] = variables(program, arity)
            names = {given.name for given in program.inputs}
        groups = argv.renamed(found.options, names)
        lacking = argv.incomplete(groups, {**dict.fromkeys((f"--{name}" for name in names), 1), **arity})
        if lacking and not ctx.resilient_parsing:
            raise click.BadOptionUsage(lacking, f"option '{lacking}' requires an argument", ctx)
        if program is not None and not ctx.resilient_parsing:
            check_names(ctx, groups, names, arity)
        options = [token for group in groups if group[0] != lacking for token in group]
        rest = super().parse_args(ctx, [*options, "--", *found.positionals])
        ctx.params.pop("source")
        ctx.params["program"] = program
        ctx.params["own"] = {option.opts[0][2:] for option in ctx.meta.get(VARIABLES, ())}
        ctx.params["given"] = {
            name.removeprefix(PREFIX): value
            for name in [name for name in ctx.params if name.startswith(PREFIX)]
            if (value := ctx.params.pop(name)) is not None
        }
        return rest

    def find_program(self, ctx: click.Context, found: argv.Split, arity: dict[str, int]) -> Program | None:
        """The program of the source among the arguments. Where only help or completion is asked for, None will do."""
        lenient = ctx.resilient_parsing or any(option[0] in ctx.help_option_names for option in found.options)
        try:
            return self.read_program(ctx, found, arity, lenient)
        except (GradtraceError, click.UsageError):
            if lenient:
                return None
            raise

    def read_program(
        self, ctx: click.Context, found: argv.Split, arity: dict[str, int], lenient: bool
    ) -> Program | None:
        forced = [values[0] for token, *values in found.options if token == "-e" and values]
        budget = early_budget(found)
        if forced:
            return parse(source.Source(source.EXPRESSION, forced[-1]), found.positionals, budget)
        if not found.positionals:
            self.no_source(ctx, found, arity)
        first, *others = found.positionals
        if others and len(first) == 2 and first != "--" and first[0] == "-":
            raise click.NoSuchOption(first, ctx=ctx)
        if lenient and first == "-":
            return None
        return parse(source.read(first, self.always_file), others, budget)

    def no_source(self, ctx: click.Context, found: argv.Split, arity: dict[str, int]) -> NoReturn:
        """Nothing is left for a source: it is missing, or a mistyped flag has taken it for its value."""
        from difflib import get_close_matches

        unknown = [option for option in found.options if option[0].partition("=")[0] in found.unknown]
        close = get_close_matches(unknown[0][0].partition("=")[0], arity) if unknown else []
        if close:
            raise click.NoSuchOption(unknown[0][0].partition("=")[0], possibilities=close, ctx=ctx)
        taken = next((f"; '{option[1]}' is the value of {option[0]}" for option in unknown if len(option) > 1), "")
        if self.always_file:
            raise UsageError(f"no FILE given{taken}", f"see {ctx.command_path} --help")
        raise UsageError(f"no SOURCE given{taken}", "give an expression, a file, or - for stdin")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {VariableOption.section: []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                sections.setdefault(getattr(param, "section", GENERAL), []).append(record)
        sections[GENERAL] = sections.pop(GENERAL, [])  # last
        widest = max(len(record[0]) for records in sections.values() for record in records if len(record[0]) <= WIDEST)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl([(option.ljust(widest), help) for option, help in records], col_max=WIDEST)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Line by line as written: it holds examples."""
        if self.epilog:
            formatter.write_paragraph()
            formatter.write("\n".join(self.epilog.splitlines()) + "\n")


def check_names(ctx: click.Context, groups: list[list[str]], names: set[str], arity: dict[str, int]) -> None:
    """Refuses a name that is neither an option nor a variable; NoSuchOption, with what there is."""
    for group in groups:
        name = group[0].partition("=")[0]
        if not name.startswith("--") or name in arity or name[2:] in names:
            continue
        from difflib import get_close_matches

        close = get_close_matches(name[2:], [*names, *(known[2:] for known in arity if known.startswith("--"))], 1)
        error = click.NoSuchOption(name, possibilities=[f"--{near}" for near in close], ctx=ctx)
        error.there = f"the variables are {', '.join(sorted(names))}" if names else "the program has no variables"  # type: ignore[attr-defined]
        raise error


def early_budget(found: argv.Split) -> Budget:
    """--max-source or its variable, which are needed before click reads the options; click will tell what is wrong."""
    limit = BY_FIELD["source_bytes"]
    given = [[*token.partition("=")[2:], *values][-1] for token, *values in found.options
             if token.partition("=")[0] == limit.flag]
    text = given[-1] if given else os.environ.get(limit.variable, "")
    return Budget(source_bytes=int(text)) if text.isdecimal() else Budget()


def parse(found: source.Source, others: list[str], budget: Budget) -> Program:
    if others:
        raise UsageError(f"unexpected extra argument '{others[0]}'", "quote the expression")
    from gradtrace import lang

    return lang.parse(found.text, name=found.name, budget=budget)


def variables(program: Program, taken: dict[str, int]) -> list[VariableOption]:
    """An option for each input, but for those whose name the tool's own options have taken (-s sets these)."""
    return [
        VariableOption([f"--{given.name}", PREFIX + given.name], metavar="VALUE", help=describe(given))
        for given in program.inputs
        if f"--{given.name}" not in taken
    ]


def describe(given: Any) -> str:
    kind = KINDS.get(given.kind, given.kind)
    return f"{kind}; required" if given.default is None else f"{kind}; default {given.default}"
