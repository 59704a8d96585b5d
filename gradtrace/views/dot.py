"""Trace -> Graphviz DOT text, in one of two styles.

    data       nodes are tensors, operations are the small ovals on the wires between them; AccumulateGrad is folded
               into its leaf
    autograd   nodes are the backward graph's functions as PyTorch keeps them, edges its next_functions

Inputs stand left and outputs right in both, or above and below. Node names come from the trace's ids (t0, o0, f0), so
the text is the same byte for byte from run to run; it needs no renderer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from gradtrace.errors import UsageError
from gradtrace.trace.record import Trace
from gradtrace.views.labels import text
from gradtrace.views.style import FONT, SMALL_SIZE, TEXT_SIZE, THEMES, Look, Theme

if TYPE_CHECKING:
    from graphviz import Digraph

STYLES = ("data", "autograd")
DIRECTIONS = {"right": "LR", "down": "TB"}


class Options(NamedTuple):
    """What to draw. `derivatives` maps (operation id, operand position) to the text on that wire."""

    style: str = "data"
    theme: str = "light"
    legend: bool = True
    values: bool = True
    gradients: bool = True
    accumulate: bool = False  # in the data style: show each leaf's AccumulateGrad node
    derivatives: Mapping[tuple[int, int], str] = {}
    direction: str = "right"

    @property
    def ports(self) -> tuple[str, str]:
        """The sides of a node where wires leave and enter it."""
        return ("e", "w") if self.direction == "right" else ("s", "n")


def source(trace: Trace, options: Options = Options()) -> str:
    """The DOT text of `trace`. UsageError for an unknown style or theme."""
    from gradtrace.views import dot_autograd, dot_data

    if options.style not in STYLES:
        raise UsageError(f"unknown graph style '{options.style}'", f"use one of: {', '.join(STYLES)}")
    if options.theme not in THEMES:
        raise UsageError(f"unknown theme '{options.theme}'", f"use one of: {', '.join(THEMES)}")
    theme = THEMES[options.theme]
    if options.direction not in DIRECTIONS:
        raise UsageError(f"unknown direction '{options.direction}'", f"use one of: {', '.join(DIRECTIONS)}")
    graph = canvas(theme, DIRECTIONS[options.direction])
    draw = dot_data.draw if options.style == "data" else dot_autograd.draw
    used = draw(graph, trace, options, theme)
    if options.legend:
        legend(graph, used, theme)
    return graph.source


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


def legend(graph: Digraph, used: list[Look], theme: Theme) -> None:
    """A column at the far left (a row at the top of a graph that goes down) with one sample of each look in use."""
    with graph.subgraph() as key:
        key.attr(rank="source")
        key.attr("node", fontsize=f"{SMALL_SIZE:g}", fontcolor=theme.faint, width="1.75", height="0.22")
        for i, look in enumerate(used):
            key.node(f"legend{i}", f"<{text(look.meaning)}>", **look.attributes() | {"margin": "0.06,0.02"})
        for i in range(len(used) - 1):
            key.edge(f"legend{i}", f"legend{i + 1}", style="invis")
