"""Trace -> Graphviz DOT text, in one of three styles.

    data       nodes are tensors, operations are the small ovals on the wires between them;
               AccumulateGrad is folded into its leaf
    function   nodes are tensors and Functions: the operations have boxes of their own, with their
               grad_fn and constants
    autograd   nodes are the backward graph's functions as PyTorch keeps them, edges its
               next_functions

Inputs stand left and outputs right in all of them, or above and below. Node names come from the
trace's ids (t0, o0, f0, g0), so the text is the same byte for byte from run to run; it needs no
renderer. What is drawn is `model`'s to say.
"""

from __future__ import annotations

import re
from itertools import pairwise

from gradtrace.annotations import TYPE_CHECKING, Mapping, NamedTuple, Sequence
from gradtrace.errors import UsageError
from gradtrace.trace.record import Trace, Value
from gradtrace.views import (
    boxes,
    dot_autograd,
    dot_data,
    dot_extras,
    dot_legend,
    flow,
    frame,
    nodes,
)
from gradtrace.views.drawing import INVISIBLE, Box, Drawing, Part, Wire
from gradtrace.views.labels import Line, Words, clip, wide
from gradtrace.views.model import STYLES, DrawnEdge, DrawnNode, Model, model
from gradtrace.views.style import FONT, SMALL_SIZE, TEXT_SIZE, THEMES, Look, Theme

if TYPE_CHECKING:
    from gradtrace.views.fold import Fold

DIRECTIONS = {"right": "LR", "down": "TB", "up": "BT"}
PORTS = {"right": ("e", "w"), "down": ("s", "n"), "up": ("n", "s")}  # where wires leave and enter
DEEPEST = 6  # frames of open scopes within one another
LARGE, HUB = 300, 6  # nodes of a large graph; edges of a leaf that are too many there
HUGE = 800  # nodes from which on a layout as it comes is good enough
# shapes that take space from their text
FLAT_MARGINS = {"cds": "0.22,0.1", "invhouse": "0.0,0.0", "box3d": "0.12,0.08"}
COLORS = {
    "role": "",
    "grad-norm": "size of the gradient",
    "precision": "relative error in roundings",
}


class DotOptions(NamedTuple):
    """Drawing options. With `derivatives` the edges show local derivatives, if the run was
    watched.
    """

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
    # lines of text in a box: all that a box has below one another (0), or its facts in one line or
    # two
    flat: int = 0
    # the row that each node stands in, where the picture goes on in a second one
    rows: Mapping[str, int] = {}

    @property
    def ports(self) -> tuple[str, str]:
        """Return the sides of a node where edges leave and enter it."""
        return PORTS[self.direction]


