"""Estimate the size of a drawing from its DOT text, as Graphviz's `dot` would lay it out.

    size_of(source, rows) -> Size(width, height) in points

Direction, folding and rows are chosen by this estimate, so the same program gives the same picture with and without a
renderer. Ranks are computed by the longest path, as in `dot`; text widths are averages for DejaVu Sans. The error is
about a fifth.
"""

from __future__ import annotations

import html
import re

from gradtrace.annotations import Iterable, Mapping, NamedTuple
from gradtrace.errors import UsageError

PIXELS = 1600  # the width of the screen or page that a picture is made for
LEAST = 10.5  # pixels of the smallest text there
SPARE = 1.02  # how much smaller than its frame a drawing is planned, since its size is estimated
RATIOS = {"16:9": 16 / 9, "4:3": 4 / 3, "A4": 1 / 2**0.5}
FITS = (*RATIOS, "WxH", "none")

WIDE, BOLD, BAR = 0.59, 0.66, 0.77  # of a letter, a bold letter, a bar of a sparkline: shares of the font's size
LINE = 1.2  # of a line of text, by the font's size
INCH = 72.0  # points
FRAME, TITLE = 20.0, 20.0  # points that a frame adds to both sides together, and its title to the height
PAD = 22.0  # around everything
DERIVATIVE = "∂"  # in an edge's label, which keeps ranks apart
ARROW = 20.0  # and the head of an arrow-shaped node

SPACES = re.compile(r"nodesep=([\d.]+) .*ranksep=([\d.]+)")
NODE = re.compile(r"^\t+(\w+) \[(.*)\]$")
EDGE = re.compile(r"^\t+(\w+)(?::\w+)* -> (\w+)(?::\w+)* \[(.*)\]$|^\t+(\w+)(?::\w+)* -> (\w+)(?::\w+)*$")
MARGIN = re.compile(r'margin="[\d.]+,([\d.]+)"')
CELL = re.compile(r' WIDTH="([\d.]+)"')  # the least width of a cell
RUN = re.compile(r'<FONT(?: COLOR="[^"]*")?(?: POINT-SIZE="([\d.]+)")?>((?:<B>)?)([^<]*)')


class Frame(NamedTuple):
    """The largest size of a picture, in points, at which its smallest text is readable in a screen or page of a given
    format.
    """

    width: float
    height: float


class Size(NamedTuple):
    width: float
    height: float

    def fits(self, frame: Frame) -> bool:
        return self.width <= frame.width and self.height <= frame.height

    def excess(self, frame: Frame) -> float:
        """Return the factor by which the drawing is larger than the frame."""
        return max(self.width / frame.width, self.height / frame.height)


def pixels(text: str) -> tuple[int, int] | None:
    """Return the width and height of "1280x720", two to five digits each; None for any other text."""
    match = re.fullmatch(r"([1-9][0-9]{1,4})x([1-9][0-9]{1,4})", text)
    return (int(match[1]), int(match[2])) if match is not None else None


def frame_of(fit: str, smallest: float) -> Frame | None:
    """Return the frame that --fit names: 16:9, 4:3, A4, 800x600, or none (None). UsageError for any other name.

    `smallest` is the size of the smallest text, in points.
    """
    if fit == "none":
        return None
    size = pixels(fit)
    if size is not None:
        ratio = size[0] / size[1]
    elif fit in RATIOS:
        ratio = RATIOS[fit]
    else:
        raise UsageError(f"unknown frame '{fit}'", f"use one of: {', '.join(FITS)} (WxH: pixels, as 800x600)")
    width = PIXELS * smallest / LEAST / SPARE
    return Frame(width, width / ratio)


def readable(size: Size) -> float:
    """Return the size of text, in points, that is readable when a drawing fills a screen of 16:9."""
    return LEAST * max(size.width, size.height * RATIOS["16:9"]) / PIXELS


# ---- the size of a drawing


def is_measurable(source: str) -> bool:
    """Whether a DOT text is one of `dot.text_of`, without rows, which would be taken for one long row."""
    return SPACES.search(source) is not None and "row1 [" not in source


