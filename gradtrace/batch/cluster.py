"""Compute the parts of a table on a cluster: `dask.distributed` (extra `dask`), one task for each
part.

A task is a command line and texts: a worker starts `gradtrace map` for one part, which reads the
input, runs the program in a confined process as any command does, and writes the part to the output
folder. Every worker must be able to open both by the same names. If a worker is lost, another one
computes its part; parts are written atomically. The package is sent to workers without gradtrace. A
worker with another version of gradtrace, numpy or Python raises UsageError, because results could
differ.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from gradtrace.batch import lines
from gradtrace.batch.run import NOTED, Done
from gradtrace.errors import UsageError

RETRIES = 3
MOST_PARTS = 1_000_000

PART = "GRADTRACE_MAP_PART"  # the environment variable that says which part to compute
SOURCE = "program.txt"
PARAMETERS = "parameters.json"


class Table(NamedTuple):
    """How a table is divided into parts, as plain data."""

    rows: int
    part_rows: int
    names: tuple[str, ...] = ()  # the columns of a text file
    offsets: tuple[int, ...] = ()  # byte offsets of its parts: see `lines`


def table_of(word: dict[str, Any]) -> Table:
    """Return the table that a confined process describes; UsageError unless it consists of numbers
    and names, and of at most MOST_PARTS parts.
    """
    fields: list[Any] = [word.get(field) for field in Table._fields]
    rows, part_rows, names, offsets = fields
    numbers = (rows, part_rows, *(offsets or ()))
    is_data = all(type(n) is int and 0 <= n < 10**18 for n in numbers) and part_rows
    parts = -(-rows // part_rows) if is_data else 0
    if not is_data or parts > MOST_PARTS or (offsets and len(offsets) != parts + 1):
        raise UsageError("the table for the cluster is not data", "please report this")
    return Table(rows, part_rows, tuple(map(str, names or ())), tuple(offsets or ()))


class Task(NamedTuple):
    """The command line of every part: its source is SOURCE, and its constants are in PARAMETERS."""

    arguments: tuple[str, ...]
    source: str
    parameters: str
    folder: str  # the working directory of the command


def run(
    task: Task,
    table: Table,
    there: dict[int, int],
    address: str,
    done: Done,
    progress: Callable[[int], None],
) -> None:
    """Compute the parts that are missing; `there` has those that exist, by their first row.
    UsageError if the cluster cannot be reached or its versions differ.
    """
    client = connect(address)
    try:
        prepare(client)
        starts = [first for first in range(0, table.rows, table.part_rows) if first not in there]
        done.rows = done.there = table.rows - sum(
            min(table.part_rows, table.rows - first) for first in starts
        )
        futures = client.map(
            one_part,
            [task] * len(starts),
            [part_of(table, s) for s in starts],
            retries=RETRIES,
            pure=False,
        )
        try:
            from distributed import as_completed

            for future in as_completed(futures, loop=client.loop):
                count, bad, noted = future.result()
                done.rows += count
                done.bad += bad
                done.noted += noted[: max(0, NOTED - len(done.noted))]
                progress(done.rows)
        except BaseException:
            client.cancel(futures, force=True)
            raise
    finally:
        client.close()


def part_of(table: Table, first: int) -> dict[str, Any]:
    """Return what `asked_part` gives in the process that computes the part from row `first` on."""
    part = first // table.part_rows
    part_fields: dict[str, Any] = {"first": first, "rows": min(table.part_rows, table.rows - first)}
    if table.offsets:
        part_fields.update(
            names=table.names, start=table.offsets[part], end=table.offsets[part + 1]
        )
    return part_fields


def connect(address: str) -> Any:
    """Return a client of the cluster; UsageError without dask.distributed or a scheduler there."""
    try:
        from distributed import Client
    except ImportError:
        raise UsageError(
            "a cluster needs dask.distributed", "pip install 'gradtrace[dask]'"
        ) from None
    try:
        return Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise UsageError(
            f"--scheduler: no scheduler at '{address}'", "give its address, tcp://HOST:8786"
        ) from error


def prepare(client: Any) -> None:
    """Send gradtrace to the workers if one of them lacks it; UsageError unless all have the
    versions of this process.
    """
    mine = versions()
    theirs = worker_versions(client)
    if not theirs:
        raise UsageError(
            "--scheduler: the cluster has no workers", "start workers: dask worker ADDRESS"
        )
    if any(installed["gradtrace"] is None for installed in theirs.values()):
        send(client)
        theirs = worker_versions(client)
    for worker, installed in theirs.items():
        for package, version in mine.items():
            if installed[package] != version:
                raise UsageError(
                    f"--scheduler: the worker {worker} has {package} {installed[package]}, not "
                    f"{version}",
                    "install the same versions everywhere; results could differ",
                )


def versions() -> dict[str, str]:
    """Return the versions that results depend on."""
    import numpy

    from gradtrace import __version__

    return {
        "python": "{}.{}".format(*sys.version_info),
        "numpy": numpy.__version__,
        "gradtrace": __version__,
    }


def worker_versions(client: Any) -> dict[str, dict[str, Any]]:
    """Return the versions on each worker; gradtrace's is None if it is not installed."""

    # A local function is pickled by value, so that it also runs on workers without gradtrace.
    def probe() -> dict[str, Any]:
        import importlib
        import sys

        results: dict[str, Any] = {"python": "{}.{}".format(*sys.version_info)}
        for name in ("numpy", "gradtrace"):
            try:
                results[name] = importlib.import_module(name).__version__
            except ImportError:
                results[name] = None
        return results

    return client.run(probe)


