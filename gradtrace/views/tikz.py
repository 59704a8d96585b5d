"""A drawing as TikZ: the lines, shapes and texts of Graphviz's layout, one command each, in the document's font.

    tikz(dot text) -> a document that pdflatex, lualatex and xelatex compile (class `standalone`); with Chinese,
        Japanese or Korean text, lualatex and xelatex

`\\input` includes the file in another document that loads the package `standalone`. A text that is wider in TeX's font
than in Graphviz's is narrowed to its width there; a sparkline is drawn as bars.
"""

from __future__ import annotations

import json
import re

from gradtrace.annotations import Any, Iterator, Sequence
from gradtrace.views import image
from gradtrace.views.tex import escaped

HEAD = r"""% Made by gradtrace. Compile with pdflatex, lualatex or xelatex.
\documentclass[tikz,border=2pt]{standalone}
\usepackage[T1]{fontenc}
\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
\usepackage{textcomp}
\usepackage{amssymb}
\usepackage{graphicx}
\newsavebox\gradtracebox
\newcommand\gradtracefit[2]{\sbox\gradtracebox{#2}%
  \ifdim\wd\gradtracebox>#1\relax\resizebox{#1}{\height}{\usebox\gradtracebox}\else\usebox\gradtracebox\fi}
\begin{document}
"""
# Letters that the fonts of pdflatex lack (Cyrillic, for example): there ? stands for them.
LETTERS_HEAD = r"""\ifdefined\Umathchar
  \usepackage{fontspec}
  \IfFontExistsTF{DejaVu Sans}{\setsansfont{DejaVu Sans}}{}
\fi
\begin{document}
"""
# Chinese, Japanese and Korean text: the first of these fonts that is installed, else a warning and question marks.
EASTERN_HEAD = r"""\newcommand\gradtraceeastern[1]{?}
\newcommand\gradtracewarn[1]{\PackageWarningNoLine{gradtrace}{Chinese, Japanese and Korean text is left out: #1}}
\newcommand\gradtracetry[1]{\ifdefined\gradtracefont\else\IfFontExistsTF{#1}{\newfontfamily\gradtracefont{#1}}{}\fi}
\ifdefined\Umathchar
  \usepackage{fontspec}
  FONTS
  \ifdefined\gradtracefont
    \renewcommand\gradtraceeastern[1]{{\gradtracefont #1}}
  \else
    \gradtracewarn{install the font Noto Sans CJK SC}
  \fi
\else
  \gradtracewarn{compile with xelatex or lualatex}
\fi
\begin{document}
"""
EASTERN_FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Serif CJK SC",
    "Source Han Sans SC",
    "Hiragino Sans",
    "Microsoft YaHei",
    "Malgun Gothic",
    "WenQuanYi Zen Hei",
)
# Jamo, radicals and punctuation, kana, ideographs, syllables, full width
EASTERN = (
    "[\u1100-\u11ff\u2e80-\u4dbf\u4e00-\u9fff\ua960-\ua97f"
    "\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]+"
)
BARS = " ▁▂▃▄▅▆▇█"
ANCHORS = {"l": "base west", "c": "base", "r": "base east"}
DRAWN = ("_draw_", "_ldraw_", "_hdraw_", "_tdraw_", "_hldraw_", "_tldraw_")
BOLD, ITALIC = 1, 2


def tikz(source: str) -> str:
    """Return the document of a drawing in DOT. RenderError if no renderer for its layout is found."""
    # Graphviz writes bytes of freed memory behind the style of a table's border: no text, and no strict JSON
    layout = json.loads(image.render(source, "json").decode("utf-8", "replace"), strict=False)
    pen = Pen()
    things = [layout, *in_order(layout)]
    lines = [line for thing in things for part in DRAWN for line in pen.lines(thing.get(part, ()))]
    colours = [rf"\definecolor{{{name}}}{{HTML}}{{{code}}}" for code, name in pen.colours.items()]
    body = [r"\begin{tikzpicture}[x=1bp,y=1bp,line width=1bp,inner sep=0pt]", *colours, *lines, r"\end{tikzpicture}"]
    return head_for(body) + "\n".join(body) + "\n\\end{document}\n"


def head_for(body: Sequence[str]) -> str:
    """Return the preamble, with fonts for text that those of pdflatex lack, if the drawing has any."""
    head, start, any_engine = HEAD, "\\begin{document}\n", "pdflatex, lualatex or xelatex."
    if any(r"\ifdefined\Umathchar" in line for line in body):
        head = head.replace(any_engine, "lualatex or xelatex: it has letters that pdflatex lacks.")
        head = head.replace(start, LETTERS_HEAD)
    if any(r"\gradtraceeastern{" in line for line in body):
        tried = "".join(rf"\gradtracetry{{{name}}}" for name in EASTERN_FONTS)
        head = head.replace(any_engine, "lualatex or xelatex: it has Chinese, Japanese or Korean text.")
        head = head.replace(start, EASTERN_HEAD.replace("FONTS", tried))
    return head


