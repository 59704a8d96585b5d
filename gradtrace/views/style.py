"""The visual language of the graphs: palette, shapes, borders, fonts.

Shape, border and colour each show distinctions, so that they remain visible with colour blindness and in grey print:

    shape    rounded: a leaf; folded corner: a leaf without grad; arrow: an output; square: computed
    border   thick: takes part in backward from the ends; double: its gradient is kept; dashed: no gradient flows
    colour   blue, grey, orange, green, white (Okabe-Ito hues; fills differ in lightness too)
"""

from __future__ import annotations

from gradtrace.annotations import NamedTuple

FONT = "DejaVu Sans,Verdana,sans-serif"
NAME_SIZE = 12
TEXT_SIZE = 9.5
SMALL_SIZE = 9


class Look(NamedTuple):
    """The look of nodes with one role, and its text in the legend."""

    meaning: str
    shape: str
    fill: str
    border: str
    width: float = 1.0
    style: str = "filled"
    peripheries: int = 1
    margin: str = "0.09,0.05"

    def pointing(self, direction: str) -> Look:
        """Return the same look with its arrow in the direction of the graph: right, down or up."""
        if self.shape != "cds" or direction == "right":
            return self
        return self._replace(shape={"up": "house", "down": "invhouse"}[direction], margin="0.02,0.0")

    def attributes(self) -> dict[str, str]:
        """Return the look as Graphviz node attributes."""
        return {
            "shape": self.shape,
            "style": self.style,
            "fillcolor": self.fill,
            "color": self.border,
            "penwidth": f"{self.width:g}",
            "peripheries": str(self.peripheries),
            "margin": self.margin,
        }


class Theme(NamedTuple):
    """The colours of one picture. `ink` is for names and numbers, `faint` for explanations."""

    background: str
    ink: str
    faint: str
    wire: str
    idle: str  # edges along which no gradient flows
    spark: str
    gradient: str
    gradient_spark: str
    bad: str
    operation: Look
    group: Look
    series: Look
    scope: str  # the frame around an open scope
    scale: tuple[str, ...]  # fills from a small to a large gradient, each a step darker (light) or brighter (dark)
    looks: dict[str, Look]  # of tensors, by role, in the legend's order
    functions: dict[str, Look]  # of the autograd graph's functions

    @property
    def by_role(self) -> dict[str, Look]:
        """The looks of all nodes, in the legend's order."""
        others = {"group": self.group, "series": self.series, "operation": self.operation}
        return {**self.looks, **self.functions, **others}


LIGHT = Theme(
    background="#ffffff",
    ink="#1a1a1a",
    faint="#595959",
    wire="#4d4d4d",
    idle="#878787",
    spark="#6b757e",
    gradient="#8a3b00",
    gradient_spark="#b06a33",
    bad="#b00020",
    operation=Look("operation", "ellipse", "#ffffff", "#8c8c8c", margin="0.04,0.0"),
    group=Look("folded: several operations", "tab", "#f4e6ef", "#7d2f5b", 1.4),
    series=Look("folded: equal blocks", "box3d", "#f4e6ef", "#7d2f5b", 1.4, margin="0.11,0.1"),
    scope="#94788a",
    scale=("#fffaf0", "#ffe9c7", "#ffd08a", "#f9b04f", "#ee8d1d"),
    looks={
        "leaf": Look("leaf, requires grad", "box", "#d3e6f8", "#005a9c", 2.2, "rounded,filled"),
        "data": Look("leaf without grad", "note", "#ececec", "#6b6b6b"),
        "constant": Look("constant", "box", "#f7f7f7", "#8c8c8c", 1.0, "filled,dotted"),
        "nonleaf": Look("computed", "box", "#ffffff", "#404040"),
        "result": Look("computed, no grad", "box", "#f7f7f7", "#8c8c8c", 1.0, "filled,dashed"),
        "retained": Look("computed, grad retained", "box", "#dff3e4", "#00664a", 1.0, "filled", 2),
        "output": Look("output", "cds", "#fde3b8", "#9c4a00", 2.2, margin="0.2,0.15"),
        "failed": Look("failed", "box", "#fbe3e6", "#b00020", 3.0, "filled,diagonals", margin="0.16,0.11"),
    },
    functions={
        "accumulate": Look("AccumulateGrad of a leaf", "box", "#d3e6f8", "#005a9c", 2.2, "rounded,filled"),
        "function": Look("function", "box", "#ffffff", "#404040"),
        "freed": Look("function, saved values freed", "box", "#f0f0f0", "#8c8c8c", 1.0, "filled,dashed"),
        "root": Look("root: backward starts here", "cds", "#fde3b8", "#9c4a00", 2.2, margin="0.2,0.15"),
    },
)

