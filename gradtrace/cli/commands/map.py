"""`gradtrace map SOURCE --data IN -o OUT`: value and gradients for every row of a table."""

from __future__ import annotations

import json
import os
import sys
from itertools import chain

from gradtrace.annotations import TYPE_CHECKING, Any, NamedTuple
from gradtrace.cli import grants, options, output, tabular
from gradtrace.cli.command import SourceCommand
from gradtrace.cli.options import Request, choice, flag, number, option, rare, section
from gradtrace.errors import UsageError

if TYPE_CHECKING:
    from gradtrace.batch.cluster import Table
    from gradtrace.batch.parts import Parts
    from gradtrace.batch.run import Done, Job

HELP = """Evaluate SOURCE for every row of a table: its value and, for each input that is a column, the gradient.

A variable is the column of its name, or the one that --x col:NAME says; others are given as usual and are the same for
all rows. The output has the columns used, then the value, then the gradients. Rows are independent: a column may hold
vectors, and a sum is over the row's own. CSV, TSV, JSON Lines and numpy's files are streamed; Parquet, Arrow and
Feather, and folders of them, need pyarrow. An OUT that ends in / is a folder of parts, which --resume takes up again.
Results do not depend on --workers."""

EXAMPLES = """Examples:
  printf 'x,w\\n2,1\\n3,4\\n' | gradtrace map "(x+w)*(w+1)" --data -
  gradtrace map examples/black_scholes.txt --data options.parquet -o g.parquet
  gradtrace map "m*v**2/2" --data runs.csv --m col:mass --v col:speed
  gradtrace map examples/black_scholes.txt --grid S=80:120:1000 --grid T=1,2"""

TEXT_ROWS, ARRAY_ROWS = 16_384, 131_072  # rows read at a time
FORMATS = ("csv", "tsv", "jsonl", "npy", "npz", "parquet", "arrow", "feather")


class Source(NamedTuple):
    """The options for the table that is read."""

    data: str | None
    grid: tuple[str, ...]
    from_: str | None

    @property
    def format(self) -> str | None:
        """The format of the file: that of --data-format, else of its suffix; None if neither says it."""
        if self.from_ is not None or self.data in (None, "-"):
            return self.from_
        from gradtrace.batch import formats

        return formats.SUFFIXES.get(os.path.splitext(self.data or "")[1].lower())

    def open(self) -> Any:
        """Return a reader of the table."""
        from gradtrace.batch import formats
        from gradtrace.batch.grid import GridReader, parse
        from gradtrace.cli import source

        if self.grid and self.data is not None:
            raise UsageError("--data and --grid are two tables", "give one of them")
        if self.grid:
            return GridReader([parse(text) for text in self.grid])
        if self.data is None:
            raise UsageError(
                "no table given",
                "give --data FILE, --data - for stdin, or --grid NAME=FROM:TO:POINTS",
            )
        return formats.reader(self.data, self.from_, lambda: source.stdin_for("--data"))


class Target(NamedTuple):
    """The options for the output."""

    output_file: str | None
    to: str | None
    part_rows: int
    resume: bool
    scheduler: str | None

    @property
    def in_parts(self) -> bool:
        """Whether the output is a folder of part files."""
        return self.output_file is not None and (
            self.output_file.endswith("/") or os.path.isdir(self.output_file)
        )

    def format(self, source: Source) -> str:
        """Return the format of the output; UsageError if no suffix says it."""
        from gradtrace.batch import formats

        if self.to is not None:
            return self.to
        if self.output_file is None:
            return source.format if source.format in (*formats.TEXT, "jsonl") else "csv"
        return (
            (source.format or "csv")
            if self.in_parts
            else formats.of_name(self.output_file, "-o", "--format")
        )

    def address(self, source: Source) -> str | None:
        """Return the address of the cluster that computes the parts; None without one."""
        divisible = self.in_parts and source.data != "-"
        scheduler = self.scheduler or (
            os.environ.get("DASK_SCHEDULER_ADDRESS") or None if divisible else None
        )
        if scheduler is not None and not divisible:
            raise UsageError(
                "a cluster writes a folder of parts, from a file", "give -o FOLDER/ and --data FILE"
            )
        return scheduler


class Rows(NamedTuple):
    """The options for what is computed of each row."""

    grad: tuple[str, ...]
    order: int
    keep: tuple[str, ...]
    on_error: str