class Canvas:
    """The graph that is being drawn, with a subgraph for each open scope (and row) that contains
    nodes.
    """

    def __init__(self, drawn: Model, options: DotOptions) -> None:
        self.model = drawn
        self.options = options
        self.theme = THEMES[options.theme]
        self.drawing = empty_drawing(self.theme, options)
        self.rows = options.rows
        self.flowed = flow.gradients(drawn.trace)
        self.hooks = flow.hooks(drawn.trace)
        self.sizes: dict[str, float] = {}
        if options.color_by != "role":
            by_error = options.color_by == "precision"
            self.sizes = (
                dot_extras.errors(drawn) if by_error else dot_extras.norms(drawn, self.flowed)
            )
        self.fills = (
            dot_extras.fills(drawn, self.theme, self.sizes) if options.color_by != "role" else {}
        )
        self.used: dict[str, Look] = {}  # the looks of the nodes, by role
        self._frames: dict[tuple[int, int], Part] = {}
        self._depths: list[int] = []
        for scope in drawn.trace.scopes:
            self._depths.append(0 if scope.parent is None else self._depths[scope.parent] + 1)
        self._hubs = hubs(drawn)
        self._joined: set[str] = set()
        self._links: dict[str, int] = {}  # the number of each node that is read in another row
        self._linked: dict[str, int] = {}  # the row of each node that stands for one of another row

    def add_box(
        self,
        node: DrawnNode,
        lines: Sequence[Line],
        tooltip: Sequence[str],
        role: str,
        bad: str = "",
    ) -> None:
        """Add a node in the look of its role, and mark it if it is the first one that holds a NaN
        or an infinity.
        """
        theme = self.theme
        self.used[role] = look = self.look(theme.looks[role])
        attributes = look.attributes()
        fill = self.fills.get(node.key)
        if fill is not None:
            attributes["fillcolor"] = fill
            lines = on_fill(lines, theme)
        if bad:
            attributes.update(color=theme.bad, penwidth="3")
            lines = [*lines, wide(Words(bad, color=theme.bad, bold=True))]
        self.place(node.scope, node.key).items.append(
            Box(node.key, attributes, lines, tooltip=tooltip, row=self.row(node.key))
        )

    def look(self, look: Look) -> Look:
        """Return a look for this picture's direction; a flat box stays flat."""
        look = look.pointing(self.options.direction)
        if self.options.flat:
            return look._replace(margin=FLAT_MARGINS.get(look.shape, "0.1,0.03"))
        return look

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
        self._copy(key, self.row(edge.source), clip(leaf, 12), f"{leaf}, drawn once in full")
        return key

    def row(self, key: str) -> int:
        return self.rows.get(key, 0)

    def _link(self, source: str, row: int) -> str:
        """The small node where a row goes on with what another row made; both ends have the same
        number.
        """
        if source not in self._links:
            self._links[source] = len(self._links) + 1
            end = f"{source}x"
            words = f"{self._links[source]} ▸"
            self._copy(
                end, self.row(source), words, "goes on in another row, under the same number"
            )
            dotted = {"color": self.theme.idle, "style": "dotted", "arrowhead": "none"}
            self.drawing.items.append(Wire(source, end, dotted))
        key = f"{source}r{row}"
        if key not in self._linked:
            self._linked[key] = row
            name = name_of(self.model, source)
            self._copy(
                key, row, f"▸ {self._links[source]} {clip(name, 16)}", f"{name}, of another row"
            )
        return key

    def _copy(self, key: str, row: int, text: str, tooltip: str) -> None:
        attributes = {
            "shape": "box",
            "style": "rounded",
            "penwidth": "0.6",
            "color": self.theme.idle,
            "margin": "0.03,0.0",
            "height": "0.18",
        }
        name = Words(text, color=self.theme.faint)
        self.drawing.items.append(
            Box(key, attributes, caption=(name,), tooltip=(tooltip,), row=row)
        )

    def place(self, scope: int | None, key: str) -> Part:
        """Return the part of the drawing in which a node of a scope stands: the frame of the
        scope.
        """
        while scope is not None and self._depths[scope] >= DEEPEST:
            scope = self.model.trace.scopes[scope].parent
        if scope is None or self.options.levels:  # Graphviz crashes on a level through frames
            return self.drawing
        row = self.row(key)
        if (scope, row) not in self._frames:
            self._frames[scope, row] = self._frame(scope, row)
            self.place(self.model.trace.scopes[scope].parent, key)
        return self._frames[scope, row]

    def _frame(self, index: int, row: int) -> Part:
        scope = self.model.trace.scopes[index]
        name = f"pass {scope.turn}" if scope.kind == "pass" else clip(scope.name, 40)
        title = Words(name, TEXT_SIZE, self.theme.faint, bold=True).markup
        if any(framed == index for framed, _ in self._frames):
            title += Words(" continued", color=self.theme.faint).markup
        if scope.detail and scope.detail != scope.name:
            title += Words("\u00a0 " + scope.detail, color=self.theme.faint).markup
        settings = {
            "label": f"<{title}>",
            "labeljust": "l",
            "style": "rounded,dashed",
            "color": self.theme.scope,
            "margin": "10",
            "id": f"s{index}",
        }
        return Part(settings, f"cluster_s{index}" + (f"r{row}" if row else ""))

    def close(self) -> None:
        """Put every frame into the frame around it, inner ones first, and the rows below one
        another.
        """
        for index, row in sorted(self._frames, reverse=True):
            parent = self.model.trace.scopes[index].parent
            while parent is not None and (parent, row) not in self._frames:
                parent = self.model.trace.scopes[parent].parent
            around = self.drawing if parent is None else self._frames[parent, row]
            around.items.append(self._frames[index, row])
        if self.rows:
            self._order()

    def _order(self) -> None:
        """Keep the rows in order: an unseen node before each, and these below one another."""
        arrives = {
            edge.target
            for edge in self.model.edges
            if self.row(edge.source) == self.row(edge.target)
        }
        firsts: dict[int, list[str]] = {}
        for node in self.model.nodes:
            if node.key not in arrives:
                firsts.setdefault(self.row(node.key), []).append(node.key)
        column = Part({"rank": "same"})
        point = {"shape": "point", "style": INVISIBLE, "width": "0.01", "height": "0.01"}
        column.items += [Box(f"row{row}", point) for row in sorted(firsts)]
        column.items += [
            Wire(f"row{row}", f"row{following}", {"style": INVISIBLE})
            for row, following in pairwise(sorted(firsts))
        ]
        self.drawing.items.append(column)
        for key, row in self._linked.items():
            firsts.setdefault(row, []).append(key)
        for row, keys in firsts.items():
            self.drawing.items += [
                Wire(f"row{row}", key, {"style": INVISIBLE, "weight": "0"}) for key in keys
            ]


def on_fill(lines: Sequence[Line], theme: Theme) -> list[Line]:
    """Return the lines in a text colour that is readable on every colour of the scale."""
    faint = {theme.gradient, theme.gradient_spark, theme.spark, theme.faint}
    return [
        tuple(
            cell._replace(
                words=tuple(
                    w._replace(color=theme.ink) if w.color in faint else w for w in cell.words
                )
            )
            for cell in line
        )
        for line in lines
    ]


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
    return (
        nodes.program_word(trace, trace.operations[operation]) or trace.operations[operation].name
    )


