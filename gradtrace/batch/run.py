"""The loop over a table: read a chunk, find its bad rows, run the plan on it, write the results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from gradtrace.batch.columns import Bad, Chunk, numbers, python_values, take_rows
from gradtrace.batch.mapper import RowMap
from gradtrace.engine.data.lazy import np
from gradtrace.errors import UsageError

FAIL = "fail"
SKIP = "skip"
NOTED = 10  # bad rows listed individually


class Job(NamedTuple):
    """The work to do with each chunk of a table."""

    line: Callable[[int], str]  # describes a row in messages
    bound: dict[str, str]  # input: column
    kept: tuple[str, ...]  # the columns that are copied to the output
    mapper: RowMap
    on_error: str = FAIL
    threads: int = 1


class Done:
    """The progress of a run: numbers of rows and bad rows. `there` counts the rows that an earlier
    run has written.
    """

    def __init__(self) -> None:
        self.rows = 0
        self.there = 0
        self.bad = 0
        self.noted: list[str] = []

    def note(self, chunk: Chunk, bad: list[Bad], line: Callable[[int], str]) -> None:
        rows = {b.row: b for b in reversed(bad)}
        self.bad += len(rows)
        for row in sorted(rows)[: NOTED - len(self.noted)]:
            self.noted.append(describe_bad(chunk, rows[row], line))


def describe_bad(chunk: Chunk, bad: Bad, line: Callable[[int], str]) -> str:
    where = line(chunk.first + bad.row)
    return (
        f"{where}: the column '{bad.column}' {bad.problem}"
        if bad.column
        else f"{where} {bad.problem}"
    )


def inputs_of(job: Job, chunk: Chunk) -> tuple[dict[str, Any], list[Bad]]:
    """Return the input columns as arrays, and the cells and rows that cannot be read."""
    arrays = {}
    bad = list(chunk.faults)
    for name, column in job.bound.items():
        value = job.mapper.plan.input(name)
        arrays[name], wrong = numbers(
            chunk.columns[column], column, value.shape, np.dtype(value.dtype)
        )
        bad += wrong
    return arrays, bad


def stretch(job: Job, chunk: Chunk, writer: Any, done: Done) -> None:
    """Process one chunk; UsageError for a bad row unless `job.on_error` says to leave it empty or
    skip it.
    """
    columns, bad = inputs_of(job, chunk)
    if bad and job.on_error == FAIL:
        first = min(bad, key=lambda b: b.row)
        raise UsageError(
            describe_bad(chunk, first, job.line),
            "--on-error null leaves it empty, --on-error skip omits it",
        )
    done.note(chunk, bad, job.line)
    results = job.mapper(columns, chunk.size, job.threads)
    table = {**carried(job, chunk, columns, bad, writer), **results}
    missing = {b.row for b in bad}
    if missing and job.on_error == SKIP:
        rows = [row for row in range(chunk.size) if row not in missing]
        table = {name: take_rows(column, rows) for name, column in table.items()}
        missing = set()
    writer.write(table, missing, set(results))
    done.rows += chunk.size


def carried(
    job: Job, chunk: Chunk, inputs: dict[str, Any], bad: list[Bad], writer: Any
) -> dict[str, Any]:
    """Return the columns to copy to the output; inputs read as text become numbers if the writer
    does not keep text.
    """
    table = {name: chunk.columns[name] for name in job.kept}
    for name, column in job.bound.items():
        cells = table.get(column)
        if (
            not writer.as_read
            and isinstance(cells, (list, tuple))
            and any(type(cell) is str for cell in cells)
        ):
            wide = np.dtype(np.float64)
            array = inputs[name]
            if array.dtype != wide:
                array = numbers(cells, column, array.shape[1:], wide)[0]
            empty = {b.row for b in bad if b.column in (column, "")}
            table[column] = python_values(array, empty) if empty else array
    return table


def example(column: Any, name: str, line: Callable[[int], str]) -> Any:
    """Return the first number of a column, as the example for tracing; 1.0 if there is none."""
    for start in range(0, len(column), 64):
        result, bad = numbers(column[start : start + 64], name, None, np.dtype(np.float64))
        wrong = {b.row for b in bad}
        for row in range(len(result)):
            if row not in wrong:
                return result[row] if result.ndim > 1 else float(result[row])
    return 1.0
