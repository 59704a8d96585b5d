"""Figures made of measurements: medians, paired ratios, whether the peers agree, and what became slower.

Results are plain data, as they stand in JSON:

    {"schema": "gradtrace/benchmarks", "version": 1, "machine": {...},
     "jobs": {JOB: {"rounds": 5, "agree": true,
                    "peers": {PEER: {"seconds": 1.0, "bytes": null, "check": 2.5, "best": 0.9}},
                    "ratios": {PEER: {"seconds": 0.5, "best": 0.49, "bytes": null}},
                    "threads": {"default threads": {"seconds": 1.0, "best": 1.0, "cpu": 1.0}, ...},
                    "machine": {...}}}}  # only of a job that was measured on another machine

`peers` has the medians of the rounds, and as `best` the shortest time of all. A ratio is gradtrace over the peer: the
median of the rounds' own ratios, so that what slows the machine for a while slows both; `best` is the ratio of the
shortest times. `threads` has gradtrace's times in the other settings over those with one thread on an idle machine;
`cpu` is the ratio of the processor times of the whole processes.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.measure import SETTINGS, Figures, Rounds
from benchmarks.table import JOBS, OURS, Job, Target

SCHEMA = {"schema": "gradtrace/benchmarks", "version": 1}
Results = dict[str, Any]


def summary(job: Job, found: Rounds) -> Results:
    """One job's entry."""
    ours = found[OURS]
    return {
        "rounds": len(ours),
        "agree": agreement(job, found),
        "peers": {peer: medians(rounds) for peer, rounds in found.items() if peer in job.peers},
        "ratios": {
            peer: ratios(ours, rounds)
            for peer, rounds in found.items()
            if peer in job.peers and peer != OURS
        },
        "threads": {
            setting.title: ratios(found[setting.title], ours)
            for setting in SETTINGS
            if setting.title in found
        },
    }


def medians(rounds: list[Figures]) -> dict[str, float | None]:
    found = {
        name: median_of([getattr(figures, name) for figures in rounds]) for name in Figures._fields
    }
    return {**found, "best": min(figures.shortest for figures in rounds)}


def median_of(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def ratios(ours: list[Figures], theirs: list[Figures]) -> dict[str, float | None]:
    pairs = list(zip(ours, theirs, strict=True))
    return {
        "seconds": median(a.seconds / b.seconds for a, b in pairs),
        "best": min(a.shortest for a in ours) / min(b.shortest for b in theirs),
        "bytes": median_of(
            [a.bytes / b.bytes if a.bytes is not None and b.bytes else None for a, b in pairs]
        ),
        "cpu": median_of(
            [a.cpu / b.cpu if a.cpu is not None and b.cpu else None for a, b in pairs]
        ),
    }


def agreement(job: Job, found: Rounds) -> bool | None:
    """Whether all peers came to the same result; None where they print none."""
    checks = [
        figures.check
        for rounds in found.values()
        for figures in rounds
        if figures.check is not None
    ]
    if not checks:
        return None
    size = max(map(abs, checks))
    return max(checks) - min(checks) <= job.agree * size


def together(results: Results, older: Results | None) -> Results:
    """`results` with the older figures of jobs that were not run; those of another machine name it as `machine`."""
    if older is None:
        return results
    jobs = {
        name: {**entry, "machine": machine_of(older, entry)}
        for name, entry in older["jobs"].items()
    }
    for entry in jobs.values():
        if entry["machine"] == results["machine"]:
            del entry["machine"]
    jobs.update(results["jobs"])
    return {**results, "jobs": {name: jobs[name] for name in JOBS if name in jobs}}


def machine_of(results: Results, entry: Results) -> dict[str, str]:
    """Return the machine on which the figures of one job were measured."""
    found: dict[str, str] = entry.get("machine", results["machine"])
    return found


def load(path: Path) -> Results:
    """Results from a file. SystemExit when it is none of ours."""
    try:
        found: Results = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise SystemExit(f"{path}: {error}") from None
    if {name: found.get(name) for name in SCHEMA} != SCHEMA:
        raise SystemExit(f"{path}: no results of `python -m benchmarks --json`")
    return found


def save(path: Path, results: Results) -> None:
    path.write_text(json.dumps(results, indent=1) + "\n")


def slower(name: str, now: Results, before: Results, tolerance: float) -> list[str]:
    """What of a job became slower (or larger) than before, in words.

    Ratios are compared, so the baseline may come from another machine of the kind. A slowdown must show in the median
    as well as in the shortest times: noise seldom lengthens both.
    """
    words = []
    for target in JOBS[name].targets or tuple(Target(peer, 0.0) for peer in now["ratios"]):
        new, old = now["ratios"].get(target.peer), before["ratios"].get(target.peer)
        if new is None or old is None:
            continue
        limit = 1 + tolerance
        figures = ("seconds", "best") if target.figure == "seconds" else ("bytes",)
        pairs = [(new[f], old[f]) for f in figures if new[f] is not None and old[f] is not None]
        if pairs and all(a > b * limit for a, b in pairs):
            what = "the time" if target.figure == "seconds" else "the memory"
            words.append(
                f"{name}: {what} over {target.peer}'s was {pairs[0][1]:.3g} and is {pairs[0][0]:.3g}"
            )
    return words