def map_rows(
    request: Request,
    source: Source,
    target: Target,
    rows: Rows,
    workers: int | None,
    progress: bool,
) -> None:
    from gradtrace.batch import cluster, parts, run
    from gradtrace.batch.mapper import RowMap

    program = request.program
    if not program.tree.body:
        raise UsageError(
            f"{program.source.name} holds nothing to evaluate", "give an expression, a file, or -"
        )
    if target.resume and (not target.in_parts or source.data == "-"):
        raise UsageError(
            "--resume takes up a folder of parts" + (" of a file" if source.data == "-" else ""),
            "give -o FOLDER/ and --data FILE",
        )
    kind = target.format(source)
    scheduler = target.address(source)
    table = source.open()
    bound = tabular.bind(request, table.names)
    kept = chosen(options.names(rows.keep), table.names, bound)
    used = [*bound.columns.values(), *kept]
    restrict(table, used)
    size = rows_at_a_time(table, target.part_rows if target.in_parts else 0)
    chunks = table.chunks(size)
    first = next(chunks, None)
    examples = {
        name: 1.0 if first is None else run.example(first.columns[column], column, table.line)
        for name, column in bound.columns.items()
    }
    plan, tensors = tabular.recorded(request, bound, examples, options.names(rows.grad), rows.order)
    mapper = RowMap(plan, {name: tensor._data for name, tensor in tensors.items()})
    refuse_collision(kept, mapper.labels)
    job = run.Job(
        table.line, bound.columns, kept, mapper, rows.on_error, workers or os.cpu_count() or 1
    )
    done = run.Done()
    shown = tabular.Progress(table, done, progress)
    part = cluster.asked_part()
    if not target.in_parts:
        whole(
            job,
            chain([] if first is None else [first], chunks),
            target.output_file,
            kind,
            done,
            shown,
        )
    else:
        folder = parts.output_folder(target.output_file or "")
        output_parts = parts.Parts(folder, kind, target.part_rows)
        if part is not None:
            read = cluster.chunks_of(
                part, restrict(source.open(), used), source.data or "", source.format or "csv", size
            )
            parts.write_part(job, read, output_parts, done)
            output.write(
                json.dumps({"rows": done.rows, "bad": done.bad, "noted": done.noted}) + "\n"
            )
            return
        there = folder.prepare(
            fingerprint(request, source, output_parts, job, tensors), target.resume
        )
        if scheduler is not None:
            divided = division(table, source, target.part_rows)
            on_cluster(
                divided,
                constants_of(tensors, bound),
                there,
                program.source.text,
                scheduler,
                done,
                shown,
            )
        else:
            shown.table = fresh = restrict(source.open(), used)  # from its start
            parts.run(job, fresh, output_parts, there, size, done, shown)
        folder.finish(done.rows)
    shown.end(done.rows)
    tabular.tell_bad(done, rows.on_error)


def restrict(table: Any, columns: list[str]) -> Any:
    """Have a reader read these columns only, if it can choose; return it."""
    if hasattr(table, "select"):
        table.select(columns)
    return table


def constants_of(tensors: dict[str, Any], bound: tabular.Bound) -> dict[str, Any]:
    """Return the values of the inputs that are no columns, as JSON can hold them."""
    from gradtrace.trace.values import frozen
    from gradtrace.views.numbers import jsonable

    return {
        name: jsonable(frozen(tensor))
        for name, tensor in tensors.items()
        if name not in bound.columns
    }


def fingerprint(
    request: Request, source: Source, output_parts: Parts, job: Job, tensors: dict[str, Any]
) -> dict[str, Any]:
    """Return the facts that decide what the parts hold: --resume goes on only if they are the
    same.
    """
    from gradtrace.batch import parts

    facts = {
        "program": request.program.source.text,
        "data": source.data,
        "grid": list(source.grid),
        "kind": output_parts.kind,
        "part_rows": output_parts.rows,
        "plan": repr(job.mapper.plan),
        "columns": [job.bound, list(job.kept)],
        "on_error": job.on_error,
        "versions": versions(),
        "constants": repr({name: tensor.tolist() for name, tensor in tensors.items()}),
    }
    if source.data is not None:
        facts["files"] = parts.of_file(source.data)
    return facts


def chosen(keep: tuple[str, ...], table: list[str], bound: tabular.Bound) -> tuple[str, ...]:
    """Return the input columns to copy to the output: those that --keep names, else identifiers and
    those used.
    """
    if not keep:
        return tuple(dict.fromkeys([*filter(is_identifier, table), *bound.columns.values()]))
    if keep in (("all",), ("none",)):
        return tuple(table) if keep == ("all",) else ()
    columns = set(table)
    for name in keep:
        if name not in columns:
            raise tabular.no_column("--keep", name, table)
    return keep


def is_identifier(column: str) -> bool:
    """Whether a column's name says that it tells the rows apart: id, key, user_id."""
    last = column.lower().replace("-", "_").replace(" ", "_").rpartition("_")[2]
    return last in ("id", "key", "uuid")


def refuse_collision(kept: tuple[str, ...], labels: list[str]) -> None:
    columns = set(kept)
    both = next((label for label in labels if label in columns), None)
    if both is not None:
        raise UsageError(
            f"the output '{both}' has the name of a column",
            "leave the column out with --keep, or rename it",
        )


