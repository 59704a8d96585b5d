"""The drawings in a page: one for each depth that fits, and those in which a single group is
unfolded.

A page computes no layout. The reader chooses which scopes are open; the page shows the smallest
drawing in which all of these are open, and covers other open scopes in it with boxes (page.js,
`arrange`).
"""

from __future__ import annotations

from gradtrace.annotations import Any, NamedTuple
from gradtrace.trace.record import Trace
from gradtrace.views import chains as long
from gradtrace.views.fold import EVERYTHING, FITS, Chains, Fold, Group, fold, scoped
from gradtrace.views.model import Model, model

EXTRA = 8  # drawings of one group unfolded
WIDE = 160  # operations and groups that such a drawing may show


class View(NamedTuple):
    """One drawing of a page.

    `name` is "" for a drawing that is reached only by unfolding a group of the view with index
    `of`. `into` maps each chain to the index of the view that shows it unfolded.
    """

    name: str
    model: Model
    of: int | None = None
    into: dict[int, int] = {}


def views_of(drawn: Model) -> tuple[list[View], int]:
    """Return the views, smallest first, then those with one group unfolded; and the index of
    `drawn` among them.
    """
    trace = drawn.trace
    style = drawn.style
    compact = bool(drawn.joined)  # the other drawings look like this one
    by_member = {drawn.fold.member: (name_of(drawn.fold), drawn)}
    for depth in [*range(deepest(trace)), EVERYTHING]:
        folded = fold(trace, depth)
        if folded.member not in by_member and folded.shown <= FITS:
            by_member[folded.member] = (
                name_of(folded),
                model(trace, style, folded, compact=compact),
            )
    named = sorted(by_member.values(), key=lambda view: view[1].fold.shown)
    start = next(i for i, (_, view) in enumerate(named) if view is drawn)
    views = [View(name, view) for name, view in named]
    opened = [opens(view.model) for view in views]
    into: dict[int, int] = {}
    for group in drawn.groups[: 4 * EXTRA]:
        if len(views) - len(named) >= EXTRA:
            break
        wider = None if group.leaves else unfolded(trace, drawn.fold, group, opened)
        if wider is None:
            continue
        if group.kind == "chain":
            into[group.id] = len(views)
        views.append(View("", model(trace, style, wider, compact=compact), start))
        opened.append(opens(views[-1].model))
    views[start] = views[start]._replace(into=into)
    return views, start


def deepest(trace: Trace) -> int:
    levels: list[int] = []
    for scope in trace.scopes:  # a parent's id is always lower
        levels.append(1 if scope.parent is None else levels[scope.parent] + 1)
    return max(levels, default=0)


def name_of(folded: Fold) -> str:
    if not folded.groups:
        return "everything"
    return f"depth {folded.depth}" if folded.depth < EVERYTHING else f"{len(folded.groups)} folded"


def unfolded(trace: Trace, folded: Fold, group: Group, earlier: list[set[int]]) -> Fold | None:
    """Return the fold with one more group open; None if an existing drawing shows it, or it would
    be too large.
    """
    if group.kind == "chain":
        wider = long.opened(trace, folded, group)
        return wider if wider.shown <= WIDE else None
    now = opens_of(trace, folded)
    for scopes in (hidden(trace, group), hidden(trace, group)[:1]):
        wanted = now | set(scopes)
        if any(wanted <= there for there in earlier):
            return None
        wider = scoped(trace, Chains(trace), 0, frozenset(wanted))
        if wider.shown <= WIDE:
            return wider
    return None


def hidden(trace: Trace, group: Group) -> list[int]:
    """Return the outermost scopes that a group hides, in order; none for a chain."""
    if group.kind == "chain":
        return []
    scopes: dict[int, None] = {}
    for scope in dict.fromkeys(trace.operations[i].scope for i in group.operations):
        at = scope
        while at is not None and trace.scopes[at].parent != group.scope:
            at = trace.scopes[at].parent
        if at is not None:
            scopes[at] = None
    return list(scopes)


def opens_of(trace: Trace, folded: Fold) -> set[int]:
    """Return the open scopes: those of the shown operations and groups, and all scopes around
    them.
    """
    places = {
        place for place, group in zip(folded.places, folded.member, strict=True) if group is None
    }
    scopes: set[int] = set()
    for place in places | {group.scope for group in folded.groups}:
        at = place
        while at is not None and at not in scopes:
            scopes.add(at)
            at = trace.scopes[at].parent
    return scopes


def opens(drawn: Model) -> set[int]:
    return opens_of(drawn.trace, drawn.fold)


# ---- what the script knows of them


def folding(views: list[View]) -> list[dict[str, Any]]:
    """Return, for each view, the open scopes, and how each of its groups unfolds."""
    everywhere = [opens(view.model) for view in views]
    foldings = []
    for view, opened in zip(views, everywhere, strict=True):
        ways = [way(view, group, opened, everywhere) for group in view.model.groups]
        foldings.append(
            {"opens": sorted(opened), "ways": ways, **({} if view.of is None else {"of": view.of})}
        )
    return foldings


def way(view: View, group: Group, opened: set[int], everywhere: list[set[int]]) -> dict[str, Any]:
    """Return how a group unfolds: the scopes to open, or the view to show; {} if no drawing shows
    it unfolded.
    """
    if group.id in view.into:
        return {"view": view.into[group.id]}
    scopes = hidden(view.model.trace, group)
    for wanted in (scopes, scopes[:1]):
        if wanted and any(opened.union(wanted) <= there for there in everywhere):
            return {"scopes": wanted}
    return {}


def scope_data(trace: Trace, views: list[View]) -> dict[int, dict[str, Any]]:
    """Return the scopes that are open in some view: their name, kind, parent, and number of
    operations.
    """
    shown = sorted(set().union(*(opens(view.model) for view in views)))
    counts = dict.fromkeys(shown, 0)
    for operation in trace.operations if shown else ():
        at = operation.scope
        while at is not None:
            if at in counts:
                counts[at] += 1
            at = trace.scopes[at].parent
    facts = {}
    for index in shown:
        scope = trace.scopes[index]
        name = f"pass {scope.turn}" if scope.kind == "pass" else scope.name
        facts[index] = {
            "name": name,
            "detail": scope.detail if scope.detail != name else "",
            "parent": scope.parent,
            "operations": counts[index],
            "line": None if scope.span is None else scope.span.line,
        }
    return facts
