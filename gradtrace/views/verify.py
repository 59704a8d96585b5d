"""The cells of a note, and whether each prints its recorded output.

The JSON document has `schema` "gradtrace/verify", `version`, file, passed, `compared` (how many
cells were), counts by verdict, and `cells` [{label, line, verdict, detail, recorded, printed}].
Verdicts: "same", "addresses", "random", "version", "run twice" (all fine), "no record", "not run",
and "differs", "failed", "refused".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gradtrace.views import layout, rows
from gradtrace.views.cells import visible, wrap
from gradtrace.views.layout import Cell, LayoutOptions, paint, right

COLUMNS = ("cell", "line", "verdict", "detail")
STYLES = {
    **dict.fromkeys(("same", "addresses", "random"), "green"),
    **dict.fromkeys(("version", "run twice"), "yellow"),
    **dict.fromkeys(("no record", "not run"), "dim"),
    **dict.fromkeys(("differs", "failed", "refused"), "red"),
}


def text(name: str, checks: Sequence[Any], options: LayoutOptions) -> str:
    return layout.joined(lines(name, checks, options))


def lines(name: str, checks: Sequence[Any], options: LayoutOptions) -> Iterator[str]:
    yield from layout.table(
        checks,
        {
            "cell": lambda c: c.cell.label,
            "line": lambda c: right(c.cell.line, "dim"),
            "verdict": lambda c: Cell(c.verdict, STYLES[c.verdict]),
            "detail": lambda c: visible(c.detail),
        },
        options,
        {"detail": 20},
    )
    for c in checks:
        if not c.passed or c.verdict in ("version", "run twice"):
            yield ""
            yield paint(f"{c.cell.label}: {c.verdict}", "bold", options)
            yield from wrap(visible(c.detail), options.width or 100)
            yield from shown("recorded", c.cell.record, options)
            yield from shown("now", c.printed or "(nothing)", options)
    yield ""
    counts = tally(checks)
    yield f"{visible(name)}: " + ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
    if not any(c.compared for c in checks):
        yield "nothing was compared: no cell that ran has a record of what it prints"
    versions = counts.get("version", 0)
    if versions and all(c.passed for c in checks):
        yield (
            f"nothing differs but what today's PyTorch writes otherwise ({versions}; --strict "
            "counts it)"
        )


def shown(title: str, content: str | None, options: LayoutOptions) -> Iterator[str]:
    if content is None:
        return
    yield paint(f"  {title}:", "dim", options)
    for line in content.rstrip("\n").split("\n"):
        for part in wrap(visible(line), (options.width or 100) - 4):
            yield "    " + part


def tally(checks: Sequence[Any]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for c in checks:
        counts[c.verdict] = counts.get(c.verdict, 0) + 1
    return counts


def render(name: str, checks: Sequence[Any], format: str) -> str:
    names = "label=cell.label line=cell.line verdict detail recorded=cell.record printed"
    document = {
        "file": name,
        "passed": all(c.passed for c in checks) and any(c.compared for c in checks),
        "compared": sum(c.compared for c in checks),
        "counts": tally(checks),
        "cells": [rows.fields(c, names) for c in checks],
    }
    body = [(c.cell.label, c.cell.line, c.verdict, c.detail) for c in checks]
    return rows.write(rows.Results("gradtrace/verify", document, "cells", COLUMNS, body), format)