def rows_at_a_time(table: Any, part_rows: int) -> int:
    """Return the number of rows to read at a time; for parts, a divisor of a part's rows."""
    size = TEXT_ROWS if getattr(table, "rows", None) is None else ARRAY_ROWS
    if not part_rows:
        return size
    pieces = -(-part_rows // size)
    while part_rows % pieces:
        pieces += 1
    return part_rows // pieces


def empty(job: Job) -> Any:
    """Return the output's columns without rows."""
    from gradtrace.engine.data.lazy import np

    none = {name: np.empty((0, *job.mapper.plan.input(name).shape)) for name in job.bound}
    return {**{name: [] for name in job.kept}, **job.mapper(none, 0)}


def whole(job: Job, chunks: Any, name: str | None, kind: str, done: Done, shown: Any) -> None:
    """Write the table as one file, or to stdout."""
    from gradtrace import files
    from gradtrace.batch import formats, run

    def fill(writer: Any) -> None:
        for chunk in chunks:
            run.stretch(job, chunk, writer, done)
            shown(done.rows)
        if not done.rows:
            writer.write(empty(job), set(), set())

    if name is None:
        writer = formats.onto_stdout(kind)
        fill(writer)
        writer.close()
        return

    def write(stream: Any) -> None:
        writer = formats.writer(stream, kind, os.path.dirname(os.path.realpath(name)))
        fill(writer)
        writer.close()

    files.write_output(name, write)


def division(table: Any, source: Source, part_rows: int) -> Table:
    """Return how the table is divided into parts."""
    from gradtrace.batch import formats, lines
    from gradtrace.batch.cluster import Table

    rows = getattr(table, "rows", None)
    if rows is not None:
        return Table(rows, part_rows)
    assert source.data is not None  # a file of text
    quoted = (
        source.from_ or formats.of_name(source.data, "--data", "--data-format")
    ) in formats.TEXT
    rows, offsets = lines.ranges(source.data, part_rows, quoted)
    return Table(rows, part_rows, tuple(table.names), offsets)


def on_cluster(
    table: Table,
    constants: dict[str, Any],
    there: dict[int, int],
    text: str,
    address: str,
    done: Any,
    shown: Any,
) -> None:
    """Write the parts of the output with the workers of a cluster, which the broker of a confined
    process asks.
    """
    from gradtrace.batch import cluster
    from gradtrace.sandbox import channel

    if not channel.is_open():
        cluster.run(
            grants.task_of(sys.argv[1:], text, constants), table, there, address, done, shown
        )
        return
    request = {"table": table._asdict(), "there": {str(first): end for first, end in there.items()}}
    answer = channel.ask_with("cluster", json.dumps({**request, "constants": constants}).encode())
    told = json.loads(answer)
    done.rows = told["rows"]
    done.there = told["there"]
    done.bad = told["bad"]
    done.noted = told["noted"]


def versions() -> dict[str, str]:
    from gradtrace import __version__
    from gradtrace.engine.data.lazy import np

    return {"gradtrace": __version__, "numpy": np.__version__}


TABLE = section(
    "Table",
    option("--data FILE", "The table: a file, a folder of Parquet, or - (stdin)."),
    option(
        "--grid NAME=FROM:TO:N ...",
        "A table of every combination of points. NAME=a,b,c lists them.",
    ),
    option(
        "-o FILE",
        "The output; a name that ends in / is a folder of parts. Default: stdout.",
        "output_file",
    ),
    options.RESULT,
    option(
        "--grad NAMES ...", "Variables to differentiate by, also constants. Default: the columns."
    ),
    number(
        "--order N",
        "0: only the value; 1 (default): its gradients; 2: also the second derivatives.",
        0,
        2,
        1,
    ),
    option(
        "--keep NAMES ...",
        "Input columns to copy to the output, or all, or none. Default: id, key and those used.",
    ),
    *rare(
        choice(
            "--data-format FORMAT",
            "The input's format. Default: by its suffix.",
            None,
            FORMATS,
            "from_",
        ),
        choice(
            "--format FORMAT", "The output's format. Default: by its suffix.", None, FORMATS, "to"
        ),
        choice(
            "--on-error fail|null|skip",
            "What to do with a row that lacks a number. Default: fail.",
            "fail",
        ),
        number("--workers N", "Number of threads. Default: one for each CPU.", 1),
        number(
            "--part-rows N",
            "Number of rows in each part of a folder. Default: 1,000,000.",
            1,
            default=1_000_000,
        ),
        option(
            "--scheduler tcp://HOST:PORT",
            "Compute the parts on a dask cluster. Default: DASK_SCHEDULER_ADDRESS.",
        ),
        flag(
            "--progress",
            "Show rows, rate and remaining time on stderr, even if it is not a terminal.",
        ),
        flag("--resume", "Write only the missing parts."),
    ),
)

command = SourceCommand(
    "map",
    map_rows,
    options.of_source(TABLE, options.INPUTS),
    HELP,
    EXAMPLES,
    records=(Source, Target, Rows),
)
