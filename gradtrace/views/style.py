"""The visual language of the graphs: palette, shapes, borders, fonts.

Shape, border and colour each show distinctions, so that they remain visible with colour blindness
and in grey print:

    shape    rounded: a leaf; folded corner: a leaf without grad; arrow: an output; square: computed
    border   thick: takes part in backward from the ends; double: its gradient is kept; dashed: no
             gradient flows
    colour   blue, grey, orange, green, white (Okabe-Ito hues; fills differ in lightness too)
"""

from __future__ import annotations

from gradtrace.annotations import NamedTuple
from gradtrace.lazy_names import word_pairs

FONT = "DejaVu Sans,Verdana,sans-serif"
NAME_SIZE = 12
TEXT_SIZE = 9.5
SMALL_SIZE = 9


class Look(NamedTuple):
    """The look of nodes with one role, and its text in the legend."""

    meaning: str
    shape: str
    fill: str = ""  # the theme's
    border: str = ""
    width: float = 1.0
    style: str = "filled"
    peripheries: int = 1
    margin: str = "0.09,0.05"

    def pointing(self, direction: str) -> Look:
        """Return the same look with its arrow in the direction of the graph: right, down or up."""
        if self.shape != "cds" or direction == "right":
            return self
        return self._replace(
            shape={"up": "house", "down": "invhouse"}[direction], margin="0.02,0.0"
        )

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
    scope: str  # the frame around an open scope
    # fills from a small to a large gradient, each a step darker (light) or brighter (dark)
    scale: tuple[str, ...]
    looks: dict[str, Look]  # of nodes, by role, in the legend's order


LOOKS = {
    "leaf": Look("leaf, requires grad", "box", width=2.2, style="rounded,filled"),
    "data": Look("leaf without grad", "note"),
    "constant": Look("constant", "box", style="filled,dotted"),
    "nonleaf": Look("computed", "box"),
    "result": Look("computed, no grad", "box", style="filled,dashed"),
    "retained": Look("computed, grad retained", "box", peripheries=2),
    "output": Look("output", "cds", width=2.2, margin="0.2,0.15"),
    "failed": Look("failed", "box", width=3.0, style="filled,diagonals", margin="0.16,0.11"),
    "accumulate": Look("AccumulateGrad of a leaf", "box", width=2.2, style="rounded,filled"),
    "function": Look("function", "box"),
    "freed": Look("function, saved values freed", "box", style="filled,dashed"),
    "root": Look("root: backward starts here", "cds", width=2.2, margin="0.2,0.15"),
    "group": Look("folded: several operations", "tab", width=1.4),
    "series": Look("folded: equal blocks", "box3d", width=1.4, margin="0.11,0.1"),
    "leaves": Look("leaves, stacked", "box3d", width=2.2, margin="0.11,0.1"),
    "operation": Look("operation", "ellipse", margin="0.04,0.0"),
}
SAME_COLOURS = {
    "accumulate": "leaf",
    "function": "nonleaf",
    "root": "output",
    "series": "group",
    "leaves": "leaf",
}


def theme_of(colours: str, scale: str, packed: str) -> Theme:
    """Return a theme of packed tables: its colours by name, its scale, and the fill and border of
    each role.
    """
    words = packed.split()
    fills = {
        role: (fill, border)
        for role, fill, border in zip(words[::3], words[1::3], words[2::3], strict=True)
    }
    painted = {role: (look, *fills[SAME_COLOURS.get(role, role)]) for role, look in LOOKS.items()}
    looks = {
        role: look._replace(fill=fill, border=border)
        for role, (look, fill, border) in painted.items()
    }
    return Theme(**word_pairs(colours), scale=tuple(scale.split()), looks=looks)


LIGHT = theme_of(
    """background #ffffff  ink #1a1a1a  faint #595959  wire #4d4d4d  idle #878787  spark #6b757e  gradient #8a3b00
    gradient_spark #b06a33  bad #b00020  scope #94788a""",
    "#fffaf0 #ffe9c7 #ffd08a #f9b04f #ee8d1d",
    """
    leaf       #d3e6f8 #005a9c
    data       #ececec #6b6b6b
    constant   #f7f7f7 #8c8c8c
    nonleaf    #ffffff #404040
    result     #f7f7f7 #8c8c8c
    retained   #dff3e4 #00664a
    output     #fde3b8 #9c4a00
    failed     #fbe3e6 #b00020
    freed      #f0f0f0 #8c8c8c
    operation  #ffffff #8c8c8c
    group      #f4e6ef #7d2f5b
    """,
)
DARK = theme_of(
    """background #14171c  ink #f0f0f0  faint #b4b8bf  wire #b4b8bf  idle #6f757d  spark #8d96a0  gradient #ffb870
    gradient_spark #b07a44  bad #ff7a85  scope #806976""",
    "#1b1d22 #33291a #523a14 #74500f #8f5f04",
    """
    leaf       #12395c #6db6f2
    data       #2c3036 #a3a8af
    constant   #1d2127 #8f959d
    nonleaf    #14171c #c8ccd2
    result     #1d2127 #8f959d
    retained   #0f3a2c #5fd3a6
    output     #553008 #f5a748
    failed     #471a20 #ff7a85
    freed      #23272d #8f959d
    operation  #14171c #8f959d
    group      #38202f #d79abc
    """,
)

THEMES = {"light": LIGHT, "dark": DARK}


def upward(name: str) -> list[str]:
    """Return the first lines of a DOT text for a graph that goes upward from the inputs, in the
    light theme.
    """
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
