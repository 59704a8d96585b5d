"""Trace -> Graphviz DOT text, in one of three styles.

    data       nodes are tensors, operations are the small ovals on the wires between them; AccumulateGrad is folded
               into its leaf
    function   nodes are tensors and Functions: the operations have boxes of their own, with their grad_fn and constants
    autograd   nodes are the backward graph's functions as PyTorch keeps them, edges its next_functions

Inputs stand left and outputs right in all of them, or above and below. Node names come from the trace's ids (t0, o0,
f0, g0), so the text is the same byte for byte from run to run; it needs no renderer. What is drawn is `model`'s to say.
"""

from __future__ import annotations

import re
from itertools import pairwise

from gradtrace.annotations import TYPE_CHECKING, Mapping, NamedTuple
from gradtrace.errors import UsageError
from gradtrace.trace.record import Trace, Value
from gradtrace.views import boxes, dot_autograd, dot_data, dot_extras, dot_legend, flow, frame, nodes
from gradtrace.views.labels import clip, escape_attribute, font, text
from gradtrace.views.model import STYLES, DrawnEdge, Model, model
from gradtrace.views.style import FONT, SMALL_SIZE, TEXT_SIZE, THEMES, Look, Theme

if TYPE_CHECKING:
    from graphviz import Digraph

    from gradtrace.views.fold import Fold

DIRECTIONS = {"right": "LR", "down": "TB", "up": "BT"}
PORTS = {"right": ("e", "w"), "down": ("s", "n"), "up": ("n", "s")}  # where wires leave and enter
DEEPEST = 6  # frames of open scopes within one another
LARGE, HUB = 300, 6  # nodes of a large graph; edges of a leaf that are too many there
HUGE = 800  # nodes from which on a layout as it comes is good enough
FLAT_MARGINS = {"cds": "0.22,0.1", "box3d": "0.12,0.08"}  # shapes that take space from their text
COLORS = {"role": "", "grad-norm": "size of the gradient", "precision": "relative error in roundings"}


class DotOptions(NamedTuple):
    """Drawing options. With `derivatives` the edges show local derivatives, if the run was watched."""

    style: str = "data"
    theme: str = "light"
    legend: bool = True
    values: bool = True
    gradients: bool = True
    accumulate: bool = False  # in the data style: show each leaf's AccumulateGrad node
    derivatives: bool = False
    direction: str = "right"
    levels: bool = False  # what does not depend on each other in one column, columns numbered
    color_by: str = "role"
    detail: bool = False  # say on each node what the legend says for all
    flat: int = 0  # lines of text in a box: all that a box has below one another (0), or its facts in one line or two
    rows: Mapping[str, int] = {}  # the row that each node stands in, where the picture goes on in a second one

    @property
    def ports(self) -> tuple[str, str]:
        """Return the sides of a node where edges leave and enter it."""
        return PORTS[self.direction]