def size_of(source: str, rows: Mapping[str, int]) -> Size:
    """Return the approximate size of the picture that `dot` makes of a DOT text whose nodes stand in `rows`."""
    nodes, edges, frames = parsed(source)
    sideways = "rankdir=LR" in source
    gap, step = (INCH * float(number) for number in re.search(SPACES, source).groups())  # type: ignore[union-attr]
    rank = ranks_of(nodes, edges)
    lengths: dict[int, float] = {}
    for key, size in nodes.items():
        lengths[rank[key]] = max(lengths.get(rank[key], 0.0), size.width if sideways else size.height)
    title = TITLE if nodes and not sideways else 0.0
    length = sum(lengths.values()) + step * max(0, len(lengths) - 1) + frames_along(rank, frames, title)
    length += sum(label_room(source, rank, sideways).values())
    across = {key: size.height if sideways else size.width for key, size in nodes.items()}
    breadths = breadths_of(across, edges, frames, rank, rows, gap, FRAME + (TITLE if sideways else 0.0))
    breadth = sum(breadths) + gap * (len(breadths) - 1)
    width, height = (length, breadth) if sideways else (breadth, length)
    return Size(width + PAD, height + PAD)


def frames_along(rank: Mapping[str, int], frames: Mapping[str, tuple[str, ...]], title: float) -> float:
    """Return the space that the borders and titles of frames take between the ranks."""
    reach = reach_of(rank, frames)
    before: dict[int, int] = {}
    after: dict[int, int] = {}
    for key, at in rank.items():
        around = [reach[frame] for frame in frames.get(key, ())]
        before[at] = max(before.get(at, 0), sum(first == at for first, _ in around))
        after[at] = max(after.get(at, 0), sum(last == at for _, last in around))
    return sum(before.values()) * (FRAME / 2 + title) + sum(after.values()) * FRAME / 2


def reach_of(rank: Mapping[str, int], frames: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[int, int]]:
    """Return the first and the last rank of each frame."""
    reach: dict[str, tuple[int, int]] = {}
    for key, around in frames.items():
        for frame in around:
            first, last = reach.get(frame, (rank[key], rank[key]))
            reach[frame] = min(first, rank[key]), max(last, rank[key])
    return reach


def breadths_of(
    across: Mapping[str, float],
    edges: Iterable[tuple[str, str]],
    frames: Mapping[str, tuple[str, ...]],
    rank: Mapping[str, int],
    rows: Mapping[str, int],
    gap: float,
    border: float,
) -> list[float]:
    """Return the breadth of each row: of nodes side by side, and of frames that keep other nodes beside them."""
    used: dict[tuple[int, tuple[str, ...]], dict[int, float]] = {}

    def use(row: int, around: tuple[str, ...], at: int, space: float) -> None:
        ranks = used.setdefault((row, around), {})
        ranks[at] = ranks.get(at, 0.0) + space

    for key, space in across.items():
        use(row_of(key, rows), frames.get(key, ()), rank[key], space + gap)
    for source, target in edges:  # a wire over several ranks needs a lane of its own
        around = common(frames.get(source, ()), frames.get(target, ()))
        for at in range(rank[source] + 1, rank[target]):
            use(row_of(target, rows), around, at, gap / 2)
    reach = reach_of(rank, frames)
    deepest = max(map(len, frames.values()), default=0)
    for depth in range(deepest, 0, -1):
        for row, around in [place for place in used if len(place[1]) == depth]:
            widest = max(used[row, around].values()) - gap + border
            first, last = reach[around[-1]]
            for at in range(first, last + 1):
                use(row, around[:-1], at, widest + gap)
    return [max(ranks.values()) - gap for (_, around), ranks in used.items() if not around]


def common(one: tuple[str, ...], another: tuple[str, ...]) -> tuple[str, ...]:
    """Return the frames around two nodes."""
    count = next((i for i, (a, b) in enumerate(zip(one, another, strict=False)) if a != b), min(len(one), len(another)))
    return one[:count]


