"""A comparison of a run with the same program in PyTorch, as text or data.

The JSON document has `schema` "gradtrace/against", `version`, torch (its version), passed, and `facts` [{name, what,
ours, theirs, same, gap}].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gradtrace.analysis.against import Compared
from gradtrace.views import layout, numbers, rows
from gradtrace.views.cells import visible
from gradtrace.views.layout import Cell, LayoutOptions, paint

COLUMNS = ("name", "what", "ours", "torch", "same", "gap")
SHRINK = {"name": 8, "gradtrace": 10, "torch": 10}


def text(found: Sequence[Compared], version: str, options: LayoutOptions) -> str:
    return layout.joined(lines(found, version, options))


def lines(found: Sequence[Compared], version: str, options: LayoutOptions) -> Iterator[str]:
    apart = [f for f in found if not f.same]
    shown = found if options.all else apart
    if shown:
        yield from layout.table(
            shown,
            {
                "name": lambda f: visible(f.name),
                "what": lambda f: f.what,
                "gradtrace": lambda f: brief(f.ours),
                "torch": lambda f: brief(f.theirs),
                "difference": lambda f: Cell("" if f.gap is None else numbers.number(f.gap, 2), "", True),
                "": lambda f: Cell("" if f.same else "differs", "red"),
            },
            options,
            SHRINK,
        )
        yield ""
    names = len({f.name for f in found})
    said = f"PyTorch {version}: {len(found)} facts about {names} variables"
    yield paint(
        f"{said}, all the same" if not apart else f"{said}, {len(apart)} differ",
        "red" if apart else "green",
        options,
    )


def brief(fact: Any) -> str:
    if isinstance(fact, float):
        return numbers.number(fact)
    return "[" + ", ".join(map(brief, fact)) + "]" if isinstance(fact, list) else str(fact)


def render(found: Sequence[Compared], version: str, format: str) -> str:
    facts = [f._asdict() for f in found]
    document = {"torch": version, "passed": all(f.same for f in found), "facts": facts}
    body = [(f.name, f.what, str(f.ours), str(f.theirs), f.same, f.gap) for f in found]
    return rows.write(rows.Results("gradtrace/against", document, "facts", COLUMNS, body), format)
