"""Fit a picture into a frame: how far to fold, the direction of the graph, and where it is broken into rows.

    arrange(trace, options, frame, ...) -> Model, DotOptions

Layouts are tried from most to least detail: everything; a box for each innermost module; then fewer and fewer open
levels. Each is tried from left to right, from top to bottom, and from left to right in several rows. The first layout
that fits the frame is used; if none fits, the one that exceeds it least.
"""

from __future__ import annotations

from gradtrace.annotations import Iterator, NamedTuple, Sequence
from gradtrace.trace.record import Trace
from gradtrace.views import dot, frame
from gradtrace.views.dot import DotOptions
from gradtrace.views.fold import FITS, candidates, fold
from gradtrace.views.frame import Frame, Size
from gradtrace.views.model import Model, model
from gradtrace.views.style import SMALL_SIZE

MOST_ROWS = 6
BETWEEN = 20.0  # points from one rank to the next
LEGEND = 30.0  # points of height


class Way(NamedTuple):
    """One way to lay a model out, and the size of the drawing."""

    model: Model
    options: DotOptions
    size: Size

    def rank(self, limit: Frame) -> tuple[bool, int, float]:
        """Return a sort key of layouts: first those that fit, then by fewer rows, left-to-right before top-down, and
        size.
        """
        fits = self.size.fits(limit)
        rows = max(self.options.rows.values(), default=0)
        harder = (1.0 if self.options.direction == "right" else 1.4) * (1 + 0.1 * rows)
        shape = 0 if not fits else 2 if rows else 0 if self.options.direction == "right" else 1
        return not fits, shape, self.size.excess(limit) * harder


def arrange(
    trace: Trace,
    options: DotOptions,
    fit: str = "16:9",
    depth: int | None = None,
    expand: Sequence[str] = (),
    direction: str | None = None,
) -> tuple[Model, DotOptions]:
    """Return the model of `trace` and the options that draw it into the frame `fit`.

    A value that the user has chosen is kept: `depth` and `expand` for folding, `direction` for the graph; None means
    chosen here. UsageError for an unknown frame, or for a name in `expand` that does not exist.
    """
    limit = frame.frame_of(fit, SMALL_SIZE)
    plain = options._replace(direction=direction or "right")
    if limit is None or options.levels:
        folded = fold(trace, depth, expand)
        return model(trace, options.style, folded, detail=options.detail), plain
    best: Way | None = None
    for folded in [fold(trace, depth, expand)] if depth is not None else candidates(trace, expand):
        compact = depth is None and any(group.kind == "module" for group in folded.groups)
        drawn = model(trace, options.style, folded, detail=options.detail, compact=compact)
        if best is not None and len(drawn.nodes) > 2 * FITS:
            continue
        found = best_way(drawn, plain, limit, direction)
        if found.size.fits(limit):
            return found.model, found.options
        if best is None or found.rank(limit) < best.rank(limit):
            best = found
    assert best is not None  # there is always a fold
    return best.model, best.options


def best_way(drawn: Model, options: DotOptions, limit: Frame, direction: str | None) -> Way:
    """Return the best layout of a model: in one row, to the right or down, if that fits; else the best with any number
    of rows.
    """
    single: list[Way] = []
    for where in ("right", "down") if direction is None else (direction,):
        chosen = options._replace(direction=where)
        single.append(Way(drawn, chosen, drawn_size(drawn, chosen)))
        if single[-1].size.fits(limit):
            return single[-1]
    foldless = drawn.fold.groups or not drawn.trace.scopes  # unfolded scopes are folded before rows are tried
    several = [way for one in single for way in in_rows(drawn, one.options)] if foldless else []
    return min([*single, *several], key=lambda way: way.rank(limit))


def drawn_size(drawn: Model, options: DotOptions) -> Size:
    """Return the size of the picture with its legend."""
    size = frame.size_of(dot.text_of(drawn, options._replace(legend=False)), options.rows)
    return Size(size.width, size.height + (LEGEND if options.legend else 0.0))


# ---- rows


def in_rows(drawn: Model, options: DotOptions) -> Iterator[Way]:
    """Yield the model in two rows, in three and so on, as long as each row has a rank; columns if the graph goes
    down.
    """
    if options.direction == "up":
        return
    text = dot.text_of(drawn, options._replace(legend=False))
    nodes, edges, _ = frame.parsed(text)
    rank = frame.ranks_of(nodes, edges)
    lengths: dict[int, float] = {}
    for key, size in nodes.items():
        along = size.width if options.direction == "right" else size.height
        lengths[rank[key]] = max(lengths.get(rank[key], 0.0), along)
    for count in range(2, min(MOST_ROWS, len(lengths) // 2) + 1):
        cuts = cut(lengths, edges, rank, count)
        if len(cuts) + 1 < count:
            return
        chosen = options._replace(rows=rows_of(rank, edges, cuts))
        yield Way(drawn, chosen, drawn_size(drawn, chosen))


def rows_of(rank: dict[str, int], edges: list[tuple[str, str]], cuts: list[int]) -> dict[str, int]:
    """Return the row of each node; a node without inputs is in the first row that reads it."""
    rows = {key: sum(at > here for here in cuts) for key, at in rank.items()}
    made = {target for _, target in edges}
    readers: dict[str, list[int]] = {}
    for source, target in edges:
        readers.setdefault(source, []).append(rows[target])
    rows.update({key: min(found) for key, found in readers.items() if key not in made})
    return rows


def cut(lengths: dict[int, float], edges: list[tuple[str, str]], rank: dict[str, int], count: int) -> list[int]:
    """Choose the ranks after which a row ends: rows of similar length, and few edges between them."""
    ends: list[float] = []
    for at in range(len(lengths)):
        ends.append((ends[-1] if ends else 0.0) + lengths.get(at, 0.0) + BETWEEN)
    crossing = [0] * len(ends)
    for source, target in edges:
        for at in range(rank[source], min(rank[target], len(ends))):
            # the result of an operation stays beside it
            crossing[at] += 100 if source[0] == "o" else 1
    found: list[int] = []
    share = ends[-1] / count
    for number in range(1, count):
        near = [at for at in range(len(ends) - 1) if abs(ends[at] - number * share) < share / 2]
        near = [at for at in near if not found or at > found[-1]]
        if not near:
            return found
        found.append(min(near, key=lambda at: (crossing[at] + 3 * abs(ends[at] - number * share) / share, at)))
    return found
