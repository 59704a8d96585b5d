"""What a command line grants to its program, read from the arguments before anything else is."""

from __future__ import annotations

import os
import sys

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, Iterator, NamedTuple
from gradtrace.cli import source
from gradtrace.cli.argv import Split
from gradtrace.errors import GradtraceError, UsageError
from gradtrace.limits import BY_FIELD, Budget
from gradtrace.sandbox import scratch

if TYPE_CHECKING:
    from collections.abc import Generator

TABLES = ("--data", "--grid")
DROPPED = ("--scheduler", "--progress", "--resume", "--params", "-e")  # by `task_of`
READ = ("--params", "--data", "--allow-import", "--allow-read")
# limits that hold before options are parsed
EARLY = ("source_bytes", "memory_bytes", "process_bytes", "output_bytes")
# bytes of Python, numpy, its threads and gradtrace's own work, beside a program's values
FIXED = 800_000_000
SHARE = 1.1  # of the program's values, for what holds them
# Beside what a program may write, its process writes more: escapes of characters, and what
# gradtrace says. bytes for each byte, of messages, of answers about a program
ESCAPED_FACTOR, MESSAGES, RESULTS = 4, 64_000, 1_000_000
MOST_SCRATCH = 256 << 20  # bytes of the nameless file, where no table is sorted in it
# bytes after MOST_SCRATCH that the kernel allows: the parent sees then that there are more
ALMOST_FULL = 1 << 20


class Grants(NamedTuple):
    """What a command line asks for, beyond computing and printing.

    read      files and folders that the child may read
    write     the folder of --allow-write, or ""
    outputs   the names of the files to write, each with its path
    shows     whether an output is shown in the browser
    seconds   time limit, or None
    memory    bytes of the program's values
    process   bytes of address space
    file_size  bytes of a file that it writes: one below `write`, or the nameless one (0: without a
               limit)
    printed   bytes that it prints to stdout and stderr, with gradtrace's own words (0: without a
              limit)
    output_bytes  of these, those of the program: --max-output
    reads_stdin  whether the command line names standard input
    torch     runs the program in real PyTorch on inputs that the child describes: `check --against
              torch`
    folder    the folder for the parts of a table, or ""
    scratch   a folder for a nameless file of intermediate results, or ""
    cluster   computes the parts on a cluster, of a table that the child describes: `map
              --scheduler`
    own_text  the program is an expression of the command line, no stranger's
    commands  runs a command line of a document, which gets no right: `verify`
    temporary  whether it gets a folder for temporary files and caches, which is removed at the end
    prompt    yields the entries of `gradtrace repl`, of which each may take `entry_seconds`; gets
              the names to complete
    """

    read: tuple[str, ...] = ()
    write: str = ""
    outputs: tuple[tuple[str, str], ...] = ()
    shows: bool = False
    seconds: float | None = None
    memory: int = 0
    process: int = 0
    file_size: int = MOST_SCRATCH + ALMOST_FULL
    printed: int = 0
    output_bytes: int = 0
    reads_stdin: bool = False
    torch: Callable[[dict[str, Any]], bytes] | None = None
    folder: str = ""
    scratch: str = ""
    cluster: Callable[[dict[str, Any]], bytes] | None = None
    own_text: bool = False
    prompt: Callable[[Callable[[], list[str]]], Generator[str, None, None]] | None = None
    entry_seconds: float = 0.0
    commands: Callable[[list[str], bytes, float], bytes] | None = None
    temporary: bool = False

    @property
    def most_memory(self) -> int:
        """The bytes of memory at which the kernel refuses more to the process, and the parent ends
        it.
        """
        return int(FIXED + SHARE * self.memory)

    @property
    def largest_file(self) -> int:
        """The bytes of a file at which the kernel refuses more to the process (0: without a
        limit).
        """
        temporary = MOST_SCRATCH + ALMOST_FULL if self.temporary else 0
        return max(self.file_size, temporary) if self.file_size else 0

    @property
    def most_written(self) -> int:
        """The bytes of all files together that the process may write below `write`."""
        return self.output_bytes + RESULTS

    @property
    def needs_no_wall(self) -> bool:
        """Whether nothing of a stranger's takes part: the program and its values are the command
        line's own text.
        """
        return self.own_text and not (
            self.read or self.outputs or self.write or self.torch or self.cluster
        )

    @classmethod
    def within(cls, budget: Budget) -> Grants:
        """Return the grants of a command that has these limits and names no file."""
        written = ESCAPED_FACTOR * budget.output_bytes + RESULTS
        return cls(
            read=budget.allow_read,
            write=os.path.realpath(budget.allow_write) if budget.allow_write else "",
            seconds=budget.seconds,
            memory=budget.memory_bytes,
            process=budget.process_bytes,
            file_size=budget.output_bytes + RESULTS
            if budget.allow_write
            else MOST_SCRATCH + ALMOST_FULL,
            printed=written,
            output_bytes=budget.output_bytes,
        )


