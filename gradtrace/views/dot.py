"""Trace -> Graphviz DOT text, in one of three styles.

    data       nodes are tensors, operations are the small ovals on the wires between them; AccumulateGrad is folded
               into its leaf
    function   nodes are tensors and Functions: the operations have boxes of their own, with their grad_fn and constants
    autograd   nodes are the backward graph's functions as PyTorch keeps them, edges its next_functions

Inputs stand left and outputs right in all of them, or above and below. Node names come from the trace's ids (t0, o0,
f0, g0), so the text is the same byte for byte from run to run; it needs no renderer. What is drawn is `model`'s to say.
"""

from __future__ import annotations

from itertools import pairwise

from gradtrace.annotations import TYPE_CHECKING, NamedTuple
from gradtrace.errors import UsageError
from gradtrace.trace.record import Trace
from gradtrace.views import dot_autograd, dot_data, dot_extras, flow
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
COLORS = ("role", "grad-norm")


class DotOptions(NamedTuple):
    """What to draw. `derivatives` writes each operation's local derivatives on its wires, if the run was watched."""

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

    @property
    def ports(self) -> tuple[str, str]:
        """The sides of a node where wires leave and enter it."""
        return PORTS[self.direction]


class Canvas:
    """The graph that is being drawn, and one subgraph for each open scope that has something in it."""

    def __init__(self, graph: Digraph, drawn: Model, theme: Theme, *, frames: bool) -> None:
        self.graph = graph
        self.frames = frames
        self.model = drawn
        self.theme = theme
        self._frames: dict[int, Digraph] = {}
        self._depths: list[int] = []
        for scope in drawn.trace.scopes:
            self._depths.append(0 if scope.parent is None else self._depths[scope.parent] + 1)

        self._hubs = hubs(drawn)
        self._joined: set[str] = set()

    def start(self, edge: DrawnEdge, number: int) -> str:
        """The node that an edge leaves: its source, or a small copy beside its target if that has too many edges."""
        if edge.source not in self._hubs or edge.source not in self._joined:
            self._joined.add(edge.source)
            return edge.source
        key = f"{edge.source}c{number}"
        leaf = self._hubs[edge.source]
        name = font(text(clip(leaf, 12)), size=SMALL_SIZE, color=self.theme.faint)
        self.graph.node(
            key,
            f"<{name}>",
            id=key,
            shape="box",
            style="rounded,dotted",
            color=self.theme.idle,
            margin="0.03,0.0",
            height="0.18",
            tooltip=escape_attribute(f"{leaf}, drawn once in full"),
        )
        return key

    def place(self, scope: int | None) -> Digraph:
        """Where a node of that scope is declared."""
        while scope is not None and self._depths[scope] >= DEEPEST:
            scope = self.model.trace.scopes[scope].parent
        if scope is None or not self.frames:
            return self.graph
        if scope not in self._frames:
            self._frames[scope] = self._frame(scope)
            self.place(self.model.trace.scopes[scope].parent)
        return self._frames[scope]

    def _frame(self, index: int) -> Digraph:
        from graphviz import Digraph

        scope = self.model.trace.scopes[index]
        name = f"pass {scope.turn}" if scope.kind == "pass" else clip(scope.name, 40)
        title = font(text(name), bold=True, size=TEXT_SIZE, color=self.theme.faint)
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
        return Digraph(name=f"cluster_s{index}", graph_attr=settings)

    @property
    def framed(self) -> bool:
        """Whether there are frames."""
        return bool(self._frames)

    def close(self) -> None:
        """Puts every frame into the one around it, inner ones first."""
        for index in sorted(self._frames, reverse=True):
            parent = self.model.trace.scopes[index].parent
            (self.graph if parent is None else self._frames[parent]).subgraph(self._frames[index])


def hubs(drawn: Model) -> dict[str, str]:
    """Return the names of leaves of a large graph whose many long edges would cover it (and take Graphviz minutes)."""
    if len(drawn.nodes) <= LARGE:
        return {}
    uses: dict[str, int] = {}
    for edge in drawn.edges:
        uses[edge.source] = uses.get(edge.source, 0) + 1
    trace = drawn.trace
    found = {}
    for node in drawn.nodes:
        leaf = node.record if node.kind == "tensor" else None
        if node.kind == "function":
            leaf = trace.functions[node.record].variable
        if leaf is not None and trace.tensors[leaf].operation is None and uses.get(node.key, 0) > HUB:
            found[node.key] = trace.tensors[leaf].label
    return found


