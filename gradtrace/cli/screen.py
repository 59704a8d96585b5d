"""Print results: as tables in the terminal's width and colours, as plain text of any width for a pipe, or as data."""

from __future__ import annotations

import sys

from gradtrace.annotations import Any, Callable
from gradtrace.cli import colour, output
from gradtrace.cli.options import Look
from gradtrace.views.layout import LayoutOptions


def options(look: Look) -> LayoutOptions:
    """Return the layout options that fit stdout."""
    width = colour.columns() if colour.is_terminal(sys.stdout) else None
    output.state.is_styled = colour.wanted(look.color, sys.stdout)
    return LayoutOptions(width, output.state.is_styled, not output.speaks_unicode(), look.all)


def show(look: Look, as_text: Callable[..., str], as_data: Callable[..., str], *found: Any) -> None:
    """Print what a command has found: by `as_text`, which gets layout options, or by `as_data`, which gets a format."""
    output.write(as_text(*found, options(look)) if look.format == "table" else as_data(*found, look.format))
