"""Estimate the size of a drawing before it is written, as Graphviz's `dot` would lay it out.

    Layout(drawing).size() -> Size(width, height) in points

Direction, folding and rows are chosen by this estimate, so the same program gives the same picture
with and without a renderer. Ranks are computed by the longest path, as in `dot`; text widths are
averages. The error is about a fifth.
"""

from __future__ import annotations

import re
from itertools import takewhile

from gradtrace.annotations import Iterable, Mapping, NamedTuple, Sequence
from gradtrace.errors import UsageError
from gradtrace.views.drawing import INCH, Drawing, Size
from gradtrace.views.labels import LINE_HEIGHT

PIXELS = 1600  # the width of the screen or page that a picture is made for
LEAST = 10.5  # pixels of the smallest text there
SPARE = 1.02  # how much smaller than its frame a drawing is planned, since its size is estimated
RATIOS = {"16:9": 16 / 9, "4:3": 4 / 3, "A4": 1 / 2**0.5}
FITS = (*RATIOS, "WxH", "none")

# points that a frame adds to both sides together, and its title to the height
FRAME, TITLE = 20.0, 20.0
PAD = 22.0  # around everything
DERIVATIVE = "∂"  # in an edge's label, which keeps ranks apart


class Frame(NamedTuple):
    """The largest size of a picture, in points, at which its smallest text is readable in a screen
    or page of a given format.
    """

    width: float
    height: float

    def holds(self, size: Size) -> bool:
        """Whether a drawing of this size fits."""
        return size.width <= self.width and size.height <= self.height

    def excess(self, size: Size) -> float:
        """Return the factor by which a drawing of this size is larger."""
        return max(size.width / self.width, size.height / self.height)


def pixels(text: str) -> tuple[int, int] | None:
    """Return the width and height of "1280x720", two to five digits each; None for any other
    text.
    """
    match = re.fullmatch(r"([1-9][0-9]{1,4})x([1-9][0-9]{1,4})", text)
    return (int(match[1]), int(match[2])) if match is not None else None


