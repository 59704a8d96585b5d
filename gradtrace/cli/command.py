"""A command on a SOURCE as plain data, with the one list of its options, which both parsers of
arguments use.

There are two parsers. `plain` reads well-formed arguments without click, whose import takes longer
than a small run. `clicked` makes a click command of the same list for help, completion, and all
errors about arguments. They give the values of the options by name, and in addition

    program    the parsed Program
    given      the values of the variables' own options that were given: name -> text
    own        the names of the variables that have their own option (not those with the name of a
               tool's option)

The callback of a command gets an `options.Request` made of these, and the values of the command's
other options.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, NamedTuple
from gradtrace.cli import grants, guard, options, source
from gradtrace.cli.options import ToolOption
from gradtrace.errors import UsageError
from gradtrace.limits import Budget

if TYPE_CHECKING:
    from gradtrace.cli.argv import Split
    from gradtrace.program.parse import Program

HELP_ALL = "--help-all"
HELP_NAMES = ("-h", "--help", HELP_ALL)


class SourceCommand(NamedTuple):
    """A command on a program, whose variables become options. `always_file`: the argument is a
    FILE, not a SOURCE.

    With `words` (their name in --help) more arguments may follow the source; the callback gets them
    as `words`. With `passes_on` the callback gets the arguments after `--` as `arguments`, for the
    program's sys.argv. With `reads_logs` the source may also be a flight log. `records` are
    NamedTuples: the callback gets one of each, after the request, made of the values of the options
    that its fields are named after.
    """

    name: str
    callback: Callable[..., Any]
    params: list[ToolOption]
    help: str
    epilog: str = ""
    always_file: bool = False
    words: str = ""
    passes_on: bool = False
    reads_logs: bool = False
    records: tuple[type, ...] = ()

    @property
    def arity(self) -> dict[str, int]:
        """The number of values that each option takes, by each name of the option."""
        counts = {
            name: 0 if o.is_flag else 1
            for o in self.params
            for name in o.names
            if name.startswith("-")
        }
        return {**counts, **dict.fromkeys(HELP_NAMES, 0)}


def start(command: SourceCommand, flags: dict[str, Any]) -> Any:
    """Call the command; refuse if its output would overwrite an input or a file of another kind."""
    name = flags.get("output_file")
    if name is not None:
        from gradtrace.cli import destination

        destination.check(name, flags)
    request = options.request(flags)
    try:
        records: list[Any] = [options.take(record, flags) for record in command.records]
        return command.callback(request, *records, **flags)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if request.program.record is None:
            raise
        # No reader can check that everything in a record fits together.
        said = (
            "the record is damaged, or this is a fault of gradtrace itself: "
            f"{type(error).__name__}: {error}"
        ).strip()
        raise UsageError(said, "record the run again; --debug shows where") from error


def words_of(split: Split) -> tuple[str, ...]:
    """Return the arguments after the source."""
    return tuple(split.positionals[grants.forced(split) is None :])


def read_program(split: Split, command: SourceCommand) -> Program:
    """Read and parse the program that the source argument names.

    Raise UsageError for further arguments, unless the command takes some.
    """
    budget = grants.early_budget(split)
    guard.contain(
        grants.of_command(split, budget, command.always_file, prints_alone=command.name == "run")
    )
    with timed(budget):
        program = source_of(split, command.always_file, bool(command.words))
        if program.is_log and not command.reads_logs:
            raise UsageError(
                f"'{program.name}' is a flight log, not a program",
                f"gradtrace stats {program.name}",
            )
        return parse(program, budget)


def timed(budget: Budget) -> Any:
    """Return a context that applies the run's time limit to reading and parsing, since a pipe may
    never end.
    """
    from gradtrace.program.budget import Clock
    from gradtrace.program.watchdog import nowhere, watched

    return watched(Clock(budget), nowhere)


def source_of(split: Split, always_file: bool, with_words: bool) -> source.Source:
    text = grants.forced(split)
    others = split.positionals
    if text is None:
        first, *others = others
        program = source.read(first, always_file)
    else:
        program = source.Source(source.EXPRESSION, text)
    if others and not with_words:
        from gradtrace.cli import extra

        raise UsageError(
            f"unexpected extra argument '{others[0]}'", extra.hint(split.positionals, others, split)
        )
    return program


def parse(code: source.Source, budget: Budget) -> Program:
    from gradtrace.program.parse import parse as parse_text

    if code.is_log:
        from gradtrace.trace import flight_log

        return without_text(code.name, "", flight_log.read(code.name, code.record))
    if code.record is not None or budget.allow_import:
        from gradtrace.program.own_modules import among, with_modules
    if code.record is not None:
        from gradtrace.trace import file

        record = file.read(code.name, code.record)
        about = record.about
        if about.engine:
            return without_text(about.source_name, about.source_text, record)
        program = parse_text(about.source_text, name=about.source_name, budget=budget)._replace(
            record=record
        )
        return (
            with_modules(program, budget, among(about.files))
            if about.files
            else program._replace(modules={})
        )
    program = parse_text(code.text, name=code.name, budget=budget)
    return with_modules(program, budget) if budget.allow_import else program


def without_text(name: str, text: str, record: Any) -> Program:
    """Return a recorded run of real PyTorch as a Program, or a flight log; its text is not
    parsed.
    """
    import ast

    from gradtrace.program.parse import parse as parse_text
    from gradtrace.program.source import Source

    empty = parse_text("0", name=name)
    kept = ast.parse("torch")  # not empty, for there is a run of it
    return empty._replace(source=Source(name, text), tree=kept, imports_torch=True, record=record)
