"""Fit a picture into a frame: how far to fold, the shape of the boxes, the direction, and where
columns break.

    arrange(trace, options, frame, ...) -> Model, DotOptions

Layouts are tried from most to least detail: everything; a box for each innermost module; then fewer
and fewer open levels. A network is one column of flat boxes, each with its facts in one line, else
in two. A graph without modules goes to the right or down with its facts below one another, and is a
column of flat boxes where that does not fit. What is still too long is broken into columns where a
single tensor passes, so that no branch and no skip connection is cut. The first layout that fits
the frame is used; if none fits, the one that exceeds it least.
"""

from __future__ import annotations

from gradtrace.annotations import Iterator, NamedTuple, Sequence
from gradtrace.trace.pictured import pictured
from gradtrace.trace.record import Trace
from gradtrace.views import dot, frame
from gradtrace.views.dot import DotOptions
from gradtrace.views.drawing import Size
from gradtrace.views.fold import EVERYTHING, FITS, Fold, candidates, fold
from gradtrace.views.frame import Frame, Layout, readers_of_leaves
from gradtrace.views.model import Model, model
from gradtrace.views.style import SMALL_SIZE

MOST_ROWS = 6
BETWEEN = 20.0  # points from one rank to the next
LEGEND = 30.0  # points of height
# points: the widest drawing of boxes with one line of text; wider ones have branches side by side
COLUMN = 800.0
ROUGH = 1.08  # by how much boxes that are not flat may be larger than estimated
ALIGNED = 1.06  # by how much columns may be higher, whose ranks Graphviz aligns with each other


class Way(NamedTuple):
    """One way to lay a model out, and the size of the drawing with its legend."""

    model: Model
    options: DotOptions
    layout: Layout
    size: Size

    @property
    def breaks(self) -> int:
        return max(self.options.rows.values(), default=0)

    def excess(self, limit: Frame) -> float:
        """Return a sort key of layouts that do not fit: the size, and a little for each break."""
        return limit.excess(self.size) * (1 + 0.1 * self.breaks)


def arrange(
    trace: Trace,
    options: DotOptions,
    fit: str = "16:9",
    depth: int | None = None,
    expand: Sequence[str] = (),
    direction: str | None = None,
) -> tuple[Model, DotOptions]:
    """Return the model of `trace` and the options that draw it into the frame `fit`.

    A value that the user has chosen is kept: `depth` and `expand` for folding, `direction` for the
    graph; None means chosen here. UsageError for an unknown frame, or for a name in `expand` that
    does not exist.
    """
    limit = frame.frame_of(fit, SMALL_SIZE)
    if not options.detail and depth != EVERYTHING:
        trace = pictured(trace)
    if limit is None or options.levels:
        folded = fold(trace, depth, expand)
        plain = options._replace(direction=direction or "right")
        return model(trace, options.style, folded, detail=options.detail), plain
    best: Way | None = None
    for folded in [fold(trace, depth, expand)] if depth is not None else candidates(trace, expand):
        if best is not None and folded.shown > 2 * FITS:
            continue
        for way in ways(trace, folded, options, direction):
            if limit.holds(way.size):
                return way.model, way.options
            if best is None or way.excess(limit) < best.excess(limit):
                best = way
    assert best is not None  # there is always a fold
    return best.model, best.options


def ways(trace: Trace, folded: Fold, options: DotOptions, direction: str | None) -> Iterator[Way]:
    """Yield the layouts of a folded trace, the best first: those in one piece, then those with
    breaks, fewest first.
    """
    compact = model(trace, options.style, folded, detail=options.detail, compact=not options.detail)
    network = not options.detail and any(group.kind == "module" for group in folded.groups)
    drawn = compact if network else model(trace, options.style, folded, detail=options.detail)
    down = direction or "down"
    upright = [(compact, options._replace(direction=down, flat=lines)) for lines in (1, 2)]
    usual = [
        (drawn, options._replace(direction=where))
        for where in ("right", "down")
        if direction in (None, where)
    ]
    usual = usual or [(drawn, options._replace(direction=down))]
    flat = [] if options.detail or direction == "right" else upright
    whole = not folded.groups and any(scope.kind != "backward" for scope in trace.scopes)
    if whole:
        tried = usual
    else:
        tried = [*flat, *usual] if network else [*usual, *flat]
    breakable: list[Way] = []
    for chosen, look in tried:
        way = way_of(chosen, look)
        if look.flat != 1 or way.size.width <= COLUMN:
            yield way
        if bool(look.flat) == bool(flat) and look.direction != "up":
            breakable.append(way)
    if whole:  # folded before it is broken
        return
    for count in range(2, MOST_ROWS + 1):
        yield from filter(None, (broken(way, count) for way in breakable))


