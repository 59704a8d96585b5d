"""python -m tests.differential --programs 10000 --seed 0: random programs in gradtrace and in the real PyTorch."""

from __future__ import annotations

import argparse
import collections
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

from . import explained, programs


class Outcome(NamedTuple):
    statements: int
    found: programs.Difference | None


def one(seed: int) -> Outcome:
    """One program in both libraries, in whatever process."""
    import torch

    import gradtrace

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    found, ran = programs.run(seed, gradtrace, torch)
    return Outcome(ran, found and programs.shrink(found, gradtrace, torch))


def outcomes(seeds: range, jobs: int) -> Iterator[Outcome]:
    if jobs == 1:
        yield from map(one, seeds)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(one, seeds, chunksize=20)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument(
        "--seed", type=int, default=0, help="of the first program; the others follow"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument(
        "--show", type=int, default=20, help="print so many kinds of differences in full"
    )
    parser.add_argument(
        "--tolerate", type=int, default=0, help="so many unexplained differences are no failure"
    )
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        print("differential test skipped: PyTorch is not installed (pip install torch==2.13.0)")
        return 0
    kinds: collections.Counter[str] = collections.Counter()
    known: collections.Counter[str] = collections.Counter()
    statements = 0
    for outcome in outcomes(range(options.seed, options.seed + options.programs), options.jobs):
        statements += outcome.statements
        found = outcome.found
        if found is None:
            continue
        why = explained.reason(found.what, "\n".join(found.statements))
        if why:
            known[why] += 1
            continue
        kind = programs.kind(found.what)
        kinds[kind] += 1
        if kinds[kind] == 1 and len(kinds) <= options.show:
            print(f"--- seed {found.seed}", *found.statements, found.what, sep="\n", flush=True)
    for why, count in known.most_common():
        print(f"{count:6} explained: {why}")
    for kind, count in kinds.most_common():
        print(f"{count:6} {kind}")
    unexplained = sum(kinds.values())
    print(
        f"{options.programs} random programs ({statements} statements) from seed {options.seed}, gradtrace against "
        f"PyTorch {torch.__version__}: {known.total()} differ as explained, {unexplained} otherwise"
    )
    return 1 if unexplained > options.tolerate else 0


if __name__ == "__main__":
    sys.exit(main())
