"""The comparison of several ranks as text or data: a row for each, with the first place where it
parts.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradtrace.analysis.compare.verdict import Ranks
from gradtrace.lazy_names import words
from gradtrace.views import layout, rows
from gradtrace.views.cells import visible
from gradtrace.views.diff import amount, cells_of, document_of, heading
from gradtrace.views.layout import LayoutOptions

COLUMNS = words("rank verdict kind step file line module op relative reason")


def ranks_text(ranks: Ranks, _: LayoutOptions) -> str:
    return layout.joined(lines(ranks))


def lines(ranks: Ranks) -> Iterator[str]:
    parted = [rank.name for rank in ranks.ranks if rank.first is not None]
    count = len(ranks.ranks)
    if not parted:
        yield f"equal within tolerance: {count} records" if count else "no records"
        return
    yield f"differ: {', '.join(map(visible, parted))} of {count} from {visible(ranks.reference)}"
    for rank in ranks.ranks:
        first = rank.first
        if first is None:
            yield (
                f"  {visible(rank.name)}  "
                f"{'the reference' if rank.verdict is None else rank.verdict.verdict}"
            )
            continue
        place = first.b or first.a
        where = (
            "" if place is None or place.line is None else f" at {visible(place.file)}:{place.line}"
        )
        size = (
            ""
            if first.relative is None
            else f", the relative difference is {amount(first.relative)}"
        )
        yield f"  {visible(rank.name)}  {heading(first)}{where}{size}"
        if first.reason:
            yield f"      {visible(first.reason)}"


def ranks_data(ranks: Ranks, format: str) -> str:
    listed = [
        {
            "rank": rank.name,
            "verdict": verdict_of(rank.first is None),
            "first": None if rank.first is None else document_of(rank.first),
        }
        for rank in ranks.ranks
    ]
    document = {"verdict": verdict_of(ranks.same), "reference": ranks.reference, "ranks": listed}
    body = (
        (
            rank.name,
            verdict_of(False),
            rank.first.kind,
            rank.first.step,
            *cells_of(rank.first.b),
            rank.first.relative,
            rank.first.reason,
        )
        if rank.first is not None
        else (rank.name, verdict_of(True), *[None] * 8)
        for rank in ranks.ranks
    )
    return rows.write(
        rows.Results("gradtrace/diff-ranks", document, "ranks", COLUMNS, body), format
    )


def verdict_of(same: bool) -> str:
    return "equal" if same else "differ"