DARK = Theme(
    background="#14171c",
    ink="#f0f0f0",
    faint="#b4b8bf",
    wire="#b4b8bf",
    idle="#6f757d",
    spark="#8d96a0",
    gradient="#ffb870",
    gradient_spark="#b07a44",
    bad="#ff7a85",
    operation=Look("operation", "ellipse", "#14171c", "#8f959d", margin="0.04,0.0"),
    group=Look("folded: several operations", "tab", "#38202f", "#d79abc", 1.4),
    series=Look("folded: equal blocks", "box3d", "#38202f", "#d79abc", 1.4, margin="0.11,0.1"),
    scope="#806976",
    scale=("#1b1d22", "#33291a", "#523a14", "#74500f", "#8f5f04"),
    looks={
        "leaf": Look("leaf, requires grad", "box", "#12395c", "#6db6f2", 2.2, "rounded,filled"),
        "data": Look("leaf without grad", "note", "#2c3036", "#a3a8af"),
        "constant": Look("constant", "box", "#1d2127", "#8f959d", 1.0, "filled,dotted"),
        "nonleaf": Look("computed", "box", "#14171c", "#c8ccd2"),
        "result": Look("computed, no grad", "box", "#1d2127", "#8f959d", 1.0, "filled,dashed"),
        "retained": Look("computed, grad retained", "box", "#0f3a2c", "#5fd3a6", 1.0, "filled", 2),
        "output": Look("output", "cds", "#553008", "#f5a748", 2.2, margin="0.2,0.15"),
        "failed": Look("failed", "box", "#471a20", "#ff7a85", 3.0, "filled,diagonals", margin="0.16,0.11"),
    },
    functions={
        "accumulate": Look("AccumulateGrad of a leaf", "box", "#12395c", "#6db6f2", 2.2, "rounded,filled"),
        "function": Look("function", "box", "#14171c", "#c8ccd2"),
        "freed": Look("function, saved values freed", "box", "#23272d", "#8f959d", 1.0, "filled,dashed"),
        "root": Look("root: backward starts here", "cds", "#553008", "#f5a748", 2.2, margin="0.2,0.15"),
    },
)

THEMES = {"light": LIGHT, "dark": DARK}


def upward(name: str) -> list[str]:
    """Return the first lines of a DOT text for a graph that goes upward from the inputs, in the light theme."""
    ink = f'fontname="{FONT}", fontcolor="{LIGHT.ink}"'
    return [
        f"digraph {name} {{",
        "  rankdir=BT; nodesep=0.3; ranksep=0.45; pad=0.15;",
        f"  node [{ink}, fontsize=11, height=0.34, width=0.5];",
        f'  edge [{ink}, fontsize={SMALL_SIZE}, fontcolor="{LIGHT.faint}", color="{LIGHT.wire}", arrowsize=0.6];',
        "  { rank=source;",
    ]


def listed(look: Look) -> str:
    """Return a look as the attributes of a node in DOT text."""
    return ", ".join(f'{name}="{value}"' for name, value in look.attributes().items())
