"""Times gradtrace beside its peers: each measurement in a process of its own, the peers taking turns.

    python -m benchmarks                          # every job, 5 rounds
    python -m benchmarks scalar ten --rounds 9
    python -m benchmarks --peer torch=/path/to/python --json figures.json
    python -m benchmarks --compare                # with benchmarks/baseline.json; exit code 1 if something is slower
    python -m benchmarks mlp --save --write docs/performance.md

A peer that is not installed is left out, with a line that says so. `--peer` names another interpreter to run one in.
Exit code 1: the peers' results differ, or (with --compare) a job is slower than in the baseline.
"""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

from benchmarks import report
from benchmarks.machine import machine
from benchmarks.measure import run_job
from benchmarks.results import SCHEMA, Results, load, save, slower, summary, together
from benchmarks.table import JOBS

BASELINE = Path(__file__).parent / "baseline.json"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "jobs", nargs="*", metavar="JOB", help=f"all, unless named: {', '.join(JOBS)}"
    )
    parser.add_argument(
        "--rounds", type=int, default=5, help="measurements of each peer (default 5)"
    )
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        metavar="NAME=PYTHON",
        help="an interpreter for a peer",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    parser.add_argument(
        "--from",
        dest="source",
        type=Path,
        metavar="FILE",
        help="take results from there, run nothing",
    )
    parser.add_argument(
        "--save", action="store_true", help="make these figures the baseline of their jobs"
    )
    parser.add_argument(
        "--compare", type=Path, nargs="?", const=BASELINE, metavar="FILE", help="with a baseline"
    )
    parser.add_argument(
        "--tolerance", type=float, default=0.25, help="what --compare lets pass (default 0.25)"
    )
    parser.add_argument(
        "--write", type=Path, metavar="PAGE", help="put the baseline's table into a Markdown page"
    )
    options = parser.parse_args()
    unknown = [name for name in options.jobs if name not in JOBS]
    if unknown:
        parser.error(f"no job {unknown[0]!r}; there are {', '.join(JOBS)}")
    if options.rounds < 1:
        parser.error("--rounds: at least 1")
    if any("=" not in text for text in options.peer):
        parser.error("--peer: NAME=PYTHON, as torch=/path/to/python")
    return options


def measured(options: argparse.Namespace) -> Results:
    """The results of the jobs asked for, each told as soon as it is done."""
    interpreters = dict(text.split("=", 1) for text in options.peer)
    results: Results = {**SCHEMA, "machine": machine(interpreters), "jobs": {}}
    for name in options.jobs or JOBS:
        if JOBS[name].needs and find_spec(JOBS[name].needs) is None:
            print(f"{name}: {JOBS[name].needs} is not installed, left out")
            continue
        entry = summary(JOBS[name], run_job(JOBS[name], options.rounds, interpreters, print))
        results["jobs"][name] = entry
        print(report.text(name, entry), flush=True)
        if options.json:
            save(options.json, results)
    return results


def main() -> int:
    options = arguments()
    if options.source:
        results = load(options.source)
        for name, entry in results["jobs"].items():
            print(report.text(name, entry))
    else:
        results = measured(options)
    known = load(BASELINE) if BASELINE.exists() else None
    before = load(options.compare) if options.compare else None
    if options.save:
        known = together(results, known)
        save(BASELINE, known)
    if options.write:
        report.write(options.write, together(results, known))
    problems = [
        f"{name}: the results do not agree"
        for name, e in results["jobs"].items()
        if e["agree"] is False
    ]
    for name, entry in results["jobs"].items() if before else ():
        if name in before["jobs"]:
            problems += slower(name, entry, before["jobs"][name], options.tolerance)
        else:
            print(f"{name}: not in {options.compare}")
    for line in problems:
        print(line, file=sys.stderr)
    if before and not problems:
        print(f"nothing is slower than in {options.compare}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
