"""Runs a job: each measurement in a process of its own, the peers taking turns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks.table import OURS, Job

HOME = Path(__file__).parent.parent
# One thread each; the jobs with more set that themselves.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class Figures(NamedTuple):
    """What one process reported."""

    seconds: float  # the median, where the process runs its program several times
    bytes: float | None = None  # memory above what the imports took
    check: float | None = None  # a sum over the result
    best: float | None = None  # the shortest time, where the process runs its program several times

    @property
    def shortest(self) -> float:
        return self.seconds if self.best is None else self.best


Rounds = dict[str, list[Figures]]  # of each peer, one entry for each round


def run_job(job: Job, rounds: int, interpreters: dict[str, str], tell: Callable[[str], None]) -> Rounds:
    """Every peer's figures; a peer that is not installed is left out, and `tell` reports it."""
    found: Rounds = {peer: [] for peer in job.peers}
    spare = job.most > 1  # the first turn fills the file cache; a job of one round needs minutes without that
    for turn in range(min(rounds, job.most) + spare):
        for peer in list(found):
            python = interpreters.get(peer, sys.executable)
            figures = measure(job, peer, [python if part == "{python}" else part for part in job.peers[peer]])
            if figures is None:
                tell(f"  {peer}: not installed, left out")
                del found[peer]
            elif turn >= spare:
                found[peer].append(figures)
    return found


def measure(job: Job, peer: str, command: list[str]) -> Figures | None:
    """One process: its figures, or None where the peer is not installed. SystemExit if it fails."""
    environment = {**os.environ, **ONE_THREAD, **job.environment, "PYTHONPATH": str(HOME)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    seconds = time.perf_counter() - start
    if done.returncode:
        if "ModuleNotFoundError" in done.stderr and peer != OURS:
            return None
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    if not job.whole:
        return Figures(**json.loads(done.stdout))
    if peer == OURS and job.says not in done.stdout:
        raise SystemExit(f"{' '.join(command)}\nprinted no {job.says!r}:\n{done.stdout}")
    return Figures(seconds)