class Canvas:
    """The graph that is being drawn, with a subgraph for each open scope (and row) that contains nodes."""

    def __init__(self, drawn: Model, options: DotOptions) -> None:
        self.model = drawn
        self.options = options
        self.theme = THEMES[options.theme]
        self.graph = canvas(self.theme, DIRECTIONS[options.direction], flat=options.flat, close=bool(options.rows))
        self.frames = not options.levels  # Graphviz crashes on a level through frames
        self.rows = options.rows
        self.flowed = flow.gradients(drawn.trace)
        self.hooks = flow.hooks(drawn.trace)
        self.sizes: dict[str, float] = {}
        if options.color_by != "role":
            by_error = options.color_by == "precision"
            self.sizes = dot_extras.errors(drawn) if by_error else dot_extras.norms(drawn, self.flowed)
        self.fills = dot_extras.fills(drawn, self.theme, self.sizes) if options.color_by != "role" else {}
        self._frames: dict[tuple[int, int], Digraph] = {}
        self._depths: list[int] = []
        for scope in drawn.trace.scopes:
            self._depths.append(0 if scope.parent is None else self._depths[scope.parent] + 1)
        self._hubs = hubs(drawn)
        self._joined: set[str] = set()
        self._links: dict[str, int] = {}  # the number of each node that is read in another row
        self._linked: dict[str, None] = {}

    def look(self, look: Look) -> Look:
        """Return a look for this picture's direction; a flat box stays flat."""
        if self.options.flat:
            return look._replace(margin=FLAT_MARGINS.get(look.shape, "0.1,0.03"))
        return look.pointing(self.options.direction)

    def start(self, edge: DrawnEdge, number: int) -> str:
        """Return the node that an edge leaves: its source, or a small copy beside its target.

        A source with too many edges, or in another row, is drawn as such a copy.
        """
        if self.row(edge.source) != self.row(edge.target):
            return self._link(edge.source, self.row(edge.target))
        if edge.source not in self._hubs or edge.source not in self._joined:
            self._joined.add(edge.source)
            return edge.source
        key = f"{edge.source}c{number}"
        leaf = self._hubs[edge.source]
        self._copy(key, clip(leaf, 12), f"{leaf}, drawn once in full")
        return key

    def row(self, key: str) -> int:
        return self.rows.get(key, 0)

    def _link(self, source: str, row: int) -> str:
        """The small node where a row goes on with what another row made; both ends have the same number."""
        if source not in self._links:
            self._links[source] = len(self._links) + 1
            end = f"{source}x"
            self._copy(end, f"{self._links[source]} ▸", "goes on in another row, under the same number")
            self.graph.edge(source, end, color=self.theme.idle, style="dotted", arrowhead="none")
        key = f"{source}r{row}"
        if key not in self._linked:
            self._linked[key] = None
            name = name_of(self.model, source)
            self._copy(key, f"▸ {self._links[source]} {clip(name, 16)}", f"{name}, of another row")
        return key

    def _copy(self, key: str, words: str, tooltip: str) -> None:
        name = font(text(words), size=SMALL_SIZE, color=self.theme.faint)
        self.graph.node(
            key,
            f"<{name}>",
            id=key,
            shape="box",
            style="rounded",
            penwidth="0.6",
            color=self.theme.idle,
            margin="0.03,0.0",
            height="0.18",
            tooltip=escape_attribute(tooltip),
        )

    def place(self, scope: int | None, key: str = "") -> Digraph:
        """Return the part of the DOT text (a subgraph) in which nodes of a scope are declared."""
        while scope is not None and self._depths[scope] >= DEEPEST:
            scope = self.model.trace.scopes[scope].parent
        if scope is None or not self.frames:
            return self.graph
        row = self.row(key)
        if (scope, row) not in self._frames:
            self._frames[scope, row] = self._frame(scope, row)
            self.place(self.model.trace.scopes[scope].parent, key)
        return self._frames[scope, row]

    def _frame(self, index: int, row: int) -> Digraph:
        from graphviz import Digraph

        scope = self.model.trace.scopes[index]
        name = f"pass {scope.turn}" if scope.kind == "pass" else clip(scope.name, 40)
        title = font(text(name), bold=True, size=TEXT_SIZE, color=self.theme.faint)
        if any(framed == index for framed, _ in self._frames):
            title += font(" continued", size=SMALL_SIZE, color=self.theme.faint)
        if scope.detail and scope.detail != scope.name:
            title += font("&#160; " + text(scope.detail), size=SMALL_SIZE, color=self.theme.faint)
        settings = {
            "label": f"<{title}>",
            "labeljust": "l",
            "style": "rounded,dashed",
            "color": self.theme.scope,
            "margin": "10",
            "id": f"s{index}",
        }
        return Digraph(name=f"cluster_s{index}" + (f"r{row}" if row else ""), graph_attr=settings)

    def close(self) -> None:
        """Put every frame into the frame around it, inner ones first, and the rows below one another."""
        for index, row in sorted(self._frames, reverse=True):
            parent = self.model.trace.scopes[index].parent
            while parent is not None and (parent, row) not in self._frames:
                parent = self.model.trace.scopes[parent].parent
            (self.graph if parent is None else self._frames[parent, row]).subgraph(self._frames[index, row])
        if self.rows:
            self._order()

    def _order(self) -> None:
        """Keep the rows in order: an unseen node before each, and these below one another."""
        arrives = {edge.target for edge in self.model.edges if self.row(edge.source) == self.row(edge.target)}
        firsts: dict[int, list[str]] = {}
        for node in self.model.nodes:
            if node.key not in arrives:
                firsts.setdefault(self.row(node.key), []).append(node.key)
        with self.graph.subgraph() as column:
            column.attr("node", shape="point", style="invis", width="0.01", height="0.01")
            column.attr(rank="same")
            for row in sorted(firsts):
                column.node(f"row{row}", "")
            for row, following in pairwise(sorted(firsts)):
                column.edge(f"row{row}", f"row{following}", style="invis")
        for key in self._linked:
            firsts.setdefault(int(key.rpartition("r")[2]), []).append(key)
        for row, keys in firsts.items():
            for key in keys:
                self.graph.edge(f"row{row}", key, style="invis", weight="0")