def of_command(
    split: Split, budget: Budget, always_file: bool, prints_alone: bool = False
) -> Grants:
    """Return the grants of a command on a source; `prints_alone`: its stdout is what the program
    prints.
    """
    output = value_of(split, "-o") or ""
    table = any(value_of(split, name) for name in TABLES)
    # a table may take as long as it likes and be as long, unless the command line says how long
    timed = not table or bool(early_limit(split, "seconds"))
    counted = not table or bool(early_limit(split, "output_bytes"))
    granted = Grants.within(budget)
    is_own = is_own_expression(split, always_file)
    folder = os.path.dirname(output.rstrip("/")) or "." if table else ""
    return granted._replace(
        read=tuple(name for name in files_of(split, always_file) if name not in source.STDIN_PATHS),
        outputs=tuple(outputs_of(split)),
        shows=any(token == "--open" for token, *_ in split.options),
        seconds=budget.seconds if timed else None,
        torch=beside_torch(split, budget, always_file) if value_of(split, "--against") else None,
        folder=output if output.endswith("/") or os.path.isdir(output) else "",
        own_text=is_own,
        temporary=not is_own,
        cluster=on_cluster(split, always_file) if table else None,
        scratch=folder,
        printed=granted.printed - (RESULTS - MESSAGES) * prints_alone if counted else 0,
        file_size=granted.file_size
        if counted or budget.allow_write
        else scratch.free_bytes(folder) // 2,
        reads_stdin=reads_stdin(split),
    )


def is_own_expression(split: Split, always_file: bool) -> bool:
    """Whether the source is an expression that was typed on the command line, which this process
    evaluates itself.
    """
    text = forced(split)
    if any(map(is_strangers, split.positionals)) or (
        text is None and (always_file or not split.positionals)
    ):
        return False
    from gradtrace.program.grammar import is_expression
    from gradtrace.program.parse import parse

    try:
        return is_expression(parse(split.positionals[0] if text is None else text).tree)
    except GradtraceError:
        return True  # no text of a program; parsing it again says why


def reads_stdin(split: Split) -> bool:
    """Whether a command line names standard input: as the source, a table, or a value (`@-`), or by
    its path.
    """
    words = [
        word.strip()
        for word in (*split.positionals, *(word for option in split.options for word in option))
    ]
    return any(word == "-" or word.endswith(("=-", "@-", *source.STDIN_PATHS)) for word in words)


def beside_torch(
    split: Split, budget: Budget, always_file: bool
) -> Callable[[dict[str, Any]], bytes]:
    """Return the function that runs the source, which is read here, in real PyTorch (`check
    --against torch`).
    """
    text = text_of(split, always_file)

    def ask(word: dict[str, Any]) -> bytes:
        from gradtrace.cli import torch_process

        if not text:
            raise UsageError(
                "real PyTorch runs a program's text, not a record", "give the program's file"
            )
        return torch_process.answer_of(
            text, torch_process.checked_request(word), value_of(split, "--python"), budget.seconds
        )

    return ask


def is_strangers(word: str) -> bool:
    """Whether a source is a file's or stdin's text."""
    return word == "-" or source.is_file(word)


def text_of(split: Split, always_file: bool) -> str:
    """Return the text of the source, which the child need not tell then; "" for a record."""
    if not split.positionals:
        return forced(split) or ""
    return forced(split) or source.read(split.positionals[0], always_file).text


def on_cluster(split: Split, always_file: bool) -> Callable[[dict[str, Any]], bytes] | None:
    """Return the function that has a cluster compute a table's parts; None if the command line
    names no cluster.
    """
    address = value_of(split, "--scheduler") or os.environ.get("DASK_SCHEDULER_ADDRESS")
    if not address:
        return None
    text = text_of(split, always_file)

    def ask(word: dict[str, Any]) -> bytes:
        import json

        from gradtrace.batch import cluster
        from gradtrace.batch.run import Done

        table = cluster.table_of(word["table"])
        there = {int(first): end for first, end in word["there"].items()}
        done = Done()
        cluster.run(
            task_of(sys.argv[1:], text, word["constants"]),
            table,
            there,
            address,
            done,
            lambda rows: None,
        )
        told = {"rows": done.rows, "there": done.there, "bad": done.bad, "noted": done.noted}
        return json.dumps(told).encode()

    return ask