def way_of(drawn: Model, options: DotOptions) -> Way:
    """Lay a model out."""
    layout = Layout(dot.drawing_of(drawn, options._replace(legend=False)))
    size = layout.size()
    share = 1.0 if options.flat and options.style == "data" else ROUGH
    height = size.height + (LEGEND if options.legend else 0.0)
    if options.rows and share < ROUGH:
        height *= ALIGNED
    return Way(drawn, options, layout, Size(size.width * share, height * share))


# ---- breaks


def broken(way: Way, count: int) -> Way | None:
    """Return the model in `count` columns (rows if the graph goes right); None if it cannot be
    broken so often.
    """
    edges = way.layout.edges
    ranks = way.layout.ranks
    cuts = cut(way.layout.lengths(), narrow(way.model, edges, ranks), count)
    if len(cuts) + 1 < count:
        return None
    return way_of(way.model, way.options._replace(rows=rows_of(ranks, edges, cuts)))


def rows_of(rank: dict[str, int], edges: list[tuple[str, str]], cuts: list[int]) -> dict[str, int]:
    """Return the column of each node; a node without inputs is in the first column that reads
    it.
    """
    rows = {key: sum(at > here for here in cuts) for key, at in rank.items()}
    rows.update(
        {
            key: min(rows[target] for target in readers)
            for key, readers in readers_of_leaves(edges).items()
        }
    )
    return rows


def narrow(drawn: Model, edges: list[tuple[str, str]], rank: dict[str, int]) -> dict[int, int]:
    """Return the ranks after which one node's result alone is read, each with the number of modules
    cut there.
    """
    spans = [(rank[source], rank[target], source) for source, target in edges]
    for leaf, readers in readers_of_leaves(edges).items():
        first = min(rank[target] for target in readers)
        spans = [(first if source == leaf else a, b, source) for a, b, source in spans]
    crossing: dict[int, set[str]] = {}
    for start, end, source in spans:
        for at in range(start, end):
            crossing.setdefault(at, set()).add(source)
    reach: dict[int, tuple[int, int]] = {}  # the first and last rank of each open scope
    for node in drawn.nodes:
        scope = node.scope
        while scope is not None and node.key in rank:
            low, high = reach.get(scope, (rank[node.key], rank[node.key]))
            reach[scope] = min(low, rank[node.key]), max(high, rank[node.key])
            scope = drawn.trace.scopes[scope].parent
    single = [at for at, sources in crossing.items() if len(sources) == 1]
    return {at: sum(low <= at < high for low, high in reach.values()) for at in single}


def cut(lengths: dict[int, float], places: dict[int, int], count: int) -> list[int]:
    """Choose the ranks after which a column ends: outside of modules, and so that columns have
    similar lengths.
    """
    ends: list[float] = []
    for at in range(len(lengths)):
        ends.append((ends[-1] if ends else 0.0) + lengths.get(at, 0.0) + BETWEEN)
    cuts: list[int] = []
    share = ends[-1] / count
    for number in range(1, count):
        near = [
            at for at in places if at < len(ends) and abs(ends[at] - number * share) < share / 2
        ]
        near = [at for at in near if not cuts or at > cuts[-1]]
        if not near:
            return cuts
        cuts.append(
            min(near, key=lambda at: (places[at] + 4 * abs(ends[at] - number * share) / share, at))
        )
    return cuts