def label_room(source: str, rank: Mapping[str, int], sideways: bool) -> dict[int, float]:
    """Return the space behind each rank that the local derivatives on edges need."""
    spaces: dict[int, float] = {}
    for line in source.splitlines():
        edge = EDGE.match(line)
        if edge is None or DERIVATIVE not in (edge[3] or "") or not {edge[1], edge[2]} <= rank.keys():
            continue
        at, span = rank[edge[1]], rank[edge[2]] - rank[edge[1]]
        runs = RUN.findall(edge[3])
        size = float(runs[0][0] or 12)
        wide = sum(text_width(words, size, False) for _, _, words in runs) if span == 1 else 0.0
        spaces[at] = max(spaces.get(at, 0.0), wide if sideways else 2 * LINE * size)
    return spaces


def row_of(key: str, rows: Mapping[str, int]) -> int:
    """Return a node's row: its own, or that of a copy in another row ("t3r1", or "t3x" in its source's row)."""
    if key in rows or not rows:
        return rows.get(key, 0)
    source, letter, number = re.match(r"([a-z]\d+)?([a-z]*)(\d*)$", key).groups()  # type: ignore[union-attr]
    return int(number) if letter == "r" and number else rows.get(source or "", 0)


def parsed(source: str) -> tuple[dict[str, Size], list[tuple[str, str]], dict[str, tuple[str, ...]]]:
    """Return the nodes with their sizes, the edges, and for the nodes in frames the frames, outermost first."""
    nodes: dict[str, Size] = {}
    edges: list[tuple[str, str]] = []
    frames: dict[str, tuple[str, ...]] = {}
    around: list[str] = []
    for line in source.splitlines():
        stripped = line.strip()
        if stripped.startswith("subgraph cluster"):
            around.append(stripped.split()[1])
        elif stripped == "}" and around:
            around.pop()
        elif "style=invis" in line or stripped.startswith("row"):
            continue  # what only keeps rows in order
        elif (edge := EDGE.match(line)) is not None:
            edges.append((edge[1] or edge[4], edge[2] or edge[5]))
        elif (node := NODE.match(line)) is not None and node[1] not in ("graph", "node", "edge"):
            nodes[node[1]] = node_size(node[2])
            if around:
                frames[node[1]] = tuple(around)
    return nodes, [(a, b) for a, b in edges if a in nodes and b in nodes and a != b], frames


def node_size(attributes: str) -> Size:
    """Return the size of a node with this label."""
    rows = attributes.split("<TR>")[1:] or [attributes]
    margin = MARGIN.search(attributes)
    widths, height = [24.0], 10.0 if margin is None else 3.0 + 2 * INCH * float(margin[1])
    for row in rows:
        runs = RUN.findall(row)
        needed = sum(text_width(words, float(size or 12), bool(bold)) for size, bold, words in runs)
        widths.append(max(needed, sum(map(float, CELL.findall(row)))))
        height += max((float(size or 12) * LINE + 2 for size, _, _ in runs), default=0.0)
    extra = ARROW if re.search(r"shape=(cds|house|invhouse)", attributes) else 0.0
    return Size(max(widths) + 16 + extra, max(height, 22.0) + extra / 2)


def text_width(words: str, size: float, bold: bool) -> float:
    """Return the width of a text in points."""
    plain = html.unescape(words)
    bars = sum("▁" <= char <= "█" for char in plain)
    return size * (bars * BAR + (len(plain) - bars) * (BOLD if bold else WIDE))


def ranks_of(nodes: Iterable[str], edges: list[tuple[str, str]]) -> dict[str, int]:
    """Return the rank of each node: after its sources; a node without sources is just before its first user."""
    before: dict[str, list[str]] = {key: [] for key in nodes}
    after: dict[str, list[str]] = {key: [] for key in nodes}
    for source, target in edges:
        before[target].append(source)
        after[source].append(target)
    waiting = {key: len(sources) for key, sources in before.items()}
    ready = [key for key, count in waiting.items() if not count]
    rank = dict.fromkeys(before, 0)
    for key in ready:  # grows as it is gone through
        for target in after[key]:
            rank[target] = max(rank[target], rank[key] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    for key, sources in before.items():
        if not sources and after[key]:
            rank[key] = min(rank[target] for target in after[key]) - 1
    return rank
