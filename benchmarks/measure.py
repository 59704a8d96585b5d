"""Runs a job: each measurement in a process of its own, the peers taking turns.

The peers run with one thread on a machine that is otherwise idle. gradtrace runs in three further settings: with the
default number of threads, and with both beside a process that keeps one core busy.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.table import OURS, Job

HOME = Path(__file__).parent.parent
# One thread each; the jobs with more set that themselves.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
BUSY = [sys.executable, "-c", "while True: pass"]


class Setting(NamedTuple):
    """How many threads a process may have, and whether another process keeps a core busy meanwhile."""

    default_threads: bool = False
    busy: bool = False

    @property
    def title(self) -> str:
        threads = "default threads" if self.default_threads else "one thread"
        return f"{threads}, busy" if self.busy else threads


ALONE = Setting()
SETTINGS = (
    Setting(True),
    Setting(busy=True),
    Setting(True, True),
)  # of gradtrace, beside the one of all peers


class Figures(NamedTuple):
    """What one process reported."""

    seconds: float  # the median, where the process runs its program several times
    bytes: float | None = None  # memory above what the imports took
    check: float | None = None  # a sum over the result
    best: float | None = None  # the shortest time, where the process runs its program several times
    cpu: float | None = None  # processor time of the whole process

    @property
    def shortest(self) -> float:
        return self.seconds if self.best is None else self.best


Rounds = dict[
    str, list[Figures]
]  # of each peer, and of gradtrace in each of SETTINGS, one entry for each round


def run_job(
    job: Job, rounds: int, interpreters: dict[str, str], tell: Callable[[str], None]
) -> Rounds:
    """Every peer's figures; a peer that is not installed is left out, and `tell` reports it."""
    results: Rounds = {peer: [] for peer in job.peers}
    spare = (
        job.most > 1
    )  # the first turn fills the file cache; a job of one round needs minutes without that
    for turn in range(min(rounds, job.most) + spare):
        for peer in job.peers:
            figures = (
                measure(job, peer, command_of(job, peer, interpreters)) if peer in results else None
            )
            if figures is None and peer in results:
                tell(f"  {peer}: not installed, left out")
                del results[peer]
            elif figures is not None and turn >= spare:
                results[peer].append(figures)
        for setting in SETTINGS if job.most > 1 and turn >= spare else ():
            figures = measure(job, OURS, command_of(job, OURS, interpreters), setting)
            assert figures is not None  # only a peer may be missing
            results.setdefault(setting.title, []).append(figures)
    return results


def command_of(job: Job, peer: str, interpreters: dict[str, str]) -> list[str]:
    python = interpreters.get(peer, sys.executable)
    return [python if part == "{python}" else part for part in job.peers[peer]]


@contextmanager
def busy_core(wanted: bool) -> Iterator[None]:
    """Keep one core busy for the duration of the block."""
    if not wanted:
        yield
        return
    with subprocess.Popen(BUSY) as process:
        try:
            yield
        finally:
            process.kill()


def processor_time() -> float:
    """Return the processor time of all processes that this one started and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(job: Job, peer: str, command: list[str], setting: Setting = ALONE) -> Figures | None:
    """One process: its figures, or None where the peer is not installed. SystemExit if it fails."""
    environment = {**os.environ, **job.environment, "PYTHONPATH": str(HOME)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    for name, value in ONE_THREAD.items():
        environment.pop(name, None)
        if not setting.default_threads:
            environment[name] = value
    with busy_core(setting.busy):
        cpu = processor_time()
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        seconds = time.perf_counter() - start
        cpu = processor_time() - cpu
    if done.returncode:
        if "ModuleNotFoundError" in done.stderr and peer != OURS:
            return None
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    if not job.whole:
        return Figures(**json.loads(done.stdout), cpu=cpu)
    if peer == OURS and job.says not in done.stdout:
        raise SystemExit(f"{' '.join(command)}\nprinted no {job.says!r}:\n{done.stdout}")
    return Figures(seconds, cpu=cpu)
