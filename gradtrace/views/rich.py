"""Terminal text as HTML for a notebook: the same lines, with their colours, in one `<pre>`."""

from __future__ import annotations

import re
from html import escape

from gradtrace.annotations import Any

# On white and on a dark page each has a contrast of 4.5:1 or nearly so; no colour is the page's own.
COLOURS = {"31": "#d13438", "32": "#1a8a3a", "33": "#a06a00", "34": "#3b78d8", "35": "#a050c0", "36": "#0f8390"}
WEIGHTS = {"1": "font-weight:bold", "2": "opacity:.75"}
CODE = re.compile("\x1b\\[([0-9;]*)m")
OTHER = re.compile("\x1b\\[[0-9;?]*[A-Za-z]")
FONT = "font-family:var(--jp-code-font-family,Menlo,Consolas,'DejaVu Sans Mono',monospace)"
FRAME = f"overflow-x:auto;white-space:pre;line-height:1.4;margin:0;background:none;{FONT}"


class Report:
    """Text shown with colours in a notebook and without at a prompt. `painted` contains the terminal's escape codes."""

    def __init__(self, painted: str) -> None:
        self.painted = painted

    def __str__(self) -> str:
        return OTHER.sub("", self.painted)

    def __repr__(self) -> str:
        return str(self).rstrip("\n")

    def _repr_html_(self) -> str:
        return html_of(self.painted)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "text/plain": repr(self)}


def html_of(painted: str) -> str:
    """Convert lines with terminal codes for colour and weight to one HTML element."""
    pieces: list[str] = []
    is_open = False
    at = 0
    for code in CODE.finditer(painted):
        pieces.append(plain(painted[at : code.start()]))
        at = code.end()
        if is_open:
            pieces.append("</span>")
        style = style_of(code[1].split(";"))
        is_open = bool(style)
        if style:
            pieces.append(f'<span style="{style}">')
    pieces.append(plain(painted[at:]))
    closing = "</span>" if is_open else ""
    return f'<pre class="gradtrace" style="{FRAME}">{"".join(pieces)}{closing}</pre>'


def plain(text: str) -> str:
    return escape(OTHER.sub("", text))


def style_of(codes: list[str]) -> str:
    colours = [f"color:{COLOURS[code]}" for code in codes if code in COLOURS]
    return ";".join(colours + [WEIGHTS[code] for code in codes if code in WEIGHTS])
