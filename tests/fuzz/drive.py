"""One chunk of executions: `python -m tests.fuzz.drive TARGET COUNT SEED FOLDER`.

Before each execution its input is written to FOLDER/last, so that the parent process can tell what ended it. The last
line of output is JSON: how many were run, and the crashes.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
import time
import traceback
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.targets import TARGETS, Target

SECONDS = 5.0  # more is a hang
ADDRESSES = 4_000_000_000  # bytes of address space: what has no limit of its own fails by this one
GROWTH = 1_000_000_000  # bytes of memory that a chunk may take over its start


class Hang(BaseException):
    """An execution took longer than SECONDS."""


def alarmed(*_: object) -> None:
    raise Hang


def chunk(target: Target, count: int, seed: int, last: Path | None = None) -> dict[str, Any]:
    """Runs `count` inputs of a target. {"done", "crashes": [{"kind", "text", "input"}], "grown"}."""
    rng, crashes, before = Random(seed), [], resident()
    signal.signal(signal.SIGALRM, alarmed)
    note = None if last is None else last.open("wb", buffering=0)
    for number in range(count):
        made = target.make(rng)
        if note is not None:
            note.seek(0)
            note.truncate()
            note.write(repr(made).encode("utf-8", "surrogatepass"))
        found = once(target, made)
        if found is not None:
            crashes.append({**found, "input": repr(made)})
        if number % 500 == 499 and resident() - before > GROWTH:
            crashes.append(
                {"kind": "grown", "text": f"{resident() - before} bytes", "input": repr(made)}
            )
            break
    return {"done": number + 1, "crashes": crashes, "grown": resident() - before}


def once(target: Target, made: Any, seconds: float = SECONDS) -> dict[str, str] | None:
    """What is wrong with an execution, or None."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    start = time.perf_counter()
    try:
        target.run(made)
    except Hang:
        taken = time.perf_counter() - start
        # sooner, it was a late alarm of the program's own run
        return {"kind": "hang", "text": f"{taken:.1f} s"} if taken > seconds / 2 else None
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        kind = f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}"
        return {"kind": kind, "text": "".join(traceback.format_exception(error))[-2500:]}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return None


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    name, count, seed, folder = sys.argv[1:]
    here = Path(folder) / "here"
    here.mkdir()
    os.chdir(here)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    with contextlib.redirect_stdout(sys.stderr):
        found = chunk(TARGETS[name], int(count), int(seed), Path(folder) / "last")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
