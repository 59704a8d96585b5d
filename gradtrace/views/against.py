"""A comparison of a run with the same program in PyTorch, as text or data.

The JSON document has `schema` "gradtrace/against", `version`, torch (its version), passed, and
`facts` [{name, what, ours, theirs, same, gap, rounding}]; `rounding` is how far float64 is from
gradtrace's numbers, where that explains gap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gradtrace.analysis.against import Compared, flat
from gradtrace.views import layout, numbers, rows
from gradtrace.views.cells import visible
from gradtrace.views.layout import Cell, LayoutOptions, paint

COLUMNS = ("name", "what", "ours", "torch", "same", "gap", "rounding")
MOST_NUMBERS = 4  # of an array, in the table
SHRINK = {"name": 8, "gradtrace": 10, "torch": 10}


def text(comparisons: Sequence[Compared], version: str, options: LayoutOptions) -> str:
    return layout.joined(lines(comparisons, version, options))


def lines(comparisons: Sequence[Compared], version: str, options: LayoutOptions) -> Iterator[str]:
    apart = [f for f in comparisons if not f.same]
    shown = comparisons if options.all else apart
    if shown:
        yield from layout.table(
            shown,
            {
                "name": lambda f: visible(f.name),
                "what": lambda f: f.what,
                "gradtrace": lambda f: brief(f.ours),
                "torch": lambda f: brief(f.theirs),
                "difference": lambda f: Cell(
                    "" if f.gap is None else numbers.number(f.gap, 2), "", True
                ),
                "": lambda f: Cell("" if f.same else "differs", "red"),
            },
            options,
            SHRINK,
        )
        yield ""
    names = len({f.name for f in comparisons})
    said = f"PyTorch {version}: {len(comparisons)} facts about {names} variables"
    rounded = sum(f.rounding is not None for f in comparisons)
    same = (
        f"all the same, {rounded} of them as far as float32 has right digits"
        if rounded
        else "all the same"
    )
    yield paint(
        f"{said}, {same}" if not apart else f"{said}, {len(apart)} differ",
        "red" if apart else "green",
        options,
    )


def brief(fact: Any) -> str:
    if isinstance(fact, float):
        return numbers.number(fact)
    if not isinstance(fact, list):
        return str(fact)
    elements = flat(fact)
    if len(elements) <= MOST_NUMBERS:
        return "[" + ", ".join(map(brief, fact)) + "]"
    return (
        "["
        + ", ".join(map(brief, elements[:MOST_NUMBERS]))
        + f", ...] ({len(elements):,} elements)"
    )


def render(comparisons: Sequence[Compared], version: str, format: str) -> str:
    facts = [f._asdict() for f in comparisons]
    document = {"torch": version, "passed": all(f.same for f in comparisons), "facts": facts}
    body = [
        (f.name, f.what, str(f.ours), str(f.theirs), f.same, f.gap, f.rounding) for f in comparisons
    ]
    return rows.write(rows.Results("gradtrace/against", document, "facts", COLUMNS, body), format)