def source(trace: Trace, options: DotOptions = DotOptions(), folded: Fold | None = None) -> str:
    """The DOT text of `trace`, folded as `folded` says. UsageError for an unknown style or theme."""
    check(options)
    return text_of(model(trace, options.style, folded), options)


def check(options: DotOptions) -> None:
    """UsageError for an option that has no such choice."""
    if options.style not in STYLES:
        raise UsageError(f"unknown graph style '{options.style}'", f"use one of: {', '.join(STYLES)}")
    if options.theme not in THEMES:
        raise UsageError(f"unknown theme '{options.theme}'", f"use one of: {', '.join(THEMES)}")
    if options.direction not in DIRECTIONS:
        raise UsageError(f"unknown direction '{options.direction}'", f"use one of: {', '.join(DIRECTIONS)}")
    if options.color_by not in COLORS:
        raise UsageError(f"cannot colour by '{options.color_by}'", f"use one of: {', '.join(COLORS)}")


def text_of(drawn: Model, options: DotOptions) -> str:
    """The DOT text of a model, in `options` that are known to be right."""
    theme = THEMES[options.theme]
    graph = canvas(theme, DIRECTIONS[options.direction])
    if len(drawn.nodes) > HUGE:  # the last per cent of shortness takes most of the time
        graph.attr(nslimit="0.5", nslimit1="1")
    flowed = flow.gradients(drawn.trace)
    board = Canvas(graph, drawn, theme, frames=not options.levels)  # Graphviz crashes on a level through frames
    draw = dot_autograd.draw if options.style == "autograd" else dot_data.draw
    used = draw(board, drawn, options, flowed)
    board.close()
    if options.levels:
        dot_extras.levels(graph, drawn, theme, options.direction)
    if options.legend:
        samples = [f"<{text(look.meaning)}>" for look in used]
        scale = dot_extras.scale(drawn, theme, flowed) if options.color_by == "grad-norm" else ""
        legend(graph, used, samples, scale, theme, row=board.framed or options.direction != "right")
    source: str = graph.source
    return source


def canvas(theme: Theme, direction: str = "LR") -> Digraph:
    """An empty graph with the settings that all nodes and edges share."""
    from graphviz import Digraph

    settings = {
        "rankdir": direction,
        "bgcolor": theme.background,
        "nodesep": "0.2",
        "ranksep": "0.32",
        "pad": "0.15",
        "fontname": FONT,
    }
    ink = {"fontname": FONT, "fontcolor": theme.ink}
    return Digraph(
        graph_attr=settings,
        node_attr={**ink, "fontsize": f"{TEXT_SIZE:g}", "margin": "0.09,0.05", "height": "0.3", "width": "0.3"},
        edge_attr={**ink, "fontsize": f"{SMALL_SIZE:g}", "color": theme.wire, "arrowsize": "0.6"},
    )


def legend(graph: Digraph, used: list[Look], samples: list[str], scale: str, theme: Theme, *, row: bool) -> None:
    """One sample of each look in use, and the scale of the fills if there is one.

    They stand in a column at the far left. Where frames would push what is beside them out of the way, and in a graph
    that goes down or up, they stand in a `row` that goes the way the graph does.
    """
    names = [f"legend{i}" for i in range(len(used))]
    with graph.subgraph() as key:
        if not row:
            key.attr(rank="source")
        key.attr("node", fontsize=f"{SMALL_SIZE:g}", fontcolor=theme.faint, width="1.95", height="0.22")
        for name, look, sample in zip(names, used, samples, strict=True):
            taller = {"height": "0.36"} if look.shape == "cds" else {}  # its arrow takes a part of the height
            key.node(name, sample, **look.attributes() | {"margin": "0.06,0.02"} | taller)
        if scale:
            names.append("legendscale")
            key.node("legendscale", scale, shape="plaintext")
        for one, other in pairwise(names):
            key.edge(one, other, style="invis")