def send(client: Any) -> None:
    """Send this package to the workers, including those that join later."""
    import tempfile
    import zipfile

    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "gradtrace.zip")
        with zipfile.ZipFile(path, "w") as archive:
            for place, _, files in os.walk(home):
                for name in files:
                    if name.endswith(".py"):
                        full = os.path.join(place, name)
                        archive.write(full, os.path.join("gradtrace", os.path.relpath(full, home)))
        client.upload_file(path)


def one_part(task: Task, part: dict[str, Any]) -> tuple[int, int, list[str]]:
    """Compute and write a part on a worker; return the numbers of its rows and bad rows, and
    messages for bad rows.
    """
    import tempfile

    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    python_path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    with tempfile.TemporaryDirectory(prefix="gradtrace-") as folder:
        for name, text in ((SOURCE, task.source), (PARAMETERS, task.parameters)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        paths = {name: os.path.join(folder, name) for name in (SOURCE, PARAMETERS)}
        done = subprocess.run(
            [
                sys.executable,
                "-P",
                "-m",
                "gradtrace",
                *(paths.get(word, word) for word in task.arguments),
            ],
            cwd=task.folder if os.path.isdir(task.folder) else folder,
            env={**os.environ, "PYTHONPATH": python_path, PART: json.dumps(part)},
            capture_output=True,
            text=True,
        )
    if done.returncode:
        raise UsageError(
            done.stderr.strip().removeprefix("gradtrace: ") or "a worker's process failed"
        )
    counts = json.loads(done.stdout)
    return counts["rows"], counts["bad"], counts["noted"]


def asked_part() -> dict[str, Any] | None:
    """Return the part that a cluster's worker has started this process for; None if none has."""
    text = os.environ.get(PART)
    part: dict[str, Any] | None = json.loads(text) if text else None
    return part


def chunks_of(part: dict[str, Any], table: Any, data: str, kind: str, size: int) -> Any:
    """Return the rows of a part, `size` at a time."""
    if "names" not in part:
        return limited(table.chunks(size, part["first"]), part["rows"])
    reader = lines.range_reader(data, kind, part["start"], part["end"], list(part["names"]))
    return lines.counted(reader.chunks(size), reader.name, part["first"], part["rows"])


def limited(chunks: Any, rows: int) -> Any:
    """Yield the chunks of the first `rows` rows; a chunk must end with the last of them."""
    for chunk in chunks:
        yield chunk
        rows -= chunk.size
        if rows <= 0:
            return
