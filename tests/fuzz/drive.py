"""One chunk of executions: `python -m tests.fuzz.drive TARGET COUNT SEED FOLDER WALL`.

WALL is the one that stands, "language" or "kernel". With the language's wall the executions run in this process, which
the kernel does not confine. Before each one its input is written to FOLDER/last, so that the parent process can tell
what ended it. With the kernel's wall a program is plain Python; confined children run a few executions each, and end
as they like: what must hold is seen from outside.

The last line of output is JSON: how many were run, and the crashes.
"""

from __future__ import annotations

import contextlib
import gc
import json
import mmap
import os
import resource
import signal
import sys
import time
import traceback
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz import doors, families
from tests.fuzz.targets import TARGETS, Target

SECONDS = 5.0  # more is a hang
ADDRESSES = 4_000_000_000  # bytes of address space: what has no limit of its own fails by this one
GROWTH = 1_000_000_000  # bytes of memory that a chunk may take over its start
SHORT = 0.15  # seconds of an execution in a confined child, where none is a hang
A_CHILD = 100  # executions of a confined child: what one program breaks is whole again for the next child
PATIENCE = 60.0  # seconds of a confined child
TESTS = Path(__file__).resolve().parents[1]


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
            crashes.append({"kind": "grown", "text": f"{resident() - before} bytes", "input": repr(made)})
            break
    return {"done": number + 1, "crashes": crashes, "grown": resident() - before}


def once(target: Target, made: Any, seconds: float = SECONDS) -> dict[str, str] | None:
    """What is wrong with an execution, or None."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    start = time.perf_counter()
    try:
        target.run(made)
    except Hang:
        return {"kind": "hang", "text": f"{time.perf_counter() - start:.1f} s"}
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        kind = f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}"
        return {"kind": kind, "text": "".join(traceback.format_exception(error))[-2500:]}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return None


# ---- the kernel's wall alone


def confined_chunk(target: Target, count: int, seed: int, folder: Path) -> dict[str, Any]:
    """Run `count` inputs of a target in confined children without the language's wall."""
    sys.path.insert(0, str(TESTS / "attacks"))
    import no_language  # noqa: F401

    for text in (doors.START + doors.ARRAYS + doors.FIGURES, families.START, families.LOADED):
        doors.run(text)  # loads what most programs need, once for all children
    target.make(Random(seed))  # reads the corpus
    gc.freeze()
    started = mmap.mmap(-1, 8)  # shared: how many executions a child has begun
    done = 0
    for first in range(0, count, A_CHILD):
        size = min(A_CHILD, count - first)
        pid = os.fork()
        if pid == 0:
            run_confined(target, size, seed + first, folder, started)
        wait_for(pid)
        done += int.from_bytes(started[:8], "little")
        started[:8] = bytes(8)
    return {"done": done, "crashes": [], "grown": 0}


def run_confined(target: Target, count: int, seed: int, folder: Path, started: mmap.mmap) -> None:
    """Give up the rights, run the inputs, and end, whatever the programs do."""
    from gradtrace.sandbox import confine, kernel

    os.setpgid(0, 0)
    rng = Random(seed)
    walls = confine.confine(
        kernel.Rights(read=(str(TESTS), str(TESTS.parent / "examples")), write=(str(folder),)), kept=()
    )
    assert walls.stands
    signal.signal(signal.SIGALRM, alarmed)
    for number in range(count):
        started[:8] = (number + 1).to_bytes(8, "little")
        with contextlib.suppress(BaseException):
            once(target, target.make(rng), SHORT)
    os._exit(0)


def wait_for(pid: int) -> None:
    end = time.monotonic() + PATIENCE
    while not os.waitpid(pid, os.WNOHANG)[0]:
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return
        time.sleep(0.002)


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    name, count, seed, folder, wall = sys.argv[1:]
    here = Path(folder) / "here"
    here.mkdir()
    os.chdir(here)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    with contextlib.redirect_stdout(sys.stderr):
        if wall == "kernel":
            found = confined_chunk(TARGETS[name], int(count), int(seed), here)
        else:
            found = chunk(TARGETS[name], int(count), int(seed), Path(folder) / "last")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