def in_order(layout: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the objects in drawing order: frames first, then edges, then nodes over them."""
    objects = layout.get("objects", [])
    frames = [one for one in objects if "nodes" in one or "subgraphs" in one]
    return [*frames, *layout.get("edges", []), *(one for one in objects if one not in frames)]


class Pen:
    """The drawing state (colours, font, line style) that Graphviz's operations change, and the colours that were
    used.
    """

    def __init__(self) -> None:
        self.colours: dict[str, str] = {}  # name by six hexadecimal digits
        self.reset()

    def reset(self) -> None:
        self.line: str | None = "000000"
        self.fill: str | None = None
        self.style: list[str] = []
        self.size = 14.0
        self.font = 0

    def colour(self, code: str | None) -> str:
        return self.colours.setdefault(code or "000000", f"gradtrace{len(self.colours)}")

    def lines(self, operations: Sequence[dict[str, Any]]) -> Iterator[str]:
        self.reset()
        for one in operations:
            what = one["op"]
            if what in "cC" and one["grad"] == "none":
                self.take(what, one["color"])
            elif what == "S":
                self.style = [*self.style, *style_of(one["style"])] if one["style"] != "solid" else []
            elif what == "F":
                self.size = one["size"]
            elif what == "t":
                self.font = one["fontchar"]
            elif what == "T":
                yield from self.text(one)
            else:
                yield from self.shape(what, one)

    def take(self, what: str, code: str) -> None:
        shown = None if len(code) == 9 and code.endswith("00") else code[1:7].upper()
        if what == "c":
            self.line = shown
        else:
            self.fill = shown

    def shape(self, what: str, one: dict[str, Any]) -> Iterator[str]:
        """Return a polygon, curve, ellipse or polyline; a capital letter of its operation means that it is filled."""
        settings = [*self.style]
        if self.line is not None:
            settings.append(f"draw={self.colour(self.line)}")
        if what in "PBE" and self.fill is not None:
            settings.append(f"fill={self.colour(self.fill)}")
        path = path_of(what.lower(), one)
        if path and len(settings) > len(self.style):
            yield rf"\path[{','.join(settings)}] {path};"

    def text(self, one: dict[str, Any]) -> Iterator[str]:
        x, y = one["pt"]
        text, width, align = one["text"], one["width"], one["align"]
        if not text.strip():  # TeX cannot fit what has no height
            return
        if set(BARS[1:]) & set(text) and set(text) <= {*BARS, "×"}:
            start = x - {"l": 0.0, "c": 0.5, "r": 1.0}[align] * width
            yield from self.bars(text, start, y, width / len(text))
            return
        weight = (r"\bfseries" if self.font & BOLD else "") + (r"\itshape" if self.font & ITALIC else "")
        font = rf"\sffamily{weight}\fontsize{{{self.size:g}bp}}{{{self.size:g}bp}}\selectfont"
        held = rf"{font} \gradtracefit{{{max(width, 1):g}bp}}{{{spaced(text)}}}"
        yield rf"\node[anchor={ANCHORS[align]},text={self.colour(self.line)}] at ({x:g},{y:g}) {{{held}}};"

    def bars(self, text: str, x: float, y: float, width: float) -> Iterator[str]:
        """Return a sparkline: each character is a bar on the text's base line; values that are not finite are
        crosses.
        """
        colour = self.colour(self.line)
        for i, char in enumerate(text):
            left = x + i * width
            if char == "×":
                top, right = y + self.size * 0.5, left + width * 0.9
                yield rf"\path[draw={colour}] ({left:g},{y:g}) -- ({right:g},{top:g});"
                yield rf"\path[draw={colour}] ({left:g},{top:g}) -- ({right:g},{y:g});"
            elif char != " ":
                high = self.size * 0.8 * BARS.index(char) / 8
                yield rf"\path[fill={colour}] ({left:g},{y:g}) rectangle ++({width * 0.9:.4g},{high:.4g});"


def spaced(text: str) -> str:
    """Return a text for TeX; the no-break spaces, which hold parts of a label apart, are kept."""
    return "~".join(map(with_eastern, text.split("\xa0")))


def with_eastern(text: str) -> str:
    """Return a text for TeX, with its Chinese, Japanese and Korean parts in a font that has them."""
    parts = re.split(f"({EASTERN})", text)
    return "".join(rf"\gradtraceeastern{{{part}}}" if i % 2 else escaped(part) for i, part in enumerate(parts))


def style_of(text: str) -> list[str]:
    """Return the TikZ options of a style attribute such as "dashed" or "setlinewidth(2)"."""
    if text.startswith("setlinewidth("):
        return [f"line width={text[len('setlinewidth(') : -1]}bp"]
    known = next((style for style in ("dashed", "dotted") if text.startswith(style)), None)
    return [known] if known is not None else ["line width=2bp"] if text == "bold" else []


def path_of(what: str, one: dict[str, Any]) -> str:
    if what == "e":
        x, y, wide, high = one["rect"]
        return f"({x:g},{y:g}) ellipse [x radius={wide:g}bp, y radius={high:g}bp]"
    if what not in "pbl":
        return ""
    points = [f"({x:g},{y:g})" for x, y in one["points"]]
    if what != "b":
        return " -- ".join(points) + (" -- cycle" if what == "p" else "")
    curves = [f" .. controls {points[i]} and {points[i + 1]} .. {points[i + 2]}" for i in range(1, len(points) - 2, 3)]
    return points[0] + "".join(curves)