def frame_of(fit: str, smallest: float) -> Frame | None:
    """Return the frame that --fit names: 16:9, 4:3, A4, 800x600, or none (None). UsageError for any
    other name.

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
        raise UsageError(
            f"unknown frame '{fit}'", f"use one of: {', '.join(FITS)} (WxH: pixels, as 800x600)"
        )
    width = PIXELS * smallest / LEAST / SPARE
    return Frame(width, width / ratio)


def readable(size: Size) -> float:
    """Return the size of text, in points, that is readable when a drawing fills a screen of
    16:9.
    """
    return LEAST * max(size.width, size.height * RATIOS["16:9"]) / PIXELS


# ---- the size of a drawing


class Layout:
    """Where the boxes of a drawing stand: their sizes, the frames around them, and the rank of
    each.

    An edge joins two boxes; `frames` has the boxes in frames only.
    """

    def __init__(self, drawing: Drawing) -> None:
        self.drawing = drawing
        self.sizes: dict[str, Size] = {}
        self.rows: dict[str, int] = {}
        self.frames: dict[str, tuple[str, ...]] = {}
        for box, around in drawing.boxes():
            self.sizes[box.key] = box.size
            self.rows[box.key] = box.row
            if around:
                self.frames[box.key] = around
        self.wires = [
            wire
            for wire in drawing.wires()
            if wire.source in self.sizes
            and wire.target in self.sizes
            and wire.source != wire.target
        ]
        self.edges = [(wire.source, wire.target) for wire in self.wires]
        self.ranks = ranks_of(self.sizes, self.edges)

    @property
    def sideways(self) -> bool:
        """Whether the graph goes to the right."""
        return self.drawing.settings["rankdir"] == "LR"

    def lengths(self) -> dict[int, float]:
        """Return the length of each rank, in the direction of the graph."""
        lengths: dict[int, float] = {}
        for key, size in self.sizes.items():
            along = size.width if self.sideways else size.height
            lengths[self.ranks[key]] = max(lengths.get(self.ranks[key], 0.0), along)
        return lengths

    def size(self) -> Size:
        """Return the approximate size of the picture that `dot` makes of the drawing."""
        gap, step = (INCH * float(self.drawing.settings[name]) for name in ("nodesep", "ranksep"))
        lengths = self.lengths()
        title = TITLE if self.sizes and not self.sideways else 0.0
        length = sum(lengths.values()) + step * max(0, len(lengths) - 1)
        length += frames_along(self.ranks, self.frames, title) + sum(self.label_room().values())
        breadths = self.breadths(gap, FRAME + (TITLE if self.sideways else 0.0))
        breadth = sum(breadths) + gap * (len(breadths) - 1)
        width, height = (length, breadth) if self.sideways else (breadth, length)
        return Size(width + PAD, height + PAD)

    def breadths(self, gap: float, border: float) -> list[float]:
        """Return the breadth of each row: of boxes side by side, and of frames that keep other
        boxes beside them.
        """
        used: dict[tuple[int, tuple[str, ...]], dict[int, float]] = {}

        def use(row: int, around: tuple[str, ...], at: int, space: float) -> None:
            ranks = used.setdefault((row, around), {})
            ranks[at] = ranks.get(at, 0.0) + space

        frames = self.frames
        rank = self.ranks
        for key, size in self.sizes.items():
            across = size.height if self.sideways else size.width
            use(self.rows[key], frames.get(key, ()), rank[key], across + gap)
        for source, target in self.edges:  # a wire over several ranks needs a lane of its own
            around = common(frames.get(source, ()), frames.get(target, ()))
            for at in range(rank[source] + 1, rank[target]):
                use(self.rows[target], around, at, gap / 2)
        reach = reach_of(rank, frames)
        deepest = max(map(len, frames.values()), default=0)
        for depth in range(deepest, 0, -1):
            for row, around in [place for place in used if len(place[1]) == depth]:
                widest = max(used[row, around].values()) - gap + border
                first, last = reach[around[-1]]
                for at in range(first, last + 1):
                    use(row, around[:-1], at, widest + gap)
        return [max(ranks.values()) - gap for (_, around), ranks in used.items() if not around]

    def label_room(self) -> dict[int, float]:
        """Return the space behind each rank that the local derivatives on edges need."""
        spaces: dict[int, float] = {}
        for wire in self.wires:
            words = wire.labels.get("label")
            if words is None or DERIVATIVE not in words.text:
                continue
            rank = self.ranks[wire.source]
            width = words.width if self.ranks[wire.target] - rank == 1 else 0.0
            spaces[rank] = max(
                spaces.get(rank, 0.0), width if self.sideways else 2 * LINE_HEIGHT * words.size
            )
        return spaces


def frames_along(
    rank: Mapping[str, int], frames: Mapping[str, tuple[str, ...]], title: float
) -> float:
    """Return the space that the borders and titles of frames take between the ranks."""
    reach = reach_of(rank, frames)
    before: dict[int, int] = {}
    after: dict[int, int] = {}
    for key, at in rank.items():
        around = [reach[frame] for frame in frames.get(key, ())]
        before[at] = max(before.get(at, 0), sum(first == at for first, _ in around))
        after[at] = max(after.get(at, 0), sum(last == at for _, last in around))
    return sum(before.values()) * (FRAME / 2 + title) + sum(after.values()) * FRAME / 2


def reach_of(
    rank: Mapping[str, int], frames: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[int, int]]:
    """Return the first and the last rank of each frame."""
    reach: dict[str, tuple[int, int]] = {}
    for key, around in frames.items():
        for frame in around:
            first, last = reach.get(frame, (rank[key], rank[key]))
            reach[frame] = min(first, rank[key]), max(last, rank[key])
    return reach


def common(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    """Return the frames around two nodes."""
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    return tuple(name for name, _ in pairs)


def ranks_of(nodes: Iterable[str], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Return the rank of each node: after its sources; a node without sources is just before its
    first user.
    """
    ranks = longest_paths(nodes, edges)
    firsts = {
        leaf: min(ranks[key] for key in readers)
        for leaf, readers in readers_of_leaves(edges).items()
    }
    return ranks | {leaf: first - 1 for leaf, first in firsts.items()}


def readers_of_leaves(edges: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the readers of each node without inputs."""
    targets = {target for _, target in edges}
    readers: dict[str, list[str]] = {}
    for source, target in edges:
        if source not in targets:
            readers.setdefault(source, []).append(target)
    return readers


def longest_paths(
    nodes: Iterable[str], edges: Sequence[tuple[str, str]], free: frozenset[str] = frozenset()
) -> dict[str, int]:
    """Return the length of the longest path to each node; a step to one of the nodes `free` does
    not count.
    """
    after: dict[str, list[str]] = {key: [] for key in nodes}
    waiting = dict.fromkeys(after, 0)
    for source, target in edges:
        after[source].append(target)
        waiting[target] += 1
    ready = [key for key, count in waiting.items() if not count]
    length = dict.fromkeys(after, 0)
    for key in ready:  # grows as it is gone through
        for target in after[key]:
            length[target] = max(length[target], length[key] + (target not in free))
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    return length
