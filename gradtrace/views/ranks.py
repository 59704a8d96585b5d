"""The comparison of several ranks as text or data: a row for each, with the first place where it parts."""

from __future__ import annotations

from collections.abc import Iterator

from gradtrace.analysis.compare.ranks import Ranks
from gradtrace.lazy_names import words
from gradtrace.views import layout, rows
from gradtrace.views.cells import visible
from gradtrace.views.diff import amount, cells_of, document_of, heading
from gradtrace.views.layout import LayoutOptions

COLUMNS = words("rank verdict kind step file line module op relative reason")


def ranks_text(found: Ranks, _: LayoutOptions) -> str:
    return layout.joined(lines(found))


def lines(found: Ranks) -> Iterator[str]:
    parted = [one.name for one in found.ranks if one.first is not None]
    count = len(found.ranks)
    if not parted:
        yield f"equal within tolerance: {count} records" if count else "no records"
        return
    yield f"differ: {', '.join(map(visible, parted))} of {count} from {visible(found.reference)}"
    for one in found.ranks:
        first = one.first
        if first is None:
            yield f"  {visible(one.name)}  {'the reference' if one.found is None else one.found.verdict}"
            continue
        place = first.b or first.a
        where = "" if place is None or place.line is None else f" at {visible(place.file)}:{place.line}"
        size = "" if first.relative is None else f", the relative difference is {amount(first.relative)}"
        yield f"  {visible(one.name)}  {heading(first)}{where}{size}"
        if first.reason:
            yield f"      {visible(first.reason)}"


def ranks_data(found: Ranks, format: str) -> str:
    listed = [
        {
            "rank": one.name,
            "verdict": verdict_of(one.first is None),
            "first": None if one.first is None else document_of(one.first),
        }
        for one in found.ranks
    ]
    document = {"verdict": verdict_of(found.same), "reference": found.reference, "ranks": listed}
    body = (
        (
            one.name,
            verdict_of(False),
            one.first.kind,
            one.first.step,
            *cells_of(one.first.b),
            one.first.relative,
            one.first.reason,
        )
        if one.first is not None
        else (one.name, verdict_of(True), *[None] * 8)
        for one in found.ranks
    )
    return rows.write(rows.Results("gradtrace/diff-ranks", document, "ranks", COLUMNS, body), format)


def verdict_of(same: bool) -> str:
    return "equal" if same else "differ"