def name_of(drawn: Model, key: str) -> str:
    """Return the name of a node, by its key."""
    number = int(key[1:])
    if key[0] == "g":
        return drawn.groups[number].name
    trace = drawn.trace
    if key[0] == "t":
        tensor = trace.tensors[number]
        maker = drawn.joined.get(number)
        return tensor.label if tensor.name or maker is None else word_of(trace, maker)
    return trace.functions[number].name if key[0] == "f" else trace.operations[number].label


def word_of(trace: Trace, operation: int) -> str:
    return nodes.program_word(trace, trace.operations[operation]) or trace.operations[operation].name


def hubs(drawn: Model) -> dict[str, str]:
    """Return the names of leaves whose many long edges would cover a large graph (and slow Graphviz down to
    minutes).
    """
    if len(drawn.nodes) <= LARGE:
        return {}
    uses: dict[str, int] = {}
    for edge in drawn.edges:
        uses[edge.source] = uses.get(edge.source, 0) + 1
    trace = drawn.trace
    names = {}
    for node in drawn.nodes:
        leaf = node.record if node.kind == "tensor" else None
        if node.kind == "function":
            leaf = trace.functions[node.record].variable
        if leaf is not None and trace.tensors[leaf].operation is None and uses.get(node.key, 0) > HUB:
            names[node.key] = trace.tensors[leaf].label
    return names


def source(trace: Trace, options: DotOptions = DotOptions(), folded: Fold | None = None) -> str:
    """Return the DOT text of `trace`, folded as `folded` says. UsageError for an unknown style or theme."""
    check(options)
    return text_of(model(trace, options.style, folded), options)


def check(options: DotOptions) -> None:
    """Raise UsageError for an option with an unknown value."""
    if options.style not in STYLES:
        raise UsageError(f"unknown graph style '{options.style}'", f"use one of: {', '.join(STYLES)}")
    if options.theme not in THEMES:
        raise UsageError(f"unknown theme '{options.theme}'", f"use one of: {', '.join(THEMES)}")
    if options.direction not in DIRECTIONS:
        raise UsageError(f"unknown direction '{options.direction}'", f"use one of: {', '.join(DIRECTIONS)}")
    if options.color_by not in COLORS:
        raise UsageError(f"cannot colour by '{options.color_by}'", f"use one of: {', '.join(COLORS)}")


