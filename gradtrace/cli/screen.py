"""The width and colours of tables on stdout: the terminal's, or plain text of any width for a pipe."""

from __future__ import annotations

import sys

from gradtrace.cli import colour, output
from gradtrace.views.layout import LayoutOptions


def options(color: str | None, everything: bool = False) -> LayoutOptions:
    """Return the layout options that fit stdout."""
    width = colour.columns() if colour.is_terminal(sys.stdout) else None
    return LayoutOptions(width, colour.wanted(color, sys.stdout), not output.speaks_unicode(), everything)
