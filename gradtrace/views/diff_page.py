"""A comparison as one HTML file: the two programs side by side, and below them the aligned tensors.

Lines and rows are coloured by the size of the difference. A click on a line or a row marks what
belongs to it in both programs; the page opens at the first difference. It loads nothing from the
network.
"""

from __future__ import annotations

from html import escape
from math import log10
from typing import Any

from gradtrace.analysis.compare.rows import CHANGED, FIRST, SAME, SECOND, Row
from gradtrace.analysis.compare.verdict import Verdict
from gradtrace.trace.record import Span, Trace
from gradtrace.views.cells import visible
from gradtrace.views.diff import amount, verdict_lines
from gradtrace.views.labels import clip
from gradtrace.views.page import POLICY, embedded, own_file

ROWS = 5_000  # of the table; of a longer run those around the first difference
COLOURS = 4  # levels of the size of a difference
Places = list[tuple[str, int]]  # of a row: file and line in A, then in B


def page(verdict: Verdict, a: Trace, b: Trace) -> str:
    """Return the page of a comparison."""
    chosen = rows_around(verdict)
    lines = tuple(
        [line_of(trace, span_of(trace, r, side)) for r in chosen]
        for side, trace in enumerate((a, b))
    )
    first = verdict.differences[0] if verdict.differences else None
    places = [
        None if place is None else (place.file, place.line)
        for place in ((first.a, first.b) if first else ())
    ]
    head = list(verdict_lines(verdict, a, b))
    data = {"lines": lines, "first": places, "row": first_row(verdict, chosen)}
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(visible(f'{a.source_name} and {b.source_name}'))} – gradtrace "
            "diff</title>",
            f"<style>\n{own_file('diff.css')}</style></head><body>",
            f"<header><h1>{escape(head[0])}</h1><pre>{escape(chr(10).join(head[1:]))}</pre></header>",
            f"<main>{program(a, 'A', 'a', chosen, lines[0])}{program(b, 'B', 'b', chosen, lines[1])}</main>",
            table(chosen, lines),
            f'<script type="application/json" id="data">{embedded(data)}</script>',
            f"<script>\n{own_file('diff.js')}</script>",
            "</body></html>",
            "",
        ]
    )


def rows_around(verdict: Verdict) -> list[Row]:
    """Return the rows to show: all of them, or of a long run those from a little before the first
    difference.
    """
    if len(verdict.rows) <= ROWS:
        return list(verdict.rows)
    start = max(0, (first_row(verdict, list(verdict.rows)) or 0) - ROWS // 2)
    return list(verdict.rows[start : start + ROWS])


def first_row(verdict: Verdict, chosen: list[Row]) -> int | None:
    """Return the number of the row that the first difference is in; None if no row shows it."""
    places = [(d.a, d.b) for d in verdict.differences[:1]]
    for a, b in places:
        for n, r in enumerate(chosen):
            pairs = zip((a, b), (r.first, r.second), r.operations, strict=True)
            if any(
                p is not None and (p.tensor == t if p.operation is None else p.operation == o)
                for p, t, o in pairs
            ):
                return n
    return None


def span_of(trace: Trace, row: Row, side: int) -> Span | None:
    operation = row.operations[side]
    tensor = (row.first, row.second)[side]
    if operation is not None:
        return trace.operations[operation].span
    return None if tensor is None else trace.tensors[tensor].span


def line_of(trace: Trace, span: Span | None) -> tuple[str, int] | None:
    return None if span is None else (span.file or trace.source_name, span.line)


def level(row: Row) -> str:
    """Return the class of a row's colour: "d0" equal to the bit, "d1" within the tolerance, up to
    "d4".
    """
    if row.status != CHANGED:
        return {FIRST: "only-a", SECOND: "only-b"}.get(row.status, "d1" if row.gap else "d0")
    gap = min(max(row.gap or 1.0, 1e-6), 1.0)
    return f"d{2 + round((COLOURS - 2) * (log10(gap) + 6) / 6)}"


def program(trace: Trace, name: str, key: str, chosen: list[Row], lines: list[Any]) -> str:
    """Return the texts of a run's files, each line coloured by the largest difference of what it
    computed.
    """
    worst: dict[tuple[str, int], str] = {}
    for row, line in zip(chosen, lines, strict=True):
        if line is not None:
            worst[line] = max(worst.get(line, ""), level(row))
    parts = [f'<section id="{key}"><h2>{name}: {escape(visible(trace.source_name))}</h2>']
    for file, content in ((trace.source_name, trace.source_text), *trace.files):
        if not content or (
            file != trace.source_name and not any(file == path for path, _ in worst)
        ):
            continue
        if file != trace.source_name:
            parts.append(f"<h3>{escape(visible(file))}</h3>")
        for number, text in enumerate(content.splitlines(), 1):
            colour = worst.get((file, number), "")
            parts.append(
                f'<div class="line {colour}" data-file="{escape(file)}" data-line="{number}">'
                f"<i>{number}</i><code>{escape(visible(text))}</code></div>"
            )
    return "".join([*parts, "</section>"])


def gap_text(gap: float) -> str:
    return amount(gap) if gap else "equal"


def table(chosen: list[Row], lines: tuple[list[Any], ...]) -> str:
    """Return the aligned tensors, a row each."""
    parts = [
        "<table><thead><tr><th>A<th>line<th>operation<th>value<th>gradient<th>line<th>B</tr></thead><tbody>"
    ]
    for n, row in enumerate(chosen):
        numbers = ["" if line[n] is None else str(line[n][1]) for line in lines]
        label = escape(visible(clip(row.label)))
        first, second = ("" if tensor is None else label for tensor in (row.first, row.second))
        gaps = ["" if gap is None else gap_text(gap) for gap in row.gaps]
        value, grad = gaps if row.status in (SAME, CHANGED) else (row.status, "")
        parts.append(
            f'<tr class="{level(row)}" data-row="{n}"><td>{first}<td>{numbers[0]}<td>{escape(visible(row.op))}'
            f"<td>{value}<td>{grad}<td>{numbers[1]}<td>{second}</tr>"
        )
    return "".join([*parts, "</tbody></table>"])