def text_of(drawn: Model, options: DotOptions) -> str:
    """Return the DOT text of a model, for valid `options`."""
    board = Canvas(drawn, options)
    theme, graph, flowed = board.theme, board.graph, board.flowed
    if len(drawn.nodes) > HUGE:  # the last per cent of shortness takes most of the time
        graph.attr(nslimit="0.5", nslimit1="1")
    used = (dot_autograd if options.style == "autograd" else dot_data).draw(board)
    board.close()
    if options.levels:
        dot_extras.levels(graph, drawn, theme, options.direction)
    if options.legend:
        looks = [used.get(role, look) for role, look in theme.by_role.items() if role in used]
        quantity = COLORS[options.color_by]
        scale = dot_extras.scale(theme, board.sizes, quantity) if quantity else ""
        size = frame.size_of(graph.source, options.rows)
        label = dot_legend.legend(looks, remarks(drawn, options, flowed, graph.source), scale, size, theme)
        graph.attr("graph", label=label, labelloc="b", labeljust="l")
    source: str = graph.source
    return source


def remarks(drawn: Model, options: DotOptions, flowed: Mapping[int, Value], source: str) -> list[str]:
    """Return the facts that hold for most nodes; they are written once below the drawing."""
    if options.detail:
        return []
    trace = drawn.trace
    notes = signs(drawn, source)
    shown = [trace.tensors[node.record] for node in drawn.nodes if node.kind == "tensor"]
    computed = any(t.requires_grad and not t.is_leaf and t.id not in flowed for t in shown)
    kept = [t.grad for t in trace.tensors if t.grad is not None]
    if options.gradients and computed and kept and all(grad.is_measured for grad in kept):
        notes.append("no grad line: grad is None")
    freed = any(f.freed and f.saved for f in trace.functions)
    if options.style == "function" and options.values and freed:
        notes.append("saved values freed")
    if options.style == "autograd" and any(edge.place for edge in drawn.edges):
        notes.append("0, 1: place in next_functions")
    return notes


def signs(drawn: Model, source: str) -> list[str]:
    """Return what the strips, |grad|, a gradient in parentheses and ×N mean, if the DOT text of a picture has them."""
    trace = drawn.trace
    values = [trace.tensors[n.record].value for n in drawn.nodes if n.kind == "tensor"]
    values += [trace.tensors[t].value for t in drawn.results.values()]
    arrays = [v for v in values if v is not None and v.shape and v.is_measured and boxes.written_out(v) is None]
    meanings = []
    if arrays and re.search("[▁-█]", source):
        order = ["elements in order"] if any(v.kept is None for v in arrays) else []
        counts = ["histogram of the elements"] if any(v.kept is not None for v in arrays) else []
        meanings.append(f"▂▅▇ {' or '.join(order + counts)}, smallest … largest")
    if any(group.copies > 1 and not group.leaves for group in drawn.groups) and re.search("[▁-█]", source):
        meanings.append("of equal blocks: a bar for each, first … last")
    if "|grad|" in source:
        meanings.append("|grad| norm of the gradient")
    if re.search(r"\(\|?grad", source):
        meanings.append("(grad): passed, not kept")
    if re.search(r"×\d", source):
        meanings.append("×N: N times")
    return meanings


def canvas(theme: Theme, direction: str = "LR", *, flat: int = 0, close: bool = False) -> Digraph:
    """Return an empty graph with the settings that all nodes and edges share; with `close`, and for flat boxes, nodes
    have less space between.
    """
    from graphviz import Digraph

    settings = {
        "rankdir": direction,
        "bgcolor": theme.background,
        "nodesep": "0.14" if close else "0.2",
        "ranksep": "0.21" if flat else "0.26" if close else "0.32",
        "pad": "0.15",
        "fontname": FONT,
    }
    ink = {"fontname": FONT, "fontcolor": theme.ink}
    return Digraph(
        graph_attr=settings,
        node_attr={**ink, "fontsize": f"{TEXT_SIZE:g}", "margin": "0.09,0.05", "height": "0.3", "width": "0.3"},
        edge_attr={**ink, "fontsize": f"{SMALL_SIZE:g}", "color": theme.wire, "arrowsize": "0.6"},
    )