def task_of(args: list[str], text: str, constants: dict[str, Any]) -> Any:
    """Return the command line with which a worker computes a part: its options, but for the values
    of variables.
    """
    import json

    from gradtrace.batch.cluster import PARAMETERS, SOURCE, Task
    from gradtrace.cli import argv
    from gradtrace.cli.commands.map import command

    split = argv.split(args[1:], command.arity)
    kept: list[str] = []
    for token, *values in split.options:
        name, equals, attached = token.partition("=")
        value = attached if equals else next(iter(values), "")
        own = name in command.arity
        if (
            name in DROPPED
            or (not own and not value.startswith("col:"))
            or (name in ("-s", "--set") and "col:" not in value)
        ):
            continue
        kept += [token, *values]
    return Task(
        (args[0], *kept, "--params", PARAMETERS, "--", SOURCE),
        text,
        json.dumps(constants),
        os.getcwd(),
    )


def forced(split: Split) -> str | None:
    """Return the expression given by -e, or None."""
    return next(
        (values[0] for token, *values in reversed(split.options) if token == "-e" and values), None
    )


def outputs_of(split: Split) -> Iterator[tuple[str, str]]:
    """Yield the outputs that a command line asks for, each with the path of the file to write."""
    name = value_of(split, "-o")
    if name is not None:
        yield name, name
    folder = value_of(split, "--tensorboard")
    if folder is not None:
        from gradtrace.views import event_files

        yield folder, os.path.join(folder, event_files.new_name())


def files_of(split: Split, always_file: bool) -> Iterator[str]:
    """Yield the paths of the files and folders that a command line names for reading."""
    for position, word in enumerate(split.positionals):
        if source.is_file(word) or (always_file and not position):
            yield os.path.expanduser(word.removeprefix("@"))
    for token, *values in split.options:
        name, equals, attached = token.partition("=")
        for value in ([attached] if equals else values) or [token[2:]]:
            for text in (value, value.partition("=")[2]):
                if name in READ:
                    yield os.path.expanduser(text)
                elif text.strip().startswith("@"):
                    yield os.path.expanduser(text.strip()[1:].partition("#")[0])
    output = value_of(split, "-o")
    if output is not None:
        yield output  # its first bytes tell whether it may be overwritten


def value_of(split: Split, name: str) -> str | None:
    """Return the last value of an option, written as `-o g.svg`, `-og.svg`, `--out g.svg` or
    `--out=g.svg`.
    """
    for token, *values in reversed(split.options):
        if token == name:
            return values[0] if values else None
        if token.startswith(name if len(name) == 2 else name + "="):
            return token[len(name) :].removeprefix("=")
    return None


def early_budget(split: Split) -> Budget:
    """Return the limits on reading and parsing, and --allow-import, before all options have been
    parsed.

    Invalid values are ignored here; they are reported when the options are parsed.
    """
    texts = {field: early_limit(split, field) for field in EARLY}
    numbers: dict[str, Any] = {
        field: int(text) for field, text in texts.items() if text.isdecimal()
    }
    folders = early_value(split, "--allow-import"), early_value(split, "--allow-write")
    budget = Budget()._replace(**numbers, allow_import=folders[0], allow_write=folders[1])
    seconds = early_limit(split, "seconds")
    if seconds.replace(".", "", 1).isdecimal() and float(seconds) > 0:
        budget = budget._replace(seconds=float(seconds))
    return budget


def early_limit(split: Split, field: str) -> str:
    """Return the value of a limit's option, or of its environment variable; "" if neither is
    given.
    """
    limit = BY_FIELD[field]
    return early_value(split, limit.flag) or os.environ.get(limit.variable, "")


def early_value(split: Split, option: str) -> str:
    """Return the last value of an option; "" if it is not given."""
    occurrences = [
        [*token.partition("=")[2:], *values][-1]
        for token, *values in split.options
        if token.partition("=")[0] == option
    ]
    return occurrences[-1] if occurrences else ""
