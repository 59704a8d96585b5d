"""Decide whether output is coloured, and find the width of the terminal."""

from __future__ import annotations

import os
import sys

from gradtrace.annotations import Any

FALLBACK = 80  # columns, where the terminal does not say
CHOICES = ("auto", "always", "never")


def wanted(choice: str | None, stream: Any) -> bool:
    """Whether to colour output to `stream`: by --color, else NO_COLOR, else FORCE_COLOR, else if it is a terminal."""
    if choice in ("always", "never"):
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    force = os.environ.get("FORCE_COLOR")
    if force:
        return force not in ("0", "false")
    return is_terminal(stream) and os.environ.get("TERM") != "dumb"


def is_terminal(stream: Any) -> bool:
    """Whether `stream` (which may be None, or closed) is a terminal."""
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


def columns() -> int:
    """Return the width of the terminal like shutil.get_terminal_size, without importing the slow shutil."""
    try:
        asked = int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        asked = 0
    if asked > 0:
        return asked
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or FALLBACK  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):
        return FALLBACK
