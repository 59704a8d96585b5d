"""Results as text for the terminal and as the table of docs/performance.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.measure import SETTINGS
from benchmarks.results import Results, machine_of
from benchmarks.table import JOBS, OURS, Target

UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9, "times": 1.0}
BEGIN, END = "<!-- figures: python -m benchmarks --write -->", "<!-- end of figures -->"
THREADS = """gradtrace's time in other settings over its time with one thread on an idle machine: with the default
number of threads, and both beside a process that keeps one core busy."""
HEAD = [
    "job",
    "peer",
    "ratio to reach",
    "ratio",
    "of the shortest times",
    "gradtrace",
    "the peer",
    "",
]


def text(name: str, entry: Results) -> str:
    """One job for the terminal."""
    job = JOBS[name]
    lines = [f"{name}: {job.title}"]
    for peer, figures in entry["peers"].items():
        line = f"  {peer:12} {shown_time(figures['seconds'], job.unit):>12}{shortest(figures, job.unit):18}"
        ratio = entry["ratios"].get(peer)
        line += (
            ""
            if ratio is None
            else f"   ratio {ratio['seconds']:6.3f}, of the shortest {ratio['best']:6.3f}"
        )
        if figures["bytes"] is not None:
            line += f"   {shown_bytes(figures['bytes']):>9}"
            line += (
                "" if ratio is None or ratio["bytes"] is None else f"   ratio {ratio['bytes']:6.3f}"
            )
        lines.append(line)
    for title, ratio in entry.get("threads", {}).items():
        line = f"  {title:24} time over one thread's {ratio['seconds']:.2f}, of the shortest {ratio['best']:.2f}"
        line += "" if ratio["cpu"] is None else f", processor time {ratio['cpu']:.2f}"
        lines.append(line)
    lines += [
        f"  {verdict(target, value)}"
        for target in job.targets
        if (value := reached(target, entry)) is not None
    ]
    if entry["agree"] is False:
        lines.append(
            "  THE RESULTS DO NOT AGREE: "
            + ", ".join(f"{peer} {figures['check']!r}" for peer, figures in entry["peers"].items())
        )
    return "\n".join(lines)


def reached(target: Target, entry: Results) -> float | None:
    ratio = entry["ratios"].get(target.peer)
    value: float | None = None if ratio is None else ratio[target.figure]
    return value


def verdict(target: Target, value: float) -> str:
    what = f"{'time' if target.figure == 'seconds' else 'memory'} over {target.peer}'s: {value:.3f}"
    return f"{what}, to reach {target.ratio}: {'reached' if value <= target.ratio else 'MISSED'}"


def shown_time(seconds: float, unit: str) -> str:
    return f"{seconds * UNITS[unit]:.4g} {unit}"


def shortest(figures: Results, unit: str) -> str:
    """The shortest time, in parentheses, to follow the median; nothing in results that do not have it."""
    best = figures.get("best")
    return "" if best is None else f" (best {best * UNITS[unit]:.4g})"


def shown_bytes(count: float) -> str:
    return f"{count / 2**20:.0f} MiB"


def table(results: Results) -> str:
    """Every target as a row of a Markdown table, the machines above it, jobs without a target below."""
    rows = [HEAD, ["---"] * len(HEAD)]
    others = [HEAD[:2] + HEAD[3:7], ["---"] * 6]
    threads = [["job", *(setting.title for setting in SETTINGS)], ["---"] * (len(SETTINGS) + 1)]
    machines: list[dict[str, str]] = []
    for name, entry in results["jobs"].items():
        own = machine_of(results, entry)
        machines += [] if own in machines else [own]
        number = machines.index(own) + 1
        title = JOBS[name].title + (f" [{number}]" if number > 1 else "")
        rows += [row(name, title, entry, target) for target in JOBS[name].targets]
        aimed = {target.peer for target in JOBS[name].targets}
        others += [
            bare_row(name, title, entry, peer) for peer in entry["ratios"] if peer not in aimed
        ]
        threads += [thread_row(title, entry["threads"])] if entry.get("threads") else []
    facts = [", ".join(f"{key} {value}" for key, value in one.items()) for one in machines]
    head = [
        f"Measured on: {one}." if n == 1 else f"Rows with [{n}] on: {one}."
        for n, one in enumerate(facts, 1)
    ]
    parts = [
        *head,
        "\n".join(lines(rows)),
        "Beside the other peers:",
        "\n".join(lines(others)),
        THREADS,
    ]
    return "\n\n".join([*parts, "\n".join(lines(threads))])


def row(name: str, title: str, entry: Results, target: Target) -> list[str]:
    value = reached(target, entry)
    if value is None:
        return [title, target.peer, f"{target.ratio:g}", "", "", "", "", "not measured"]
    what = "" if target.figure == "seconds" else ": memory"
    mark = "reached" if value <= target.ratio else f"missed by {value / target.ratio - 1:.0%}"
    return [
        title + what,
        target.peer,
        f"{target.ratio:g}",
        f"**{value:.3g}**",
        f"{entry['ratios'][target.peer]['best']:.3g}" if target.figure == "seconds" else "",
        figure(name, entry, OURS, target.figure),
        figure(name, entry, target.peer, target.figure),
        mark,
    ]


def bare_row(name: str, title: str, entry: Results, peer: str) -> list[str]:
    ratios = [f"{entry['ratios'][peer][which]:.3g}" for which in ("seconds", "best")]
    return [title, peer, *ratios, *(figure(name, entry, p, "seconds") for p in (OURS, peer))]


def thread_row(title: str, ratios: Results) -> list[str]:
    cells = []
    for setting in SETTINGS:
        ratio = ratios[setting.title]
        cells.append(f"{ratio['seconds']:.2f} (processor time {ratio['cpu']:.2f})")
    return [title, *cells]


def figure(name: str, entry: Results, peer: str, which: str) -> str:
    figures, unit = entry["peers"][peer], JOBS[name].unit
    value: Any = figures[which]
    return (
        shown_time(value, unit) + shortest(figures, unit)
        if which == "seconds"
        else shown_bytes(value)
    )


def lines(rows: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(cells) + " |" for cells in rows]


def write(path: Path, results: Results) -> None:
    """Puts the table between the two marks of a Markdown page. SystemExit when they are not there."""
    page = path.read_text() if path.exists() else ""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(
            f"{path}: has no lines `{BEGIN}` and `{END}` for the table to stand between"
        )
    path.write_text(f"{before}{BEGIN}\n{table(results)}\n{END}{after}")
