"""A table written as a folder of parts, so that a run that was stopped at any moment can be taken up again.

    OUT/fingerprint.json               what is computed from what: written first
    OUT/part-000000000000-000001000000.csv    rows from (included) to (excluded) of the input
    OUT/manifest.json                  the list of parts, written last: the table is whole

A part is written beside its name and renamed, so a part that is there is whole. `resume` computes those that are not
there. A folder of another fingerprint is left alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from gradtrace.batch.columns import Chunk
from gradtrace.batch.run import Done, Job, stretch
from gradtrace.batch.target import Target
from gradtrace.errors import UsageError

FINGERPRINT, MANIFEST = "fingerprint.json", "manifest.json"
PART = re.compile(r"part-(\d{12})-(\d{12})\.")


def fingerprint(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts with their digest."""
    text = json.dumps(facts, sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return {"schema": "gradtrace/fingerprint", "version": 1, "digest": digest, **facts}


def of_file(name: str) -> dict[str, Any]:
    """What tells an input from another: size and time of each of its files."""
    files = [name]
    if os.path.isdir(name):
        files = sorted(os.path.join(name, entry) for entry in os.listdir(name) if entry[0] not in "._")
    return {os.path.basename(f): [os.stat(f).st_size, os.stat(f).st_mtime_ns] for f in files}


def prepare(folder: str, facts: dict[str, Any], resume: bool) -> dict[int, int]:
    """Makes the folder ready; returns the parts that are there already: first row -> end."""
    os.makedirs(folder, exist_ok=True)
    clean(folder)
    made = fingerprint(facts)
    path = os.path.join(folder, FINGERPRINT)
    there = existing(folder)
    if os.path.exists(path) and (resume or there):
        with open(path, encoding="utf-8") as file:
            known = json.load(file)
        if not resume:
            raise UsageError(
                f"'{folder}' holds the parts of a run already", "take it up with --resume, or name another folder"
            )
        if known.get("digest") != made["digest"]:
            raise UsageError(
                f"'{folder}' holds the parts of another run: {difference(known, made)}", "name another folder with -o"
            )
    elif there:
        raise UsageError(f"'{folder}' holds parts of an unknown run", "name another folder with -o")
    write_json(path, made)
    return there


def difference(known: dict[str, Any], made: dict[str, Any]) -> str:
    """Which fact differs first."""
    for key in made:
        if key != "digest" and known.get(key) != made[key]:
            return f"its {key} differs"
    return "its fingerprint differs"


def existing(folder: str) -> dict[int, int]:
    found = (PART.match(name) for name in os.listdir(folder))
    return {int(m[1]): int(m[2]) for m in found if m}


def write_json(path: str, document: dict[str, Any]) -> None:
    beside = f"{path}.{os.getpid()}.tmp"
    with open(beside, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
    os.replace(beside, path)


def run(
    job: Job,
    reader: Any,
    folder: str,
    kind: str,
    part_rows: int,
    there: dict[int, int],
    size: int,
    done: Done,
    progress: Callable[[int], None],
) -> None:
    """Writes the parts that are not there. `size` rows are read at a time, a divisor of `part_rows`."""
    skip = 0
    while there.get(skip) == skip + part_rows:
        skip += part_rows
    done.rows += skip
    done.there += skip
    chunks = reader.chunks(size, skip)
    for chunk in chunks:
        if chunk.first not in there:
            one(job, chain([chunk], chunks), folder, kind, part_rows, done, progress)
            continue
        last = there[chunk.first]
        done.rows += last - chunk.first
        done.there += last - chunk.first
        while chunk.first + chunk.size < last:
            chunk = next(chunks)


def one(
    job: Job,
    chunks: Iterator[Chunk],
    folder: str,
    kind: str,
    part_rows: int,
    done: Done,
    progress: Callable[[int], None] = lambda rows: None,
) -> None:
    """Writes one part, of the rows that come first; takes no more of the chunks than it needs."""
    first = next(chunks, None)
    if first is None:
        return
    end = first.first
    target = Target(os.path.join(folder, f"unfinished-{first.first:012d}.{kind}"), kind)
    with target as writer:
        for chunk in chain([first], chunks):
            stretch(job, chunk, writer, done)
            progress(done.rows)
            end = chunk.first + chunk.size
            if end >= first.first + part_rows:
                break
        target.name = os.path.join(folder, f"part-{first.first:012d}-{end:012d}.{kind}")


def finish(folder: str, done: Done, all_seen: bool) -> None:
    """Writes the manifest: the table is whole. Bad rows are counted only where this run has seen all parts."""
    parts = sorted(name for name in os.listdir(folder) if PART.match(name))
    clean(folder)
    write_json(
        os.path.join(folder, MANIFEST),
        {
            "schema": "gradtrace/manifest",
            "version": 1,
            "rows": done.rows,
            "bad_rows": done.bad if all_seen else None,
            "parts": parts,
        },
    )


def clean(folder: str) -> None:
    """Removes what runs that were killed have left."""
    for name in os.listdir(folder):
        if name.startswith(".unfinished"):
            os.unlink(os.path.join(folder, name))
