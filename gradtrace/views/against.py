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
from gradtrace.views.layout import Cell, LayoutOptions, paint, right

COLUMNS = ("name", "what", "ours", "torch", "same", "gap", "rounding")
MOST_NUMBERS = 4  # the table shows at most this many elements of an array
SHRINK = {"name": 8, "gradtrace": 10, "torch": 10}


def text(comparisons: Sequence[Compared], version: str, options: LayoutOptions) -> str:
    return layout.joined(lines(comparisons, version, options))


def lines(comparisons: Sequence[Compared], version: str, options: LayoutOptions) -> Iterator[str]:
    """Yield the table of the facts that differ, or of all with `options.all`, and a summary."""
    different = [fact for fact in comparisons if not fact.same]
    shown = comparisons if options.all else different
    if shown:
        yield from layout.table(
            shown,
            {
                "name": lambda fact: visible(fact.name),
                "what": lambda fact: fact.what,
                "gradtrace": lambda fact: brief(fact.ours),
                "torch": lambda fact: brief(fact.theirs),
                "difference": lambda fact: right(
                    "" if fact.gap is None else numbers.number(fact.gap, 2)
                ),
                "": lambda fact: Cell("" if fact.same else "differs", "red"),
            },
            options,
            SHRINK,
        )
        yield ""
    names = len({fact.name for fact in comparisons})
    rounded = sum(fact.rounding is not None for fact in comparisons)
    if different:
        verdict = f"{len(different)} differ"
    elif rounded:
        verdict = f"all the same, {rounded} of them as far as float32 has right digits"
    else:
        verdict = "all the same"
    yield paint(
        f"PyTorch {version}: {len(comparisons)} facts about {names} variables, {verdict}",
        "red" if different else "green",
        options,
    )


def brief(value: Any) -> str:
    """Return a value as short text; an array has its first elements and their number."""
    if isinstance(value, float):
        return numbers.number(value)
    if not isinstance(value, list):
        return str(value)
    elements = flat(value)
    if len(elements) <= MOST_NUMBERS:
        return f"[{', '.join(map(brief, value))}]"
    first = ", ".join(map(brief, elements[:MOST_NUMBERS]))
    return f"[{first}, ...] ({len(elements):,} elements)"


def render(comparisons: Sequence[Compared], version: str, format: str) -> str:
    facts = [fact._asdict() for fact in comparisons]
    document = {"torch": version, "passed": all(fact.same for fact in comparisons), "facts": facts}
    body = [
        (f.name, f.what, str(f.ours), str(f.theirs), f.same, f.gap, f.rounding) for f in comparisons
    ]
    return rows.write(rows.Results("gradtrace/against", document, "facts", COLUMNS, body), format)
