"""A drawing as data: boxes in frames and the wires between them. It is written as DOT text when it
is complete.

The sizes of the boxes are known before, so that several drawings can be laid out (`frame.size_of`)
and one is written.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Iterator, Mapping, NamedTuple, Sequence
from gradtrace.views.labels import Line, Words, escape_attribute, label

if TYPE_CHECKING:
    from graphviz import Digraph

INCH = 72.0  # points
ARROW = 20.0  # points of the head of an arrow-shaped node
INVISIBLE = "invis"  # the style of what only keeps others in order


class Size(NamedTuple):
    """A size in points."""

    width: float
    height: float


class Box(NamedTuple):
    """A node: the lines of its table, or the lines of its caption, its attributes for Graphviz and
    its tooltip.
    """

    key: str
    attributes: Mapping[str, str]
    lines: Sequence[Line] = ()
    caption: Sequence[Words] = ()
    tooltip: Sequence[str] = ()
    row: int = 0  # where the drawing is broken into several

    @property
    def words(self) -> list[list[Words]]:
        """The text of each line, in pieces."""
        in_table = ([words for cell in line for words in cell.words] for line in self.lines)
        return [*in_table, *([words] for words in self.caption)]

    @property
    def size(self) -> Size:
        """The approximate size of the node."""
        margin = self.attributes.get("margin")
        height = 10.0 if margin is None else 3.0 + 2 * INCH * float(margin.partition(",")[2])
        height += sum(
            max((words.height for words in line if words.text), default=0.0) for line in self.words
        )
        of_text = (sum(words.width for words in line) for line in self.words)
        of_cells = (sum(cell.width for cell in line) for line in self.lines)
        width = max(24.0, *of_text, *of_cells)
        arrow = ARROW if self.attributes.get("shape") in ("cds", "house", "invhouse") else 0.0
        return Size(width + 16 + arrow, max(height, 22.0) + arrow / 2)

    def write(self, graph: Digraph) -> None:
        marks = {"id": self.key, "tooltip": escape_attribute(self.tooltip)} if self.tooltip else {}
        content = label(self.lines) if self.lines else bare(*self.caption)
        graph.node(self.key, content, **marks, **self.attributes)


class Wire(NamedTuple):
    """An edge, with its texts by their attributes (`label`, `headlabel`, `taillabel`)."""

    source: str
    target: str
    attributes: Mapping[str, str]
    labels: Mapping[str, Words] = {}

    def write(self, graph: Digraph) -> None:
        labels = {name: bare(words) for name, words in self.labels.items()}
        graph.edge(self.source, self.target, **labels, **self.attributes)


class Part:
    """A drawing, or a frame in it: boxes, keys of boxes that stand elsewhere too, wires and frames,
    in this order.
    """

    def __init__(self, settings: dict[str, str], name: str = "") -> None:
        self.name = name
        self.settings = settings
        self.items: list[Box | Wire | Part | str] = []

    def boxes(self, frames: tuple[str, ...] = ()) -> Iterator[tuple[Box, tuple[str, ...]]]:
        """Yield each visible box with the names of the frames around it, outermost first."""
        for item in self.items:
            if isinstance(item, Part):
                yield from item.boxes((*frames, item.name) if item.name else frames)
            elif isinstance(item, Box) and item.attributes.get("style") != INVISIBLE:
                yield item, frames

    def wires(self) -> Iterator[Wire]:
        """Yield each wire."""
        for item in self.items:
            if isinstance(item, Part):
                yield from item.wires()
            elif isinstance(item, Wire):
                yield item

    def write(self, graph: Digraph) -> None:
        """Write the items into `graph`."""
        for item in self.items:
            if isinstance(item, str):
                graph.node(item)
            elif isinstance(item, Part):
                with graph.subgraph(name=item.name or None, graph_attr=item.settings) as inner:
                    item.write(inner)
            else:
                item.write(graph)


class Drawing(Part):
    """A whole drawing, with the settings of the graph, its nodes and its edges, and the legend's
    label.
    """

    def __init__(
        self,
        settings: dict[str, str],
        node_settings: Mapping[str, str],
        edge_settings: Mapping[str, str],
    ) -> None:
        super().__init__(settings)
        self.node_settings = node_settings
        self.edge_settings = edge_settings
        self.legend = ""

    def words(self) -> str:
        """Return all text in the boxes and on the wires, a piece in each line."""
        in_boxes = (words.text for box, _ in self.boxes() for line in box.words for words in line)
        on_wires = (words.text for wire in self.wires() for words in wire.labels.values())
        return "\n".join((*in_boxes, *on_wires))

    @property
    def text(self) -> str:
        """The DOT text."""
        from graphviz import Digraph

        graph = Digraph(
            graph_attr=self.settings, node_attr=self.node_settings, edge_attr=self.edge_settings
        )
        self.write(graph)
        if self.legend:
            graph.attr("graph", label=self.legend, labelloc="b", labeljust="l")
        source: str = graph.source
        return source


def bare(*lines: Words) -> str:
    """Return lines of words as a whole label, without a table."""
    return f"<{'<BR/>'.join(words.markup for words in lines)}>" if lines else ""
