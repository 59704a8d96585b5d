"""Tables written as a folder of parts, so that an interrupted run can be resumed.

    OUT/fingerprint.json               identifies the inputs and the computation; written first
    OUT/part-000000000000-000001000000.csv    rows from (inclusive) to (exclusive) of the input
    OUT/manifest.json                  the list of parts; written last, when the table is complete

A part is written to a temporary name and renamed, so an existing part is complete. `resume`
computes the missing parts. A folder with another fingerprint is not modified. Temporary names begin
with `.unfinished`. Until the manifest exists, an empty file `.bad-FIRST-COUNT` records that the
part from row FIRST has COUNT bad rows.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any, NamedTuple

from gradtrace.batch import formats
from gradtrace.batch.columns import Chunk
from gradtrace.batch.run import Done, Job, stretch
from gradtrace.errors import UsageError
from gradtrace.sandbox import channel
from gradtrace.trace import fields

FINGERPRINT = "fingerprint.json"
MANIFEST = "manifest.json"
PART = re.compile(r"part-(\d{12})-(\d{12})\.")
Fill = Callable[[Any], dict[str, int]]
BAD = re.compile(r"\.bad-(\d{12})-(\d+)$")


def fingerprint(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the document to write as fingerprint: the facts that identify a run, and their
    digest.
    """
    text = json.dumps(facts, sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return {"schema": "gradtrace/fingerprint", "version": 1, "digest": digest, **facts}


def of_file(name: str) -> dict[str, Any]:
    """Return the size and modification time of each file of an input, which identify it."""
    files = [name]
    if os.path.isdir(name):
        files = sorted(
            os.path.join(name, entry) for entry in os.listdir(name) if entry[0] not in "._"
        )
    return {os.path.basename(f): [os.stat(f).st_size, os.stat(f).st_mtime_ns] for f in files}


class Folder:
    """The output folder. A confined process has a RemoteFolder, whose methods ask its broker for
    these.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def prepare(self, facts: dict[str, Any], resume: bool) -> dict[int, int]:
        """Create or check the folder; return the existing parts as a dict from first row to end.

        UsageError if the folder holds parts of another run, or of this run without `resume`.
        """
        os.makedirs(self.name, exist_ok=True)
        current = fingerprint(facts)
        path = os.path.join(self.name, FINGERPRINT)
        there = existing(self.name)
        if os.path.exists(path) and (resume or there):
            document = read_document(path)
            if not resume:
                raise UsageError(
                    f"'{self.name}' already holds the parts of a run",
                    "resume it with --resume, or choose another folder",
                )
            if document.get("digest") != current["digest"]:
                raise UsageError(
                    f"'{self.name}' holds the parts of another run: "
                    f"{difference(document, current)}",
                    "choose another folder with -o",
                )
        elif there:
            raise UsageError(
                f"'{self.name}' holds parts of an unknown run", "choose another folder with -o"
            )
        # what is noted of parts that were not written any more goes
        remove(
            self.name,
            lambda name: (
                is_unfinished(name) or bool((m := BAD.match(name)) and int(m[1]) not in there)
            ),
        )
        write_json(path, current)
        return there

    def write(self, first: int, kind: str, fill: Fill) -> None:
        """Write the part that begins at row `first`: `fill` writes to a stream and returns {"end":
        ..., "bad": ...}.
        """
        beside = os.path.join(self.name, f".unfinished-{first:012d}.{os.getpid()}.{kind}")
        try:
            with open(beside, "wb") as stream:
                counts = fill(stream)
            # noted before the part is there: once it is, no other run counts its bad rows
            with open(
                os.path.join(self.name, f".bad-{first:012d}-{counts['bad']}"), "w", encoding="utf-8"
            ):
                pass
            os.replace(
                beside, os.path.join(self.name, f"part-{first:012d}-{counts['end']:012d}.{kind}")
            )
        finally:
            with suppress(OSError):
                os.unlink(beside)

    def finish(self, rows: int) -> None:
        """Write the manifest of a complete table, with the number of bad rows of this and earlier
        runs.
        """
        parts = sorted(name for name in os.listdir(self.name) if PART.match(name))
        bad = bad_rows(self.name, parts)
        remove(self.name, is_unfinished)
        write_json(
            os.path.join(self.name, MANIFEST),
            {
                "schema": "gradtrace/manifest",
                "version": 1,
                "rows": rows,
                "bad_rows": None if None in bad.values() else sum(filter(None, bad.values())),
                "parts": parts,
                "bad_rows_by_part": {name: count for name, count in bad.items() if count},
            },
        )
        remove(self.name, BAD.match)


class RemoteFolder(Folder):
    """The output folder of a confined process."""

    def prepare(self, facts: dict[str, Any], resume: bool) -> dict[int, int]:
        ends = channel.ask("prepare", facts=facts, resume=resume)["there"]
        return {int(first): end for first, end in ends.items()}

    def write(self, first: int, kind: str, fill: Fill) -> None:
        channel.stream_to("part", fill, first=first, kind=kind)

    def finish(self, rows: int) -> None:
        channel.ask("finish", rows=rows)


def output_folder(name: str) -> Folder:
    return RemoteFolder(name) if channel.is_open() else Folder(name)


def difference(earlier: dict[str, Any], current: dict[str, Any]) -> str:
    """Return a description of the first fact in which two fingerprints differ."""
    for key in current:
        if key != "digest" and earlier.get(key) != current[key]:
            return f"its {key} differs"
    return "its fingerprint differs"


def existing(folder: str) -> dict[int, int]:
    matches = (PART.match(name) for name in os.listdir(folder))
    return {int(m[1]): int(m[2]) for m in matches if m}


def write_json(path: str, document: dict[str, Any]) -> None:
    folder, name = os.path.split(path)
    beside = os.path.join(folder, f".unfinished-{name}.{os.getpid()}")
    with open(beside, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
    os.replace(beside, path)


class Parts(NamedTuple):
    """A folder of parts, their format, and the number of rows in each."""

    folder: Folder
    kind: str
    rows: int


def run(
    job: Job,
    reader: Any,
    parts: Parts,
    there: dict[int, int],
    size: int,
    done: Done,
    progress: Callable[[int], None],
) -> None:
    """Write the parts that are not in `there`. Rows are read `size` at a time, which must divide a
    part's rows.
    """
    skip = 0
    while there.get(skip) == skip + parts.rows:
        skip += parts.rows
    done.rows += skip
    done.there += skip
    chunks = reader.chunks(size, skip)
    for chunk in chunks:
        if chunk.first not in there:
            write_part(job, chain([chunk], chunks), parts, done, progress)
            continue
        last = there[chunk.first]
        done.rows += last - chunk.first
        done.there += last - chunk.first
        while chunk.first + chunk.size < last:
            chunk = next(chunks)


def write_part(
    job: Job,
    chunks: Iterator[Chunk],
    parts: Parts,
    done: Done,
    progress: Callable[[int], None] = lambda rows: None,
) -> None:
    """Write one part from the next rows; consume no more chunks than necessary."""
    first = next(chunks, None)
    if first is None:
        return

    def fill(stream: Any) -> dict[str, int]:
        end = first.first
        bad = done.bad
        writer = formats.writer(stream, parts.kind, parts.folder.name)
        for chunk in chain([first], chunks):
            stretch(job, chunk, writer, done)
            progress(done.rows)
            end = chunk.first + chunk.size
            if end >= first.first + parts.rows:
                break
        writer.close()
        return {"end": end, "bad": done.bad - bad}

    parts.folder.write(first.first, parts.kind, fill)


def read_document(path: str) -> dict[str, Any]:
    """Return the JSON object in a file of the folder. UsageError if it holds anything else."""
    try:
        with open(path, encoding="utf-8") as file:
            return fields.mapped(json.load(file))
    except (ValueError, RecursionError, fields.Damaged) as error:
        raise UsageError(
            f"'{path}' is damaged: {error}", "remove it, or choose another folder with -o"
        ) from None


def bad_rows(folder: str, parts: list[str]) -> dict[str, int | None]:
    """Return the number of bad rows of each part, from `.bad` files or an existing manifest; None
    if unknown.
    """
    noted = {int(m[1]): int(m[2]) for m in map(BAD.match, os.listdir(folder)) if m}
    bad_counts: dict[str, int | None] = dict.fromkeys(parts)
    # without one, or with a damaged one, they are unknown
    with suppress(OSError, UsageError, fields.Damaged):
        manifest = read_document(os.path.join(folder, MANIFEST))
        if manifest.get("bad_rows") is not None:
            counts = fields.mapped(manifest.get("bad_rows_by_part", {}))
            names = map(fields.text, fields.listed(manifest.get("parts")))
            bad_counts = {name: fields.integer(counts.get(name, 0)) for name in names}
    return {name: noted.get(int(name[5:17]), bad_counts.get(name)) for name in parts}


def is_unfinished(name: str) -> bool:
    """Whether a file is a temporary one of an interrupted run."""
    return name.startswith(".unfinished")


def remove(folder: str, wanted: Callable[[str], object]) -> None:
    """Remove the files with the wanted names."""
    for name in filter(wanted, os.listdir(folder)):
        os.unlink(os.path.join(folder, name))
