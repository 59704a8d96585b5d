"""Times gradtrace beside its peers: each measurement in a process of its own, the peers taking turns.

    python benchmarks/run.py [JOB ...] [--rounds N] [--peer torch=/path/to/python]

A peer that is not installed is left out, with a line that says so. `--peer` names another interpreter to run one in.
The figures are medians over the rounds; a ratio is the median of the rounds' own ratios, gradtrace over the peer, so
what slows the machine for a while slows both. There is no pass or fail here.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
EXPRESSION = ["(x+w)*(w+1)", "--x", "2", "--w", "1"]
# What the installed command runs; `python -m` would import more than that.
COMMAND = ["{python}", "-c", "from gradtrace.cli.main import main; main()"]

PEERS = ("gradtrace", "torch", "autograd", "numpy", "floats")


class Job(NamedTuple):
    title: str
    unit: str
    peers: dict[str, list[str]]  # what to run for each peer; "{python}" is its interpreter
    whole: bool = False  # the time of the whole process, not what it prints


def script(name: str, *arguments: object, peers: tuple[str, ...] = PEERS) -> dict[str, list[str]]:
    return {p: run_script(name, p, *arguments) for p in peers}


def run_script(name: str, peer: str, *arguments: object) -> list[str]:
    return ["{python}", str(HERE / "jobs" / f"{name}.py"), peer, *map(str, arguments)]


def without(peers: dict[str, list[str]], *names: str) -> dict[str, list[str]]:
    return {name: command for name, command in peers.items() if name not in names}


JOBS = {
    "start": Job("cold start of the scalar eval, whole process", "ms", {
        "gradtrace": [*COMMAND, "eval", *EXPRESSION],
        "python": ["{python}", "-c", "pass"],
        "click": ["{python}", "-c", "import click"],
        "numpy": ["{python}", "-c", "import numpy"],
        "torch": ["{python}", "-c", "import torch"],
    }, whole=True),
    "start-array": Job("cold start of the same with arrays, whole process", "ms", {
        "gradtrace": [*COMMAND, "eval", EXPRESSION[0], "--x", "2,3", "--w", "1,1", "--grad-tensors", "1,1"],
        "numpy": ["{python}", "-c", "import numpy, click"],
    }, whole=True),
    "scalar": Job("forward + backward per operation, float64 scalars, 1,000 mixed operations", "us",
                  script("mixed_ops", 0, 1000)),
    "ten": Job("forward + backward per operation, 10 elements, 1,000 mixed operations", "us",
               without(script("mixed_ops", 10, 1000), "floats")),
    "million": Job("1,000,000 scalar operations forward + backward", "s",
                   without(script("long_chain", 1_000_000), "autograd", "numpy", "floats")),
    "loop": Job("a pass of a loop in the language, beside Python's own", "us",
                {peer: run_script("language", peer, "loop", 1_000_000) for peer in ("gradtrace", "python")}),
    "statement": Job("three statements on 10 elements in the language, beside the same from Python", "us",
                     {peer: run_script("language", peer, "statement", 50_000) for peer in ("gradtrace", "python")}),
    "repeated": Job("(x+w)*(w+1) and its gradients, 100,000 runs of one plan, per run", "us",
                    script("repeated", 100_000, peers=("gradtrace", "eager", "torch", "floats"))),
    "rows": Job("Black-Scholes value and 5 gradients by row, 1,000,000 rows", "s",
                without(script("black_scholes", 1_000_000), "floats")),
    "rows-large": Job("the same, 10,000,000 rows", "s",
                      without(script("black_scholes", 10_000_000), "floats", "autograd")),
    "rows-threads": Job("the same, 10,000,000 rows, two threads", "s",
                        script("black_scholes", 10_000_000, 2, peers=("gradtrace", "torch"))),
}
SCALE = {"ms": 1e3, "us": 1e-3, "s": 1.0}


def measure(job: Job, command: list[str]) -> list[float] | None:
    """One run: its figures, the first in the job's unit; None where the peer is not installed."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(HERE.parent)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    seconds = time.perf_counter() - start
    if done.returncode:
        if "ModuleNotFoundError" in done.stderr:
            return None
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    if job.whole:
        return [seconds * SCALE[job.unit]]
    first, *others = map(float, done.stdout.split())
    return [first * SCALE[job.unit], *others]


def compare(job: Job, rounds: int, interpreters: dict[str, str]) -> dict[str, list[list[float]]]:
    """Every peer's figures, a list for each round; the peers take turns within a round."""
    found: dict[str, list[list[float]]] = {peer: [] for peer in job.peers}
    for turn in range(rounds + 1):
        for peer in list(found):
            python = interpreters.get(peer, sys.executable)
            figures = measure(job, [python if part == "{python}" else part for part in job.peers[peer]])
            if figures is None:
                print(f"  {peer}: not installed, left out")
                del found[peer]
            elif turn:  # the first turn fills the file cache
                found[peer].append(figures)
    return found


def ratio(ours: list[list[float]], theirs: list[list[float]], column: int) -> str:
    return f"   ratio {statistics.median(a[column] / b[column] for a, b in zip(ours, theirs, strict=True)):6.3f}"


def report(job: Job, found: dict[str, list[list[float]]]) -> None:
    ours = found["gradtrace"]
    with_memory = len(ours[0]) == 3
    for peer, rows in found.items():
        own = peer == "gradtrace"
        line = f"  {peer:10} {statistics.median(row[0] for row in rows):10.3f} {job.unit}"
        line += "" if own else ratio(ours, rows, 0)
        if with_memory:
            line += f"   {statistics.median(row[1] for row in rows) / 2**20:8.0f} MiB"
            line += "" if own else ratio(ours, rows, 1)
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", nargs="*", choices=[*JOBS, []], help="all, unless named")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each peer (default 5)")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON", help="an interpreter for a peer")
    options = parser.parse_args()
    interpreters = dict(text.split("=", 1) for text in options.peer)
    for name in options.jobs or JOBS:
        print(f"{name}: {JOBS[name].title}")
        report(JOBS[name], compare(JOBS[name], options.rounds, interpreters))


if __name__ == "__main__":
    main()