def hubs(drawn: Model) -> dict[str, str]:
    """Return the names of leaves whose many long edges would cover a large graph (and slow Graphviz
    down to minutes).
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
        if (
            leaf is not None
            and trace.tensors[leaf].operation is None
            and uses.get(node.key, 0) > HUB
        ):
            names[node.key] = trace.tensors[leaf].label
    return names


def source(trace: Trace, options: DotOptions = DotOptions(), folded: Fold | None = None) -> str:
    """Return the DOT text of `trace`, folded as `folded` says. UsageError for an unknown style or
    theme.
    """
    check(options)
    return text_of(model(trace, options.style, folded), options)


def check(options: DotOptions) -> None:
    """Raise UsageError for an option with an unknown value."""
    for complaint, value, allowed in (
        ("unknown graph style", options.style, STYLES),
        ("unknown theme", options.theme, THEMES),
        ("unknown direction", options.direction, DIRECTIONS),
        ("cannot colour by", options.color_by, COLORS),
    ):
        if value not in allowed:
            raise UsageError(f"{complaint} '{value}'", f"use one of: {', '.join(allowed)}")


def text_of(drawn: Model, options: DotOptions) -> str:
    """Return the DOT text of a model, for valid `options`."""
    return drawing_of(drawn, options).text


def drawing_of(drawn: Model, options: DotOptions) -> Drawing:
    """Return the drawing of a model, for valid `options`."""
    board = Canvas(drawn, options)
    theme = board.theme
    drawing = board.drawing
    (dot_autograd if options.style == "autograd" else dot_data).draw(board)
    board.close()
    if len(drawn.nodes) > HUGE:  # the last per cent of shortness takes most of the time
        drawing.settings |= {"nslimit": "0.5", "nslimit1": "1"}
    if options.levels:
        dot_extras.levels(drawing, drawn, theme)
    if options.legend:
        looks = [board.used[role] for role in theme.looks if role in board.used]
        quantity = COLORS[options.color_by]
        scale = dot_extras.scale(theme, board.sizes, quantity) if quantity else ""
        notes = remarks(drawn, options, board.flowed, drawing.words())
        drawing.legend = dot_legend.legend(looks, notes, scale, frame.Layout(drawing).size(), theme)
    return drawing


def remarks(
    drawn: Model, options: DotOptions, flowed: Mapping[int, Value], words: str
) -> list[str]:
    """Return the facts that hold for most nodes; they are written once below the drawing."""
    if options.detail:
        return []
    trace = drawn.trace
    notes = signs(drawn, words)
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
    return [*notes, *filter(None, [total(drawn)])]


def total(drawn: Model) -> str:
    """Return the counts of parameters and multiply-accumulates of all that is drawn."""
    operations = drawn.trace.operations
    read = {t for operation in operations for t in operation.tensors}
    parameters = {t.first: t.id for t in drawn.trace.tensors if t.is_parameter and t.id in read}
    return nodes.counts(drawn.trace, list(parameters.values()), range(len(operations)))


def signs(drawn: Model, words: str) -> list[str]:
    """Return what the strips, |grad|, a gradient in parentheses and ×N mean, if the text of a
    picture has them.
    """
    trace = drawn.trace
    values = [trace.tensors[n.record].value for n in drawn.nodes if n.kind == "tensor"]
    values += [trace.tensors[t].value for t in drawn.results.values()]
    arrays = [
        v
        for v in values
        if v is not None and v.shape and v.is_measured and boxes.written_out(v) is None
    ]
    meanings = []
    if arrays and re.search("[▁-█]", words):
        order = ["elements in order"] if any(v.kept is None for v in arrays) else []
        counts = ["histogram of the elements"] if any(v.kept is not None for v in arrays) else []
        meanings.append(f"▂▅▇ {' or '.join(order + counts)}, smallest … largest")
    if any(group.copies > 1 and not group.leaves for group in drawn.groups) and re.search(
        "[▁-█]", words
    ):
        meanings.append("of equal blocks: each result or its norm, first … last")
    if "|grad|" in words:
        meanings.append("|grad| norm of the gradient")
    if re.search(r"\(\|?grad", words):
        meanings.append("(grad): passed, not kept")
    if re.search(r"×\d", words):
        meanings.append("×N: N times")
    return meanings


def empty_drawing(theme: Theme, options: DotOptions) -> Drawing:
    """Return a drawing with the settings that all nodes and edges share; flat boxes, and rows, have
    less space between them.
    """
    nodesep, ranksep = ("0.14", "0.26") if options.rows else ("0.2", "0.32")
    settings = {
        "rankdir": DIRECTIONS[options.direction],
        "bgcolor": theme.background,
        "nodesep": nodesep,
        "ranksep": "0.21" if options.flat else ranksep,
        "pad": "0.15",
        "fontname": FONT,
    }
    ink = {"fontname": FONT, "fontcolor": theme.ink}
    return Drawing(
        settings,
        {
            **ink,
            "fontsize": f"{TEXT_SIZE:g}",
            "margin": "0.09,0.05",
            "height": "0.3",
            "width": "0.3",
        },
        {**ink, "fontsize": f"{SMALL_SIZE:g}", "color": theme.wire, "arrowsize": "0.6"},
    )
