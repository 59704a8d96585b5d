"""Compute the parts of a table on a cluster: `dask.distributed` (extra `dask`), one task for each part.

The plan is sent as data. A worker opens the input, reads the rows of its part, and writes the part to the output
folder; every worker must be able to open both by the same names. If a worker is lost, another one computes its part;
parts are written atomically. The package is sent to workers without gradtrace. A worker with another version of
gradtrace, numpy or Python raises UsageError, because results could differ.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from gradtrace.batch import lines, parts
from gradtrace.batch.run import NOTED, Done
from gradtrace.engine.tensor import hooks_into_ops
from gradtrace.errors import UsageError
from gradtrace.static.plan import Plan

RETRIES = 3


class Work(NamedTuple):
    """Everything that a worker needs, as plain data."""

    plan: Plan
    constants: dict[str, Any]
    bound: dict[str, str]
    kept: tuple[str, ...]
    on_error: str
    threads: int
    data: str | None
    grid: tuple[str, ...]
    read_as: str | None
    folder: str
    kind: str
    part_rows: int
    size: int
    rows: int
    names: tuple[str, ...] = ()  # the columns of a text file
    offsets: tuple[int, ...] = ()  # byte offsets of its parts: see `lines`


def run(work: Work, address: str, there: dict[int, int], done: Done, progress: Callable[[int], None]) -> None:
    """Compute the parts that are missing; UsageError if the cluster cannot be reached or its versions differ."""
    client = connect(address)
    try:
        prepare(client)
        rows = work.rows
        starts = [first for first in range(0, rows, work.part_rows) if first not in there]
        done.rows = done.there = rows - sum(min(work.part_rows, rows - first) for first in starts)
        futures = client.map(one_part, [work] * len(starts), starts, retries=RETRIES, pure=False)
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


def connect(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError:
        raise UsageError("a cluster needs dask.distributed", "pip install 'gradtrace[dask]'") from None
    try:
        return Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise UsageError(f"--scheduler: no scheduler at '{address}'", "give its address, tcp://HOST:8786") from error


def prepare(client: Any) -> None:
    """Make every worker have the versions of this process: send gradtrace if needed; UsageError if others differ."""
    mine = versions()
    theirs = worker_versions(client)
    if not theirs:
        raise UsageError("--scheduler: the cluster has no workers", "start workers: dask worker ADDRESS")
    if any(installed["gradtrace"] is None for installed in theirs.values()):
        send(client)
        theirs = worker_versions(client)
    for worker, installed in theirs.items():
        for what, version in mine.items():
            if installed[what] != version:
                raise UsageError(
                    f"--scheduler: the worker {worker} has {what} {installed[what]}, not {version}",
                    "install the same versions everywhere; results could differ",
                )


def versions() -> dict[str, str]:
    import numpy

    from gradtrace import __version__

    return {"python": "{}.{}".format(*sys.version_info), "numpy": numpy.__version__, "gradtrace": __version__}


def worker_versions(client: Any) -> dict[str, dict[str, Any]]:
    """Return the versions on each worker; gradtrace's is None if it is not installed."""

    def probe() -> dict[str, Any]:  # a local function is pickled by value and needs no gradtrace there
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


_mappers: dict[int, Any] = {}  # of this worker: the code compiled from a plan is reused for all its parts


def one_part(work: Work, first: int) -> tuple[int, int, list[str]]:
    """Compute and write a part on a worker; return the numbers of its rows and bad rows, and messages for bad rows."""
    from gradtrace.batch.mapper import RowMap
    from gradtrace.batch.run import Job

    reader = reader_of(work, first)
    if hasattr(reader, "select"):
        reader.select([*work.bound.values(), *work.kept])
    key = hash(repr(work.plan))
    if key not in _mappers:
        for step in work.plan.steps:  # a plan made in another process: the families of its operators are not loaded yet
            hooks_into_ops["load"](step.op)
        _mappers[key] = RowMap(work.plan, work.constants)
    job = Job(reader.line, work.bound, work.kept, _mappers[key], work.on_error, work.threads)
    done = Done()
    if work.offsets:
        wanted = min(work.part_rows, work.rows - first)
        chunks = lines.counted(reader.chunks(work.size), reader.name, first, wanted)
    else:
        chunks = reader.chunks(work.size, first)
    parts.write_part(job, chunks, work.folder, work.kind, work.part_rows, done)
    return done.rows, done.bad, done.noted


def reader_of(work: Work, first: int) -> Any:
    """Return a reader of the input. For a text file, it reads only the part that starts at row `first`."""
    from gradtrace.batch import formats
    from gradtrace.batch.grid import GridReader, parse

    if work.grid:
        return GridReader([parse(text) for text in work.grid])
    if not work.offsets:
        return formats.reader(work.data or "", work.read_as, None)
    part = first // work.part_rows
    name = work.data or ""
    kind = work.read_as or formats.of_name(name, "--data", "--from")
    return lines.range_reader(name, kind, work.offsets[part], work.offsets[part + 1], list(work.names))
