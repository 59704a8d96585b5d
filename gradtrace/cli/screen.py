"""How wide and how colourful a table may be: the terminal that stdout is, or a pipe's plain text as wide as it gets."""

from __future__ import annotations

import sys

from gradtrace.cli import colour, output
from gradtrace.views.layout import LayoutOptions


def options(color: str | None, everything: bool = False) -> LayoutOptions:
    """What a table's layout needs to know of stdout."""
    width = colour.columns() if colour.is_terminal(sys.stdout) else None
    return LayoutOptions(width, colour.wanted(color, sys.stdout), not output.speaks_unicode(), everything)
