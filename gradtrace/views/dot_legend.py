"""The legend: a sample of each look (the style of a kind of node), in a strip below the picture of
at most a tenth of its area.
"""

from __future__ import annotations

from gradtrace.annotations import Sequence
from gradtrace.views.drawing import Size
from gradtrace.views.frame import readable
from gradtrace.views.labels import COLUMNS, Words, text_width
from gradtrace.views.style import SMALL_SIZE, Look, Theme

SHARE = 0.1  # of the picture's area
PADDING, HEIGHT = 14.0, 20.0  # points around a sample, and of a row
SEPARATOR = " · "  # between two remarks
SPARE = f'<TD COLSPAN="{COLUMNS}"></TD>'  # takes the width that a row does not need
ROUGH = 1.4  # how much larger than estimated a picture may be
LEAST = 3.0  # points: the smallest print, in a picture of an inch
SIGNS = {
    "note": "◹ ",
    "cds": "▶ ",
    "house": "▲ ",
    "invhouse": "▼ ",
    "tab": "▔ ",
    "box3d": "❐ ",
    "ellipse": "○ ",
}


def legend(
    looks: Sequence[Look], remarks: Sequence[str], scale: str, picture: Size, theme: Theme
) -> str:
    """Return the HTML-like label that explains the looks, followed by the facts that hold for most
    nodes.
    """
    size = float(SMALL_SIZE)
    words = [SIGNS.get(look.shape, "") + look.meaning for look in looks]
    least = max(LEAST, ROUGH * readable(picture))
    while (
        size - 0.5 > least
        and area([*words, *remarks], size) > SHARE * picture.width * picture.height
    ):
        size -= 0.5
    width = max(picture.width, 120.0)
    samples = [sample(look, word, size, theme) for look, word in zip(looks, words, strict=True)]
    lines = [
        "".join(samples[i] for i in row)
        for row in rows_of(words, size, width, PADDING * size / SMALL_SIZE)
    ]
    for row in rows_of(remarks, size, width, text_width(SEPARATOR, size)):
        said = Words(SEPARATOR.join(remarks[i] for i in row), size, theme.faint).markup
        lines.append(f'<TD ALIGN="LEFT">{said}</TD>')
    lines += [f"<TD>{scale}</TD>"] if scale else []
    tables = "".join(f'<TR><TD ALIGN="LEFT">{strip(line)}</TD></TR>' for line in lines)
    return f'<<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0">{tables}</TABLE>>'


def strip(cells: str) -> str:
    """Return a row as a table, so that each row has its own column widths."""
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="4" CELLPADDING="0"><TR>{cells}{SPARE}</TR></TABLE>'


def sample(look: Look, word: str, size: float, theme: Theme) -> str:
    """Return a cell in a look's colours and borders."""
    style = next((name for name in ("rounded", "dashed", "dotted") if name in look.style), "")
    border = max(1, round(look.width))
    attributes = f'BORDER="{border}" COLOR="{look.border}" BGCOLOR="{look.fill}"'
    if style:
        attributes += f' STYLE="{style.upper()}"'
    inner = Words(word, size, theme.ink).markup
    if look.peripheries > 1:
        inner = (
            f'<TABLE BORDER="1" COLOR="{look.border}" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1">'
            f"<TR><TD>{inner}</TD></TR></TABLE>"
        )
    return (
        f'<TD><TABLE {attributes} CELLBORDER="0" CELLSPACING="0" CELLPADDING="2">'
        f"<TR><TD>{inner}</TD></TR></TABLE></TD>"
    )


def rows_of(words: Sequence[str], size: float, width: float, padding: float) -> list[list[int]]:
    """Split the legend's samples or remarks into rows, none wider than the picture."""
    rows: list[list[int]] = []
    used = width
    for i, word in enumerate(words):
        needed = text_width(word, size) + padding
        if not rows or used + needed > width:
            rows.append([])
            used = 0.0
        rows[-1].append(i)
        used += needed
    return rows


def area(words: Sequence[str], size: float) -> float:
    """Return the approximate area of a legend, in square points."""
    share = size / SMALL_SIZE
    return sum(text_width(word, size) + PADDING * share for word in words) * HEIGHT * share
